/**
 * Training by somebody else: the policy's worker makes the batch and tells it, then waits until the log holds the new version.
 * Where nobody answers in time the run goes on with the version that it has.
 */

import type { Config } from '../../config.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { providerOf } from '../../models/registry.ts'
import type { Train } from '../decider/jobs.ts'
import { updatedEvents } from '../learner/checkpoints.ts'
import { withReference } from '../learner/kl-reference.ts'
import { readEvents, readIteration } from '../rollout/log-queries.ts'
import type { JobContext, OpenedWorker } from '../runtime/worker.ts'
import { policyBatch } from './batch.ts'
import { BATCH_FORMAT, encodeBatch } from './batch-file.ts'

type Parent = EventData<'BatchReady'>['parent']

/** The worker as it is, but for its updates. */
export function externallyTrained(
  { worker, note }: OpenedWorker,
  config: Config,
  log: LogClient,
): OpenedWorker {
  return {
    note: `${note}, trained outside`,
    worker: {
      ...worker,
      perform: (job, context) =>
        job.kind === 'train'
          ? trainOutside(job.input as Train, context, config, log)
          : worker.perform(job, context),
    },
  }
}

async function trainOutside(
  job: Train,
  { signal, beginWait, event }: JobContext,
  config: Config,
  log: LogClient,
): Promise<NewEvent[]> {
  const startedMs = performance.now()
  const { iteration, version, parentVersion, groups, seed } = job
  const played = await readIteration(log, iteration, ['TrajectoryCompleted', 'StepScored'])
  const { TrajectoryCompleted: trajectories, StepScored: scored } = played
  const batch = policyBatch(groups, trajectories, scored, config)
  const unchanged = (stopped: string): NewEvent[] =>
    updatedEvents('policy', {
      iteration,
      version,
      parentVersion,
      checkpoint: null,
      trainedOn: [],
      samples: 0,
      metrics: { ...batch.health },
      stopped,
      timing: { durationMs: Math.round(performance.now() - startedMs) },
    })
  if (batch.samples.length === 0) return unchanged('no step has an advantage')

  const { policy, run } = config
  const local = providerOf(policy, config).trains
  const samples = local
    ? await withReference(batch.samples, policy.training.klReference, {
        log,
        role: 'policy',
        backend: config.backend,
      })
    : batch.samples
  const versions = new Map(trajectories.map(({ rollout, policyVersion }) => [rollout, policyVersion]))
  const versionOf = (id: string) => versions.get(id.slice(0, id.lastIndexOf('#'))) ?? parentVersion
  const file = await log.putBlob(
    encodeBatch({
      run: log.run,
      version,
      parentVersion,
      samples: samples.map((sample) => ({ ...sample, policyVersion: versionOf(sample.id) })),
    }),
  )
  const deadlineSeconds = run.deadlines.trainingSeconds
  const ready: EventData<'BatchReady'> = {
    iteration,
    version,
    parentVersion,
    parent: await parentOf(log, parentVersion),
    format: BATCH_FORMAT,
    file,
    samples: samples.length,
    tokens: sum(samples.map(({ tokens }) => tokens.length)),
    trainedTokens: sum(samples.map(({ mask }) => sum(mask))),
    trainedOn: [...batch.rollouts],
    metrics: { ...batch.health },
    options: { ...policy.training },
    seed: [...seed],
    deadlineSeconds,
  }
  await log.append([{ type: 'BatchReady', data: ready }], { cause: event?.id ?? null })
  const endWait = beginWait(`PolicyUpdated/${version}`, 'a trainer outside', deadlineSeconds * 1000)
  try {
    await abortedOr(signal, deadlineSeconds * 1000)
  } finally {
    endWait()
  }
  // The signal fires when the log holds the version, or when this process is to end.
  return signal.aborted ? [] : unchanged(`no trainer answered within ${deadlineSeconds} s`)
}

/** Null where the weights never lay in a run's folder. */
async function parentOf(log: LogClient, version: number): Promise<Parent> {
  const { events } = await readEvents(log, 1, ['PolicyUpdated'])
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
  for (let i = 0; i < values.length; i++) total += values[i]
  return total
}
