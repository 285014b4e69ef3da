/** Compares two runs: their first difference, and their figures over the tasks that both played. */
import { loggedConfig } from '../config.ts'
import { CATALOGUE, keyOf, type LoggedEvent } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { type Estimate, meanT, pairedDifference } from '../learning/interval.ts'
import { differenceOf } from './facts.ts'

type Divergence = {
  readonly key: string
  /** Positions. Null if a run does not have the event. */
  readonly a: number | null
  readonly b: number | null
  readonly what: string
}

type PairedFigure = {
  /** `evaluation in-domain 5`, `train 3`: purpose, split of an evaluation, iteration. */
  readonly group: string
  readonly metric: 'success' | 'steps'
  /**
   * The unit of n is a task (slot) that both runs played with the same task. Each value is the mean over its
   * rollouts.
   */
  readonly a: Estimate
  readonly b: Estimate
  /** b - a, paired by task and seed. */
  readonly difference: Estimate
}

/** A task that both runs played: how often each solved it, over the same rollouts. */
type PairedTask = {
  readonly group: string
  readonly slot: string
  readonly rollouts: number
  readonly a: number
  readonly b: number
}

export type RunDiff = {
  /** Positions 1 to this are the same events. It is 0 if the runs share none. */
  readonly shared: number
  readonly config: readonly { readonly key: string; readonly a: unknown; readonly b: unknown }[]
  readonly divergence: Divergence | null
  readonly figures: readonly PairedFigure[]
  readonly tasks: readonly PairedTask[]
  /**
   * By group: rollouts that ended in both runs with the same task and seed, but have no outcome in at least
   * one.
   */
  readonly unpaired: readonly { readonly group: string; readonly rollouts: number }[]
}

export function diffRuns(a: LogReader, b: LogReader): RunDiff {
  const shared = sharedPositions(a, b)
  return {
    shared,
    config: configDifferences(a, b),
    divergence: firstDivergence(a, b, shared),
    ...pairedFigures(a, b, shared),
  }
}

/** Returns the number of positions that both runs inherit from the same log. */
function sharedPositions(a: LogReader, b: LogReader): number {
  const ofA = stretches(a)
  return Math.max(
    0,
    ...stretches(b).flatMap(({ path, until }) =>
      ofA.filter((own) => own.path === path).map((own) => Math.min(own.until, until)),
    ),
  )
}

function stretches(log: LogReader): { readonly path: string; readonly until: number }[] {
  let { position: until } = log.head()
  const found = [{ path: log.path, until }]
  for (let reader: LogReader | null = log; reader?.parent && reader.parentLog; reader = reader.parentLog) {
    until = Math.min(reader.parent.position, until)
    found.push({ path: reader.parentLog.path, until })
  }
  return found
}

/**
 * Returns the first fact that the other run does not have, or has in another form. It goes through a's log,
 * then b's.
 */
function firstDivergence(a: LogReader, b: LogReader, shared: number): Divergence | null {
  for (const event of facts(a, shared)) {
    const key = keyOf(event)
    if (key === null) continue
    const other = b.byKey(key)
    const what = other ? differenceOf(event, other) : 'only the first run has it'
    if (what !== null) return { key, a: event.position, b: other?.position ?? null, what }
  }
  for (const event of facts(b, shared)) {
    const key = keyOf(event)
    if (key !== null && a.positionOf('key', key) === null)
      return { key, a: null, b: event.position, what: 'only the second run has it' }
  }
  return null
}

function* facts(log: LogReader, after: number): Generator<LoggedEvent> {
  for (const event of log.events({ from: after + 1 }))
    if (CATALOGUE[event.type].reproducible && event.type !== 'RunStarted') yield event
}

function configDifferences(a: LogReader, b: LogReader): RunDiff['config'] {
  const leavesOf = (log: LogReader) => new Map(leaves(loggedConfig(startsOf(log).last.data.config), ''))
  const [ofA, ofB] = [leavesOf(a), leavesOf(b)]
  return [...new Set([...ofA.keys(), ...ofB.keys()])]
    .map((key) => ({ key, a: ofA.get(key), b: ofB.get(key) }))
    .filter((entry) => JSON.stringify(entry.a) !== JSON.stringify(entry.b))
}

