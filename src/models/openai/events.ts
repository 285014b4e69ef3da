/** Server-sent events as the HTML standard reads them (9.2.6), at any cut of the stream. */
import { BadAnswer } from './faults.ts'

export type ServerEvent = {
  /** `message` if the stream names no type. */
  readonly type: string
  /** Values of the event's `data` fields, one a line. */
  readonly lines: readonly string[]
}

export type EventReader = {
  /** Returns the events that these bytes complete. Throws BadAnswer if they are not UTF-8. */
  readonly push: (bytes: Uint8Array) => ServerEvent[]
  /** Returns the stream's last event if its empty line is missing. */
  readonly end: () => ServerEvent[]
  /** Returns whether a line of an event stream was read: a field, or a comment that keeps the stream alive. */
  readonly begun: () => boolean
}

const FIELD = /^(?:data|event|id|retry)?:|^(?:data|event|id|retry)$/

export function eventReader(): EventReader {
  // The decoder drops one byte order mark at the beginning.
  const decoder = new TextDecoder('utf-8', { fatal: true })
  /** Parts of the line that is not complete yet. */
  let rest: string[] = []
  let afterReturn = false
  let begun = false
  let type = ''
  let lines: string[] = []

  function decode(bytes?: Uint8Array): string {
    try {
      return bytes ? decoder.decode(bytes, { stream: true }) : decoder.decode()
    } catch {
      throw new BadAnswer('bad-answer', 'the stream is not UTF-8')
    }
  }

  function take(line: string): ServerEvent[] {
    if (line === '') return dispatch()
    begun ||= FIELD.test(line)
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1)
    if (field === 'data') lines.push(value)
    else if (field === 'event') type = value
    return []
  }

  function dispatch(): ServerEvent[] {
    const event = { type: type || 'message', lines }
    type = ''
    lines = []
    return event.lines.length > 0 ? [event] : []
  }

  return {
    begun: () => begun,
    push(bytes) {
      let text = decode(bytes)
      // The previous part may have ended between CR and LF.
      if (afterReturn && text !== '') {
        if (text.startsWith('\n')) text = text.slice(1)
        afterReturn = false
      }
      afterReturn ||= text.endsWith('\r')
      const [first = '', ...others] = text.split(/\r\n|\r|\n/)
      rest.push(first)
      if (others.length === 0) return []
      const whole = [rest.join(''), ...others]
      rest = [whole.pop() ?? '']
      return whole.flatMap(take)
    },
    end() {
      const last = rest.join('') + decode()
      rest = []
      return [...(last === '' ? [] : take(last)), ...dispatch()]
    },
  }
}
