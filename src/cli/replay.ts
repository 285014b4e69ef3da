import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { startBroker } from '../broker/broker.ts'
import { addressFromEnvironment, type RunFolder, runFolder } from '../broker/connection.ts'
import { parseCommandLine, printJson, printLine, wholeNumber } from '../command-line.ts'
import { loggedConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import type { LogReader } from '../events/log-reader.ts'
import { connectBus } from '../events/nats/connect.ts'
import { startsOf } from '../events/starts.ts'
import { removeAtEnd } from '../platform/processes.ts'
import { projectionsOf } from '../projections/registry.ts'
import { expectationOf, readExpectation, surprise, writeExpectation } from '../replay/expectation.ts'
import { type Digests, keptDigests, openRebuild } from '../replay/projections.ts'
import { publishAgain } from '../replay/publish.ts'
import { type Difference, type Replay, replay } from '../replay/replay.ts'
import { type Ruling, rulingAt } from '../replay/rule.ts'
import { type Reaction, walk } from '../replay/walk.ts'
import type { Command } from './command.ts'
import { openRun, TRUST, TRUST_HELP } from './open-run.ts'
import { eventLine, toPlain } from './plain-event.ts'

const OPTIONS = {
  from: { type: 'string' },
  until: { type: 'string' },
  batch: { type: 'string', default: '1000' },
  accept: { type: 'boolean', default: false },
  step: { type: 'boolean', default: false },
  publish: { type: 'boolean', default: false },
  speed: { type: 'string' },
  as: { type: 'string' },
  nats: { type: 'string' },
  json: { type: 'boolean', default: false },
  ...TRUST,
} as const

type Values = ReturnType<typeof parse>['values']

export const command: Command = {
  summary: 'feeds the log of a run to the deciders again and compares every decision',
  help: `
rl replay RUN [--from N] [--until N] [--batch N] [--json]   the first difference, with state and rule; exit status 1
rl replay RUN --accept                                      records the result of a whole replay in the run's replay.json
rl replay RUN --step [--from N] [--until N]                 shows the effect of each event; Enter goes on, q ends
rl replay RUN --publish [--speed N] [--as ID] [--nats URL]  sends the events again on NATS, as run ID (replay-RUN)

Decisions are compared with the events of the log. Rewards behind an update are computed again from the verdicts.
Projections are folded anew and compared with the kept ones. If the run has a replay.json, the replay must give the same
result, and a difference that was accepted there does not count.
--publish uses the server of --nats (credentials in $NATS_TOKEN, or $NATS_USER and $NATS_PASSWORD) or starts one. It
answers readers of the log until Ctrl-C.
${TRUST_HELP}.
`,
  async run(argv) {
    const { values, positionals } = parse(argv)
    const [run] = positionals
    if (run === undefined) throw usage('expected a run')
    const folder = runFolder(run)
    const log = await openRun(run, values)
    try {
      if (values.step) return await step(log, values)
      if (values.publish) return await publish(log, values)
      return compare(log, folder, values)
    } finally {
      log.close()
    }
  },
}

function parse(argv: readonly string[]) {
  return parseCommandLine({ options: OPTIONS, allowPositionals: true }, argv)
}

function usage(message: string): RlError {
  return new RlError(message, { code: 'cli.usage', hint: 'rl replay --help' })
}

function range({ from, until }: Values) {
  return {
    from: from === undefined ? 1 : wholeNumber('--from', from, 1),
    until: until === undefined ? undefined : wholeNumber('--until', until, 1),
  }
}

function compare(log: LogReader, folder: RunFolder, values: Values): number {
  if (values.accept && (values.from !== undefined || values.until !== undefined))
    throw usage('--accept records a replay of the whole run, without --from and --until')
  const started = performance.now()
  const users = projectionsOf(loggedConfig(startsOf(log).last.data.config))
  const rebuild = openRebuild(users)
  try {
    const batch = wholeNumber('--batch', values.batch, 1)
    const part = range(values)
    const result = replay(log, { ...part, batch, onBatch: rebuild.apply })
    const seconds = (performance.now() - started) / 1000
    const projections = rebuild.digests()
    const kept = values.until === undefined ? keptDigests(folder.projections, log, users) : null
    const given = expectationOf(result, projections)
    const file = join(folder.folder, 'replay.json')
    if (values.accept) writeExpectation(file, given)
    const expected = readExpectation(file)
    const unexpected = expected && surprise(expected, given, part.from === 1)
    const accepted = expected !== null && given.position <= expected.position && unexpected === null
    const stale = kept && Object.keys(kept).filter((name) => kept[name] !== projections[name])
    const ok = (result.difference === null || accepted) && unexpected === null && !stale?.length
    const ruling = result.difference && rulingOf(log, result.difference)
    if (values.json)
      printJson({
        ok,
        ...plainReplay(result),
        ruling: ruling && plainRuling(ruling),
        accepted,
        unexpected,
        projections,
        stale,
        seconds,
      })
    else {
      for (const line of lines(result, ruling, projections, stale)) printLine(line)
      if (unexpected !== null) printLine(`not as recorded in ${file}: ${unexpected}`)
      else if (accepted) printLine(`as recorded in ${file}`)
      printLine(`${ok ? 'same' : 'DIFFERENT'}, ${result.position} events in ${seconds.toFixed(2)} s`)
    }
    return ok ? 0 : 1
  } finally {
    rebuild.close()
  }
}

function rulingOf(log: LogReader, { role, cause, position }: Difference): Ruling {
  return rulingAt(log, role, cause?.position ?? position)
}

function plainReplay({ difference, ...rest }: Replay) {
  return {
    ...rest,
    difference: difference && { ...difference, found: difference.found && toPlain(difference.found) },
  }
}

function plainRuling({ context, ...rest }: Ruling) {
  return { ...rest, context: jsonOf(context) }
}

function lines(
  result: Replay,
  ruling: Ruling | null,
  projections: Digests,
  stale: string[] | null,
): string[] {
  const { run, position, completed, compared, open, decisions, digests, difference } = result
  const head = [
    `${run}: ${position} events, ${completed ? 'completed' : 'not completed'}; ${compared} decisions compared, ${open} not answered yet`,
    `decisions   ${decisions}`,
    `events      ${digests.replayed}${digests.replayed === digests.logged ? ', as logged' : `, logged ${digests.logged}`}`,
    ...Object.entries(projections).map(
      ([name, digest]) =>
        `projection  ${digest.slice(0, 16)} ${name}${stale === null ? '' : stale.includes(name) ? ': OTHER than kept' : ', as kept'}`,
    ),
  ]
  return difference && ruling ? [...head, ...differenceLines(difference, ruling)] : head
}

function differenceLines(difference: Difference, ruling: Ruling): string[] {
  const { position, kind, role, key, what, cause, decided, found } = difference
  return [
    `position ${position}: ${key} is ${KINDS[kind]}: ${what}`,
    ...(found ? [`  logged   ${eventLine(found)}`] : []),
    ...(decided ? [`  decided  ${JSON.stringify(decided, jsonValue).slice(0, 400)}`] : []),
    cause
      ? `  by       ${role}, after ${cause.type} at position ${cause.position}`
      : `  by       ${role} should have decided it`,
    `  state    ${ruling.before} -> ${ruling.after}`,
    ...ruling.rules.map((rule) => `  rule     ${rule}`),
    `  context  ${JSON.stringify(ruling.context, jsonValue).slice(0, 600)}`,
  ]
}

const KINDS = {
  other: 'otherwise decided now',
  'not-decided': 'not decided now',
  missing: 'decided now, and missing',
  contradiction: 'not what was asked for',
} as const

/** Maps and sets as JSON has them. */
function jsonValue(_: string, value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries(value)
  if (value instanceof Set) return [...value]
  return value
}

function jsonOf(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, jsonValue))
}

