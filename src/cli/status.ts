import { alarmsIn } from '../actors/head/alarms.ts'
import type { HostRow } from '../actors/head/hosts.ts'
import { judgeTrustOf, trustLine } from '../actors/head/judge-trust.ts'
import { limitLine } from '../actors/head/limits.ts'
import { askHead, type LiveRun } from '../actors/head/liveness.ts'
import { type Code, codeText, isOtherCode } from '../actors/head/other-code.ts'
import { headLivesAfter, type RunState, runStateOf } from '../actors/head/run-state.ts'
import type { Wait } from '../actors/runtime/waits.ts'
import { runFolder } from '../broker/connection.ts'
import { isoTime } from '../clock.ts'
import { inLine, parseCommandLine, printJson, printLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { openLogReader } from '../events/log-reader.ts'
import type { HostFigures } from '../projections/host-rows.ts'
import type { Command } from './command.ts'
import { hostCells as figureCells, HOST_COLUMNS, keptHostFigures } from './host-figures.ts'
import { table } from './table.ts'

export const command: Command = {
  summary: 'what every actor of a run does, and what is awaited from whom until when',
  help: `
rl status RUN [--json]

Asks the head over NATS if it runs, and always reads the log. An actor that no longer answers is shown as silent.
Of a run on several machines it shows each host: roles, slots, rate, weights, round trip, clock, code, last error. Those with trouble
come first. A limit that holds the run back has a line of its own. Ages and importance weights of rollouts by host follow.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      { options: { json: { type: 'boolean', default: false } }, allowPositionals: true },
      argv,
    )
    const [run] = positionals
    if (run === undefined)
      throw new RlError('expected a run', { code: 'cli.usage', hint: 'rl runs lists them' })
    const folder = runFolder(run)
    const log = openLogReader(folder.log)
    try {
      const live = await askHead(folder)
      const state = runStateOf(log, run, headLivesAfter(folder, live))
      const alarms = alarmsIn(log)
      const figures = keptHostFigures(folder.projections)
      const judgeTrust = judgeTrustOf(log)
      const told = { ...(judgeTrust ? { judgeTrust } : {}), ...(alarms.length > 0 ? { alarms } : {}) }
      if (values.json) printJson({ ...state, ...told, live, hostFigures: figures })
      else {
        const trust = judgeTrust ? [trustLine(judgeTrust)] : []
        const shown = [
          ...lines(state, live),
          ...figureLines(figures),
          ...trust,
          ...alarms.slice(-ALARMS_SHOWN),
        ]
        // A text of a host or of the log makes no line of its own.
        for (const text of shown) printLine(inLine(text))
      }
    } finally {
      log.close()
    }
    return 0
  },
}

/** Lines of a terminal are few. */
const HOSTS_SHOWN = 20
const ACTORS_SHOWN = 40
const ALARMS_SHOWN = 5

function lines(state: RunState, live: LiveRun | { unreachable: string }): string[] {
  const since = state.since === null ? '' : ` since ${isoTime(state.since).slice(0, 19)}Z`
  const reason = state.reason ? ` (${state.reason})` : ''
  const last = state.lastEventAt === null ? '' : `, the last ${ago(state.lastEventAt)} ago`
  const head = [
    `run ${state.run}: ${state.state}${reason}${since}, ${state.completedIterations} iterations done, ${state.events} events${last}`,
  ]
  if (state.logOf !== state.run)
    head.push(`it is the log of run '${state.logOf}': rename the folder back to go on with it`)
  if (state.deadLetters > 0)
    head.push(`${state.deadLetters} messages could not be taken: rl log ${state.run} dead`)
  if (state.stalls > 0)
    head.push(`${state.stalls} stalls so far: rl log ${state.run} tail --type StallDetected`)
  if (state.notServed > 0)
    head.push(
      `${state.notServed} versions were taken by no server: rl log ${state.run} tail --type PolicyPublished`,
    )
  if ('unreachable' in live) {
    const goOn =
      state.state === 'completed' ? [] : [`go on with: npm start -- --role head --run ${state.run}`]
    return [...head, `not live: ${live.unreachable}`, ...goOn]
  }
  if (live.pausedSince !== null)
    head.push(`paused for ${ago(live.pausedSince)}: the disk of the log takes nothing`)
  if (live.queueFailures > 0)
    head.push(`${live.queueFailures} times a queue did not take work; each was tried again`)
  if (live.openWork > 0) head.push(`${live.openWork} rollouts are asked for and not over`)
  if (live.loopDelay) {
    const { p99Ms, maxMs } = live.loopDelay
    head.push(`the head's loop is late by ${p99Ms} ms (p99), ${maxMs} ms at most`)
  }
  head.push(...(live.limits ?? []).map(limitLine))
  const headCode = codeOfHead(state, live)
  return [
    ...head,
    ...hostLines(live),
    ...live.actors.slice(0, ACTORS_SHOWN).flatMap((actor) => {
      const kind = actor.decider ? '' : ' (worker)'
      const silence = actor.stalled ? `SILENT for ${seconds(actor.silentMs)}` : actor.state
      const at = actor.position === null ? '' : `, at position ${actor.position}`
      return [
        `${actor.worker.padEnd(22)} ${silence}${kind}${at}  process ${actor.pid} on ${actor.host}, ${actor.rssMb} MB`,
        ...noteLine(state.notes[actor.worker]),
        ...codeLine(state.codes[actor.worker], headCode),
        ...counterLine(actor.counters),
        ...actor.waits.map(waitLine),
        ...(actor.waitsInAll > actor.waits.length
          ? [`    and ${actor.waitsInAll - actor.waits.length} more`]
          : []),
      ]
    }),
    ...moreLine((live.actorsInAll ?? live.actors.length) - ACTORS_SHOWN, 'processes; --json has 200'),
  ]
}

