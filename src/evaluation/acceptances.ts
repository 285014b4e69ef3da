/**
 * Tells whether a run's acceptances were more than luck. Parent and candidate are played again, many times
 * each, by the policy version that measured them in the run. Then the published rule is applied again.
 */
import { dirname, join } from 'node:path'
import type { RolloutSettings } from '../actors/environment/evaluation.ts'
import { openLocalActor } from '../actors/policy/local-acting.ts'
import { samplingOf } from '../actors/policy/sampling.ts'
import { type Config, loggedConfig } from '../config.ts'
import type { AdaptationConfig } from '../config-schema/sections.ts'
import { openSetting, orClose } from '../environments/open.ts'
import type { Task } from '../environments/port.ts'
import { RlError } from '../errors.ts'
import type { EventData } from '../events/catalogue.ts'
import type { LogReader } from '../events/log-reader.ts'
import { startsOf } from '../events/starts.ts'
import { decideAcceptance } from '../learning/acceptance.ts'
import type { AcceptanceOptions, Tally } from '../learning/terms.ts'
import { seedOf } from '../random.ts'
import { playAlone, type Wanted } from './play.ts'

export type Remeasured = {
  readonly iteration: number
  readonly slot: string
  readonly task: string
  readonly parent: string
  readonly direction: 'harder' | 'easier'
  /** In the run, and now. */
  readonly accuracy: readonly [then: Tally, now: Tally]
  readonly parentAccuracy: readonly [then: Tally, now: Tally]
  /** The run's rule accepts again. */
  readonly confirmed: boolean
  /** Evidence-based acceptance would have accepted at the time. */
  readonly evident: boolean
}

export type RemeasureOptions = {
  /** Number of rollouts of each task. */
  readonly rollouts: number
  readonly signal: AbortSignal
  readonly onEnd?: (ended: number, of: number) => void
}

/** Counts the acceptances that hold: of all, and of those that had evidence. */
export function sumsOf(measured: readonly Remeasured[], rollouts: number) {
  const evident = measured.filter((one) => one.evident)
  return {
    rollouts,
    accepted: measured.length,
    confirmed: measured.filter(({ confirmed }) => confirmed).length,
    evident: evident.length,
    evidentConfirmed: evident.filter(({ confirmed }) => confirmed).length,
  }
}

type Accepted = EventData<'TaskAccepted'> & {
  /** Versions that measured the candidate and, earlier, its parent. */
  readonly version: number
  readonly parentVersion: number
}

/**
 * Measures every acceptance of a run again. Its policy must be a local model.
 * @throws RlError `eval.no-checkpoint`
 */
export async function remeasure(log: LogReader, options: RemeasureOptions): Promise<Remeasured[]> {
  const config = loggedConfig(startsOf(log).last.data.config)
  const { accepted, tasks } = readAcceptances(log)
  const wanted = accepted.flatMap(({ task, parent, version, parentVersion }) => [
    { task, version },
    { task: parent, version: parentVersion },
  ])
  const tallies = await playVersions(log, config, wanted, tasks, options)
  return accepted.map((one, index) => {
    const [now, parentNow] = [tallies[2 * index]!, tallies[2 * index + 1]!]
    const asked = { direction: one.direction, equalsParent: one.task === one.parent }
    const rule = ruleOf(config.adaptation)
    return {
      iteration: one.iteration,
      slot: one.slot,
      task: one.task,
      parent: one.parent,
      direction: one.direction,
      accuracy: [one.accuracy, now],
      parentAccuracy: [one.parentAccuracy, parentNow],
      confirmed: decideAcceptance(
        { ...asked, accuracy: now, parentAccuracy: parentNow },
        { ...rule, evidence: 'point' },
      ).accepted,
      evident: decideAcceptance(
        { ...asked, accuracy: one.accuracy, parentAccuracy: one.parentAccuracy },
        { ...rule, evidence: 'bayes' },
      ).accepted,
    }
  })
}

function ruleOf({ low, high, rule, evidence, expert }: AdaptationConfig): AcceptanceOptions {
  const { confidence, prior } = expert
  return { low, high, strict: rule === 'strict', evidence, confidence, prior }
}