async function step(log: LogReader, values: Values): Promise<number> {
  const terminal = process.stdin.isTTY ? createInterface(process.stdin, process.stdout) : null
  try {
    for (const { event, reactions } of walk(log, range(values))) {
      printLine(eventLine(event))
      for (const reaction of reactions) for (const line of reactionLines(reaction)) printLine(line)
      if (terminal && (await terminal.question('')).trim() === 'q') break
    }
  } finally {
    terminal?.close()
  }
  return 0
}

function reactionLines({ role, before, after, outputs }: Reaction): string[] {
  const state = before === after ? after : `${before} -> ${after}`
  return [
    `          ${role.padEnd(12)} ${state}`,
    ...outputs.map((output) => {
      const [verb, what, data] =
        output.type === 'event'
          ? ['decides', output.event.type, output.event.data]
          : ['asks for', output.job.kind, output.job.input]
      return `                       ${verb} ${what} ${JSON.stringify(data, jsonValue).slice(0, 120)}`
    }),
  ]
}

async function publish(log: LogReader, values: Values): Promise<number> {
  const speed = values.speed === undefined ? Infinity : Number(values.speed)
  if (!(speed > 0)) throw usage(`--speed is '${values.speed}', expected a number above 0`)
  const run = values.as ?? `replay-${log.run}`.slice(0, 32)
  const stop = new AbortController()
  process.once('SIGINT', () => stop.abort())
  process.once('SIGTERM', () => stop.abort())
  process.once('SIGHUP', () => stop.abort())
  const folder = mkdtempSync(join(tmpdir(), 'rl-publish-'))
  removeAtEnd(folder)
  const broker = values.nats === undefined ? await startBroker({ folder, run }) : null
  try {
    const address = broker ? broker.addressOf('head') : addressFromEnvironment(values.nats ?? '')
    const bus = await connectBus({ ...address, name: `rl-${run}` })
    const reader = broker ? `, user tool, password ${broker.addressOf('tool').password}` : ''
    printLine(`run ${run} on ${bus.url}${reader}; Ctrl-C ends it`)
    const sent = await publishAgain(log, bus, {
      run,
      speed,
      until: range(values).until,
      stay: true,
      signal: stop.signal,
    })
    printLine(`${sent} events sent`)
    await bus.close()
  } finally {
    await broker?.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return 0
}
