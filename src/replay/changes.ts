/** What changed in a run between two iterations, in order of the log: what a fall of a figure can be put down to. */
import { type Config, loggedConfig, parseConfig } from '../config.ts'
import type { EventData } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'

type Leaf = { readonly path: readonly string[]; readonly value: unknown }

export type Change = { readonly position: number; readonly what: string } & (
  | { readonly kind: 'task-swap'; readonly swap: EventData<'TaskAccepted'> }
  | { readonly kind: 'reward-model-update'; readonly update: EventData<'RewardModelUpdated'> }
  /** A key of the config that a fork set; `filter` where it decides which groups are learned from. */
  | { readonly kind: 'config' | 'filter'; readonly leaf: Leaf }
)

const FILTERS = new Set([
  'learning.policyAccuracyRange',
  'learning.mixedOutcomes',
  'rewardModel.accuracyRange',
  'environment.minGroupSize',
  'environment.quarantineAfter',
])

/** Positions after `from` up to `until`. */
export function changesBetween(log: LogReader, from: number, until: number): Change[] {
  const changes: Change[] = []
  let config: Config | null = null
  for (const event of log.events({ until, types: ['RunStarted', 'TaskAccepted', 'RewardModelUpdated'] })) {
    const { position } = event
    const late = position > from
    if (event.type === 'RunStarted') {
      const next = loggedConfig(event.data.config)
      if (late && config) changes.push(...configChanges(config, next, position))
      config = next
    } else if (event.type === 'TaskAccepted' && late) {
      const { slot, parent, task, direction } = event.data
      changes.push({
        kind: 'task-swap',
        position,
        what: `${slot}: ${task} in place of ${parent}, ${direction}`,
        swap: event.data,
      })
    } else if (event.type === 'RewardModelUpdated' && late && event.data.samples > 0)
      changes.push({
        kind: 'reward-model-update',
        position,
        what: `reward model version ${event.data.version}`,
        update: event.data,
      })
  }
  return changes
}

function configChanges(before: Config, after: Config, position: number): Change[] {
  const known = new Map(leavesOf(before).map(({ path, value }) => [path.join('.'), JSON.stringify(value)]))
  return leavesOf(after)
    .filter(({ path, value }) => known.get(path.join('.')) !== JSON.stringify(value))
    .map((leaf) => {
      const key = leaf.path.join('.')
      const kind = FILTERS.has(key) ? 'filter' : 'config'
      return { kind, position, what: `${key}: ${known.get(key)} -> ${JSON.stringify(leaf.value)}`, leaf }
    })
}

function leavesOf(value: object, path: readonly string[] = []): Leaf[] {
  return Object.entries(value).flatMap(([name, inner]) =>
    inner !== null && typeof inner === 'object' && !Array.isArray(inner)
      ? leavesOf(inner, [...path, name])
      : [{ path: [...path, name], value: inner }],
  )
}

/** The config with one of its keys set. */
export function withLeaf(config: Config, { path, value }: Leaf): Config {
  const values: Record<string, unknown> = structuredClone(config)
  let section = values
  for (const name of path.slice(0, -1)) section = section[name] as Record<string, unknown>
  section[path[path.length - 1]] = value
  return parseConfig(values)
}
