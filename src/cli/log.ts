import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { eachStored } from '../actors/rollout/stored-trajectories.ts'
import { frameFaults } from '../actors/runtime/key-frame.ts'
import { runFolder } from '../broker/connection.ts'
import { inLine, parseCommandLine, printJson, printLine, wholeNumber } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { type EventType, isEventType, type LoggedEvent } from '../events/catalogue.ts'
import { compactLog } from '../events/compact.ts'
import { type LogReader, openLogReader, type ReadOptions } from '../events/log-reader.ts'
import { offlineLog } from '../events/offline-log.ts'
import { verifyLog } from '../events/verify.ts'
import type { Command } from './command.ts'
import { eventLine, toPlain } from './plain-event.ts'

const OPTIONS = {
  json: { type: 'boolean', default: false },
  jsonl: { type: 'boolean', default: false },
  follow: { type: 'boolean', short: 'f', default: false },
  lines: { type: 'string', short: 'n', default: '20' },
  from: { type: 'string' },
  until: { type: 'string' },
  type: { type: 'string', multiple: true },
  out: { type: 'string', short: 'o' },
} as const

type Values = ReturnType<typeof parse>['values']

const FOLLOW_MS = 200

export const command: Command = {
  summary: 'the events of a run: tail, show, export, verify, compact, fetch',
  help: `
rl log RUN tail [-n N] [-f] [--type TYPE...] [--json]     the last events; -f waits for more
rl log RUN show POSITION|ID|KEY [--json]                  one event whole, e.g. show PolicyUpdated/3
rl log RUN export --jsonl [-o FILE] [--from N] [--until N] [--type TYPE...]
rl log RUN verify [--json]                                checks hash chain, columns, indexes, segments, blobs and key frames;
                                                          names the first bad position
rl log RUN compact [--json]                               moves events before the open iteration into compressed segments
rl log RUN fetch [--json]                                 brings tokens that lie in the run's store to this disk
rl log RUN dead [-n N] [--json]                           messages that no worker could process

Columns (fields whose names end with I32, F32, U8) are printed as arrays of numbers.
`,
  async run(argv) {
    const { values, positionals } = parse(argv)
    const [run, action = 'tail', what] = positionals
    if (run === undefined) throw usage('expected a run')
    if (action === 'compact') return compact(run, values)
    const log = openLogReader(runFolder(run).log)
    try {
      switch (action) {
        case 'tail':
          return await tail(log, values)
        case 'show':
          return show(log, what, values)
        case 'export':
          return await exportLog(log, values)
        case 'verify':
          return verify(log, values)
        case 'fetch':
          return await fetchStored(log, values)
        case 'dead':
          return dead(log, values)
        default:
          throw usage(`there is no 'rl log ${action}'`)
      }
    } finally {
      log.close()
    }
  },
}

function parse(argv: readonly string[]) {
  return parseCommandLine({ options: OPTIONS, allowPositionals: true }, argv)
}

function usage(message: string): RlError {
  return new RlError(message, { code: 'cli.usage', hint: 'rl log --help' })
}

function typesOf({ type }: Values): readonly EventType[] | undefined {
  return type?.map((name) => {
    if (!isEventType(name)) throw usage(`there is no event type '${name}'; docs/events.md lists them`)
    return name
  })
}

function print(event: LoggedEvent, { json }: Values): void {
  if (json) printJson(toPlain(event))
  else printLine(eventLine(event))
}

async function tail(log: LogReader, values: Values): Promise<number> {
  const types = typesOf(values)
  const lines = wholeNumber('--lines', values.lines)
  let last = log.head().position
  for (const event of lastEvents(log, types, last, lines)) print(event, values)
  while (values.follow) {
    await new Promise((resolve) => setTimeout(resolve, FOLLOW_MS))
    const { position } = log.head()
    for (const event of log.events({ from: last + 1, until: position, types })) print(event, values)
    last = position
  }
  return 0
}

/** Looks backwards in growing stretches, so the end of a long log is found without reading all of it. */
function lastEvents(
  log: LogReader,
  types: readonly EventType[] | undefined,
  last: number,
  lines: number,
): LoggedEvent[] {
  if (lines === 0) return []
  for (let stretch = lines; ; stretch *= 8) {
    const found = [...log.events({ from: Math.max(1, last - stretch + 1), until: last, types })]
    if (found.length >= lines || stretch >= last) return found.slice(-lines)
  }
}

