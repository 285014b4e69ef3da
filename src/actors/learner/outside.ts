/**
 * Training by somebody else: the worker tells the batch of an update, then waits until the log holds the new version. Where nobody
 * answers in time the run goes on with the version that it has.
 */

import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { itemAt } from '../../item-at.ts'
import type { TrainingSample } from '../../models/port.ts'
import type { Train } from '../decider/jobs.ts'
import { readEvents } from '../rollout/log-queries.ts'
import type { JobContext } from '../runtime/worker.ts'
import { BATCH_FORMAT, encodeBatch } from './batch-file.ts'
import { type ModelRole, updatedEvents } from './checkpoints.ts'
import { withReference } from './kl-reference.ts'
import type { Batch } from './update.ts'
import { logprobTemperature, type TrainingConfig, trainingAt } from './update-options.ts'
import { VERSION_EVENTS } from './version-events.ts'

/**
 * A batch whose samples name the versions that sampled them. A version is older than the parent if rollouts may be
 * stale.
 */
export type OutsideBatch = Omit<Batch, 'samples'> & {
  readonly samples: readonly (TrainingSample & { readonly policyVersion: number })[]
}

/** Like `TrainingConfig`, but `compute` is null if the weights are not here. The trainer outside has them then. */
export type OutsideConfig = Omit<TrainingConfig, 'compute'> & {
  readonly compute: TrainingConfig['compute'] | null
}

/** Resolves to nothing if the log holds the version, else to the version that has no weights of its own. */
export async function trainOutside(
  role: ModelRole,
  { iteration, version, parentVersion, seed }: Train,
  { samples: own, trainedOn, health, none }: OutsideBatch,
  { section, run, compute }: OutsideConfig,
  { log, signal, beginWait, event }: JobContext,
): Promise<NewEvent[]> {
  const startedMs = performance.now()
  const unchanged = (stopped: string): NewEvent[] =>
    updatedEvents(role, {
      iteration,
      version,
      parentVersion,
      checkpoint: null,
      trainedOn: [],
      samples: 0,
      metrics: { ...health },
      stopped,
      timing: { durationMs: Math.round(performance.now() - startedMs) },
    })
  if (own.length === 0) return unchanged(none)

  const { iterations } = run
  const training = trainingAt(section.training, { iteration, iterations, samples: own.length })
  const temperature = logprobTemperature(section)
  const samples = compute
    ? await withReference(own, training.klReference, { log, role, compute, temperature })
    : own
  const file = await log.putBlob(
    encodeBatch({
      run: log.run,
      version,
      parentVersion,
      samples: samples.map((sample, i) => ({ ...sample, policyVersion: itemAt(own, i).policyVersion })),
    }),
  )
  const deadlineSeconds = run.deadlines.trainingSeconds
  const ready: EventData<'BatchReady'> = {
    ...(role === 'policy' ? {} : { role }),
    iteration,
    version,
    parentVersion,
    parent: await parentOf(log, role, parentVersion),
    format: BATCH_FORMAT,
    file,
    samples: samples.length,
    tokens: sum(samples.map(({ tokens }) => tokens.length)),
    trainedTokens: sum(samples.map(({ mask }) => sum(mask))),
    trainedOn: [...trainedOn],
    metrics: { ...health },
    options: { ...training, ...(temperature === 1 ? {} : { temperature }) },
    seed: [...seed],
    deadlineSeconds,
  }
  await log.append([{ type: 'BatchReady', data: ready }], { cause: event?.id ?? null })
  const key = `${VERSION_EVENTS[role].updated}/${version}`
  const endWait = beginWait(key, 'a trainer outside', deadlineSeconds * 1000)
  try {
    await abortedOr(signal, deadlineSeconds * 1000)
  } finally {
    endWait()
  }
  // The signal fires when the log holds the version, or when this process is to end.
  return signal.aborted ? [] : unchanged(`no trainer answered within ${deadlineSeconds} s`)
}

/** Returns null if the weights never lay in a run's folder. */
async function parentOf(
  log: LogClient,
  role: ModelRole,
  version: number,
): Promise<EventData<'BatchReady'>['parent']> {
  const { events } = await readEvents(log, 1, [VERSION_EVENTS[role].updated])
  const found = events.filter(({ data }) => data.version <= version && data.checkpoint !== null).at(-1)
  return found?.data.checkpoint ? { run: found.run, ...found.data.checkpoint } : null
}

function abortedOr(signal: AbortSignal, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end, { once: true })
    if (signal.aborted) end()
  })
}

function sum(values: ArrayLike<number>): number {
  let total = 0
  for (const value of Array.from(values)) total += value
  return total
}
