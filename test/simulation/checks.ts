/** What holds of the log of every run, whatever happened to it. */

import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { digestOf } from '../../src/events/digest.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { verifyLog } from '../../src/events/verify.ts'

/** `digest` is null where it is not the same in every world. */
export type Expected = { readonly digest: string | null }

export type Checked = { readonly found: readonly string[]; readonly digest: string; readonly events: number }

/** `told`: id of each event and the position that its sender was told. */
export function violationsOf(
  path: string,
  expected: Expected | null,
  told: ReadonlyMap<string, number>,
): Checked {
  const log = openLogReader(path)
  try {
    const found: string[] = []
    const events = [...log.events()]
    for (const [index, { position }] of events.entries())
      if (position !== index + 1) found.push(`position ${position} stands where ${index + 1} should`)
    const verified = verifyLog(log)
    if (!verified.ok) found.push('the chain of hashes is broken')
    for (const [id, position] of told)
      if (log.positionOf('id', id) !== position)
        found.push(`an event was told to be at ${position} and is at ${log.positionOf('id', id)}`)
    const ends = new Set<string>()
    const asked: string[] = []
    const deciders = new Map<string, string>()
    for (const event of events) {
      const { type, data, actor } = event
      if (type === 'TrajectoryCompleted' || type === 'RolloutFailed') {
        if (ends.has(data.rollout)) found.push(`rollout ${data.rollout} ended twice`)
        ends.add(data.rollout)
      }
      if (CAUSED.has(type) && (event.cause === null || log.positionOf('id', event.cause) === null))
        found.push(`${type} at ${event.position} does not say what led to it`)
      if (type === 'RolloutRequested') asked.push(data.rollout)
      if (type === 'ActorStarted' && data.decider) deciders.set(data.role, data.worker)
      if (DECISIONS.has(type) && deciders.get(actor.split('/')[0]) !== actor)
        found.push(`${type} at ${event.position} was decided by ${actor}, which had lost its role`)
    }
    for (const rollout of asked) if (!ends.has(rollout)) found.push(`rollout ${rollout} was lost`)
    found.push(...agesOf(events))
    const digest = digestOf(events)
    if (expected?.digest && digest !== expected.digest)
      found.push(`the digest is ${digest}, undisturbed ${expected.digest}`)
    return { found, digest, events: events.length }
  } finally {
    log.close()
  }
}

/** Rollouts that were asked of a policy further behind than the run allows. */
function agesOf(events: readonly LoggedEvent[]): string[] {
  let most = 0
  const found: string[] = []
  for (const { type, data } of events) {
    if (type === 'RunStarted') most = Number((data.config.run as { maxStaleness?: number }).maxStaleness ?? 0)
    if (type !== 'RolloutRequested' || data.purpose === 'evaluation') continue
    const age = data.iteration - 1 - data.policyVersion
    if (age > most) found.push(`rollout ${data.rollout} is ${age} versions behind`)
  }
  return found
}

/** Types that only deciders make. */
const DECISIONS: ReadonlySet<string> = new Set([
  'IterationStarted',
  'IterationPlanned',
  'IterationCompleted',
  'RolloutRequested',
  'RunCompleted',
])

/** Types that something in the log leads to. */
const CAUSED: ReadonlySet<string> = new Set([
  'RolloutRequested',
  'TrajectoryCompleted',
  'RolloutFailed',
  'StepScored',
  'TrajectoryJudged',
  'TaskProposed',
  'PolicyUpdated',
  'RewardModelUpdated',
])