function leaves(value: unknown, path: string): [string, unknown][] {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return [[path, value]]
  return Object.entries(value).flatMap(([name, inner]) =>
    leaves(inner, path === '' ? name : `${path}.${name}`),
  )
}

type Played = { readonly success: number; readonly steps: number }

type End = {
  readonly task: string
  readonly seed: string
  /** Null if it has no outcome. */
  readonly played: Played | null
}

function pairedFigures(
  a: LogReader,
  b: LogReader,
  shared: number,
): Pick<RunDiff, 'figures' | 'tasks' | 'unpaired'> {
  const ofB = new Map<string, End>()
  for (const [, rollout, end] of endsOf(b, shared)) ofB.set(rollout, end)
  const groups = new Map<string, Map<string, { a: Played[]; b: Played[] }>>()
  const unpaired = new Map<string, number>()
  for (const [group, rollout, { task, seed, played }] of endsOf(a, shared)) {
    const other = ofB.get(rollout)
    if (!other || other.task !== task || other.seed !== seed) continue
    if (!played || !other.played) {
      unpaired.set(group, (unpaired.get(group) ?? 0) + 1)
      continue
    }
    const slots = groups.get(group) ?? new Map<string, { a: Played[]; b: Played[] }>()
    const slot = rollout.slice(0, rollout.lastIndexOf('/'))
    const pair = slots.get(slot) ?? { a: [], b: [] }
    pair.a.push(played)
    pair.b.push(other.played)
    groups.set(group, slots.set(slot, pair))
  }
  const figures = [...groups].flatMap(([group, slots]) =>
    (['success', 'steps'] as const).map((metric) => {
      const pairs = [...slots.values()].map((pair): [number, number] => [
        mean(pair.a, metric),
        mean(pair.b, metric),
      ])
      return {
        group,
        metric,
        a: meanT(pairs.map(([first]) => first)),
        b: meanT(pairs.map(([, second]) => second)),
        difference: pairedDifference(pairs),
      }
    }),
  )
  return {
    figures,
    tasks: tasksOf(groups),
    unpaired: [...unpaired].map(([group, rollouts]) => ({ group, rollouts })),
  }
}

function tasksOf(
  groups: ReadonlyMap<
    string,
    ReadonlyMap<string, { readonly a: readonly Played[]; readonly b: readonly Played[] }>
  >,
): PairedTask[] {
  const solved = (played: readonly Played[]) => played.filter(({ success }) => success === 1).length
  return [...groups].flatMap(([group, slots]) =>
    [...slots].map(([name, { a, b }]) => ({
      group,
      slot: name.slice(name.indexOf('/') + 1),
      rollouts: a.length,
      a: solved(a),
      b: solved(b),
    })),
  )
}

/** Yields ends of rollouts. For a failed rollout its request tells split and seed. */
function* endsOf(log: LogReader, after: number): Generator<[group: string, rollout: string, End]> {
  for (const event of log.events({ from: after + 1, types: ['TrajectoryCompleted', 'RolloutFailed'] })) {
    const { rollout } = event.data
    const asked = event.type === 'RolloutFailed' ? log.byKey(`RolloutRequested/${rollout}`) : event
    if (asked?.type !== 'TrajectoryCompleted' && asked?.type !== 'RolloutRequested') continue
    const { purpose, split, iteration, task, seed } = asked.data
    const group = purpose === 'evaluation' ? `evaluation ${split} ${iteration}` : `${purpose} ${iteration}`
    yield [group, rollout, { task, seed: seed.join('/'), played: playedIn(event) }]
  }
}

function playedIn({
  type,
  data,
}: LoggedEvent<'TrajectoryCompleted'> | LoggedEvent<'RolloutFailed'>): Played | null {
  if (type === 'RolloutFailed' || data.outcome.kind !== 'scored') return null
  return { success: data.outcome.success ? 1 : 0, steps: data.steps }
}

function mean(played: readonly Played[], metric: 'success' | 'steps'): number {
  return played.reduce((sum, one) => sum + one[metric], 0) / played.length
}
