/**
 * Tells pages what is new in a log. The log's last position is read ten times a second while a page listens, so it
 * works for a run that anybody writes, with a broker or without one.
 */
import type { ServerResponse } from 'node:http'
import type { OpenRun } from './open-runs.ts'

const LOOK_MS = 100
/** A comment keeps the connection open. */
const BEAT_MS = 15_000
/** A reader that lets more wait is cut off. It comes back and goes on from the position that it has. */
const MOST_WAITING = 1024 * 1024
/** Types of at most this many new events are named. */
const MOST_NAMED = 2_000

export type Listeners = {
  readonly add: (run: OpenRun, from: number, answer: ServerResponse) => void
  readonly close: () => void
}

export function openListeners(): Listeners {
  const open = new Set<() => void>()
  return {
    close() {
      for (const end of [...open]) end()
    },
    add({ log, uses, isThere }, from, answer) {
      let position = from
      answer.writeHead(200, {
        'content-type': 'text/event-stream; charset=utf-8',
        'cache-control': 'no-store',
        'x-accel-buffering': 'no',
      })
      const send = (text: string): void => {
        if (answer.writableLength > MOST_WAITING) end()
        else answer.write(text)
      }
      const look = (): void => {
        // The page comes back, and hears of the log that is there then.
        if (!isThere()) {
          end()
          return
        }
        try {
          const head = log.head().position
          if (head === position) return
          // Null stands for any type. A log that was rolled back is shorter, so its page begins anew.
          const isFew = head >= position && head - position <= MOST_NAMED
          const types = isFew ? log.typesBetween(position + 1, head) : null
          position = head
          send(`id: ${head}\ndata: ${JSON.stringify({ position: head, types })}\n\n`)
        } catch {
          // A log that is locked or taken away for a moment is looked at again.
        }
      }
      const timer = setInterval(look, LOOK_MS)
      const beat = setInterval(() => send(': \n\n'), BEAT_MS)
      const end = (): void => {
        clearInterval(timer)
        clearInterval(beat)
        open.delete(end)
        uses.delete(end)
        answer.destroy()
      }
      open.add(end)
      uses.add(end)
      answer.on('close', end)
      answer.on('error', end)
      send(
        `retry: 1000\nid: ${position}\ndata: ${JSON.stringify({ position: log.head().position, types: [] })}\n\n`,
      )
      position = Math.min(position, log.head().position)
    },
  }
}