function readAcceptances(log: LogReader): {
  readonly accepted: readonly Accepted[]
  readonly tasks: ReadonlyMap<string, Task>
} {
  const tasks = new Map<string, Task>()
  const versions = new Map<number, number>()
  const proposedIn = new Map<string, number>()
  const accepted: Accepted[] = []
  for (const { type, data } of log.events({
    types: ['TaskAdded', 'TaskProposed', 'IterationStarted', 'TaskAccepted'],
  })) {
    if (type === 'TaskAdded') tasks.set(data.task.id, data.task)
    if (type === 'IterationStarted') versions.set(data.iteration, data.policyVersion)
    if (type === 'TaskProposed') {
      tasks.set(data.task.id, data.task)
      proposedIn.set(data.task.id, data.iteration)
    }
    if (type === 'TaskAccepted')
      accepted.push({
        ...data,
        version: versions.get(data.iteration) ?? 0,
        parentVersion: versions.get(proposedIn.get(data.task) ?? data.iteration) ?? 0,
      })
  }
  return { accepted, tasks }
}

/** Resolves to one tally for each, in order. Every version is loaded once. */
async function playVersions(
  log: LogReader,
  config: Config,
  wanted: readonly { readonly task: string; readonly version: number }[],
  tasks: ReadonlyMap<string, Task>,
  { rollouts, signal, onEnd }: RemeasureOptions,
): Promise<Tally[]> {
  const tallies: Tally[] = wanted.map(() => ({ successes: 0, n: 0 }))
  const versions = [...new Set(wanted.map(({ version }) => version))].sort((a, b) => a - b)
  const [lowest] = versions
  if (lowest === undefined) return tallies
  const first = policyFolder(log, lowest)
  const opened = await openSetting(config)
  const { environment } = opened
  const actor = await orClose(opened, openLocalActor(first, config, opened))
  const settings = { seed: config.run.seed, maxSteps: config.environment.maxSteps }
  let before = 0
  try {
    for (const version of versions) {
      await actor.model.load(policyFolder(log, version))
      const own = wanted.flatMap((one, index) => (one.version === version ? [{ ...one, index }] : []))
      const requests = own.flatMap(({ task, index }) =>
        Array.from({ length: rollouts }, (_, rollout) =>
          requestFor(tasks.get(task)!, { index, rollout, version }, settings),
        ),
      )
      const trajectories = await playAlone(requests, {
        sampling: samplingOf(config.policy, config.evaluation),
        stepMs: config.run.deadlines.stepSeconds * 1000,
        environment,
        actor,
        signal,
        onEnd: onEnd && ((ended) => onEnd(before + ended, wanted.length * rollouts)),
      })
      before += requests.length
      for (const [i, { index }] of own.entries()) {
        const outcomes = trajectories
          .slice(i * rollouts, (i + 1) * rollouts)
          .flatMap((trajectory) =>
            trajectory?.outcome.kind === 'scored' ? [trajectory.outcome.success] : [],
          )
        tallies[index] = { successes: outcomes.filter(Boolean).length, n: outcomes.length }
      }
    }
  } finally {
    await actor.model.close()
    await environment.close?.()
  }
  return tallies
}

/** Returns the request of a training rollout, with a seed that the run has not used. */
function requestFor(
  task: Task,
  { index, rollout, version }: { readonly index: number; readonly rollout: number; readonly version: number },
  { seed, maxSteps }: RolloutSettings,
): Wanted {
  return {
    task,
    request: {
      rollout: `${version}/again-${index}/${rollout}`,
      iteration: version,
      purpose: 'train',
      split: 'train',
      slot: `again-${index}`,
      task: task.id,
      index: rollout,
      policyVersion: version,
      seed: [...seedOf(seed, 'measured again', index, rollout)],
      maxSteps,
    },
  }
}

/**
 * Returns the folder with the weights of a policy version. If its weights did not change, it is that of an
 * earlier version.
 */
export function policyFolder(log: LogReader, version: number | 'last'): string {
  let found: { readonly run: string; readonly path: string } | null = null
  for (const { run, data } of log.events({ types: ['PolicyUpdated'] }))
    if (data.checkpoint && (version === 'last' || data.version <= version))
      found = { run, path: data.checkpoint.path }
  if (found === null)
    throw new RlError(`run '${log.run}' has no checkpoint of policy version ${version}`, {
      code: 'eval.no-checkpoint',
      hint: 'only policies in this process (provider local) leave checkpoints',
    })
  return join(dirname(log.path), '..', found.run, found.path)
}