function show(log: LogReader, what: string | undefined, { json }: Values): number {
  if (what === undefined) throw usage('expected a position, an id or a natural key')
  const row = /^\d+$/.test(what) ? Number(what) : (log.positionOf('id', what) ?? log.positionOf('key', what))
  const [event] = row === null ? [] : [...log.events({ from: row, until: row })]
  if (!event)
    throw new RlError(`run '${log.run}' has no event '${what}'`, {
      code: 'log.no-event',
      hint: 'rl log RUN tail lists the newest',
    })
  if (json) printJson(toPlain(event))
  else printLine(JSON.stringify(toPlain(event), null, 2))
  return 0
}

async function exportLog(log: LogReader, values: Values): Promise<number> {
  if (!values.jsonl) throw usage('the one format is --jsonl')
  const range: ReadOptions = {
    from: values.from === undefined ? 1 : wholeNumber('--from', values.from, 1),
    until: values.until === undefined ? undefined : wholeNumber('--until', values.until, 1),
    types: typesOf(values),
  }
  const lines = function* () {
    for (const event of log.events(range)) yield `${JSON.stringify(toPlain(event))}\n`
  }
  if (values.out !== undefined) await pipeline(lines, createWriteStream(values.out))
  else for (const line of lines()) if (!process.stdout.write(line)) await once(process.stdout, 'drain')
  return 0
}

/** Brings the columns of trajectories that lie in a store to the blobs of the run. Errors: those of the store. */
async function fetchStored(log: LogReader, { json }: Values): Promise<number> {
  const wanted = new Map(
    [...log.events({ types: ['TrajectoryCompleted'] })]
      .flatMap(({ data }) => data.storedSegments ?? [])
      .filter(({ sha256 }) => !log.blobs.has(sha256))
      .map((stored) => [stored.sha256, stored]),
  )
  let bytes = 0
  await eachStored(offlineLog(log), [...wanted.values()], async (_, content) => {
    log.blobs.put(content)
    bytes += content.byteLength
  })
  if (json) printJson({ rollouts: wanted.size, bytes })
  else printLine(`fetched=${wanted.size} bytes=${bytes}`)
  return 0
}

function verify(log: LogReader, { json }: Values): number {
  const result = verifyLog(log, { files: true })
  const frames = frameFaults(dirname(log.path), log.hashAt)
  if (json) printJson({ run: log.run, ...result, frames })
  else if (result.ok) printLine(`${log.run}: ${result.events} events verified, chain ends in ${result.hash}`)
  else if (result.position === null) printLine(`${log.run}: ${result.reason}`)
  else
    printLine(
      `${log.run}: position ${result.position} is bad: ${result.reason} (${result.events} events before it are good)`,
    )
  if (!json)
    for (const fault of frames) printLine(`${log.run}: key frame ${fault}; it is not used and may be removed`)
  return result.ok && frames.length === 0 ? 0 : 1
}

function compact(run: string, { json }: Values): number {
  const draws = process.stderr.isTTY === true && !json
  const result = compactLog(runFolder(run).log, (step) => {
    if (draws && step.kind === 'moved') process.stderr.write(`\r${step.last} of ${step.until} events`)
    if (draws && step.kind === 'shrinking') process.stderr.write('\r\x1b[2K')
  })
  const { moved, archived, logBytes, segmentBytes, shrunk } = result
  if (json) printJson({ run, ...result })
  else
    process.stdout.write(
      `${run}: ${moved} events moved, ${archived} in segments of ${megabytes(segmentBytes)}; the log had ${megabytes(logBytes.before)}, ${
        shrunk
          ? `now ${megabytes(logBytes.after)}`
          : 'and its head fills the room again; compact once more when it has ended to make the file smaller'
      }\n`,
    )
  return 0
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`
}

function dead(log: LogReader, { lines, json }: Values): number {
  const { total, newest } = log.deadLetters(wholeNumber('--lines', lines))
  if (json) {
    printJson({
      total,
      newest: newest.map(({ body, ...letter }) => ({ ...letter, base64: body.toString('base64') })),
    })
    return 0
  }
  printLine(`${total} messages could not be taken`)
  for (const { time, subject, code, reason, bytes } of newest)
    printLine(`${new Date(time).toISOString()} ${inLine(subject)} ${code} (${bytes} B): ${inLine(reason)}`)
  return 0
}