/** Lines of a run on more than one machine: the hosts with trouble first. */
function hostLines({ hosts }: LiveRun): string[] {
  if (hosts === undefined || hosts.total.hosts < 2) return []
  const { total, rows } = hosts
  const shown = rows.slice(0, HOSTS_SHOWN)
  const rate = total.perMinute === null ? '' : `, ${total.perMinute.toFixed(1)} pieces of work a minute`
  const trouble = [
    ...(total.silent > 0 ? [`${total.silent} processes silent`] : []),
    ...(total.otherCode > 0 ? [`${total.otherCode} hosts with other code`] : []),
  ]
  return [
    [`${total.hosts} hosts, ${total.processes} processes, ${total.slots} slots${rate}`, ...trouble].join(
      ', ',
    ),
    ...table(
      ['host', 'roles', 'slots', 'a minute', 'weights', 'round trip', 'clock', 'code', 'last error'],
      shown.map(hostCells),
    ).text.split('\n'),
    ...moreLine(total.hosts - shown.length, 'hosts; --json has 200'),
  ]
}

/** Nothing of a run on one machine whose rollouts are all of the newest policy. */
function figureLines(figures: readonly HostFigures[]): string[] {
  if (figures.length < 2 && !figures.some(({ mostAge, weights }) => mostAge || weights)) return []
  const shown = figures.slice(0, HOSTS_SHOWN)
  return [
    'rollouts for training by host, up to the last iteration:',
    ...table(HOST_COLUMNS, shown.map(figureCells)).text.split('\n'),
    ...moreLine(figures.length - shown.length, 'hosts; --json has 200'),
  ]
}

function hostCells({
  host,
  roles,
  silent,
  slots,
  perMinute,
  weights,
  roundTripMs,
  clockAheadMs,
  codes,
  isOther,
  lastError,
  aside,
}: HostRow) {
  const counts = Object.entries(roles).map(([role, count]) => (count === 1 ? role : `${role} ${count}`))
  return [
    host,
    `${counts.join(', ')}${silent > 0 ? ` (${silent} SILENT)` : ''}${aside ? ` (ASIDE until iteration ${aside.until} is over: ${aside.failed} of ${aside.tries} tries failed)` : ''}`,
    slots,
    perMinute === null ? '-' : perMinute.toFixed(1),
    weightsText(weights),
    roundTripMs === null ? '-' : `${roundTripMs} ms`,
    clockText(clockAheadMs),
    `${codes.map(codeText).join(', ')}${isOther ? ' OTHER' : ''}`,
    lastError === null ? '-' : `${ago(lastError.time)} ago: ${lastError.error.slice(0, 60)}`,
  ]
}

/** Older heads tell no weights. */
function weightsText(weights: HostRow['weights'] | undefined): string {
  if (!weights) return '-'
  const { version, behind, forMs } = weights
  return `${version}${behind === 0 ? '' : ` (${behind} behind)`} for ${seconds(forMs)}`
}

/** Older heads tell no clocks. */
function clockText(aheadMs: number | null | undefined): string {
  if (aheadMs === null || aheadMs === undefined) return '-'
  return Math.abs(aheadMs) < 1_000
    ? 'in time'
    : `${seconds(Math.abs(aheadMs))} ${aheadMs > 0 ? 'ahead' : 'behind'}`
}

const moreLine = (count: number, what: string) => (count > 0 ? [`and ${count} more ${what}`] : [])

function codeOfHead({ codes }: RunState, { actors }: LiveRun): Code {
  const head = actors.find(({ role }) => role === 'head')
  return head ? (codes[head.worker] ?? null) : null
}

/** The head's code stands beside the head. Others show theirs if it is another. */
function codeLine(code: Code | undefined, headCode: Code): string[] {
  if (code === undefined || !isOtherCode(code, headCode)) return []
  return [`    OTHER CODE: ${codeText(code)}; the head has ${codeText(headCode)}`]
}

const noteLine = (note: string | undefined) => (note ? [`    ${note}`] : [])

function counterLine(counters: Readonly<Record<string, number>> | undefined): string[] {
  const counted = Object.entries(counters ?? {}).filter(([, count]) => count > 0)
  return counted.length === 0 ? [] : [`    ${counted.map(([name, count]) => `${name} ${count}`).join(', ')}`]
}

function waitLine({ waitingFor, from, owner, since, deadline }: Wait): string {
  const until = isoTime(deadline).slice(-13, -5)
  const whom = from === owner ? '' : ` from ${from}`
  const overdue = deadline < Date.now() ? ' OVERDUE' : ''
  return `    ${waitingFor}${whom}, since ${ago(since)}, until ${until}${overdue}`
}

function ago(time: number): string {
  return seconds(Date.now() - time)
}

function seconds(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 120_000) return `${Math.round(ms / 1000)} s`
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`
}
