/** Versions of a local model: the first, from a folder that a cold start made, and the next, by one update. */
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { TrainableModel, TrainingSample } from '../../models/port.ts'
import { unchangedVersion } from '../decider/fold.ts'
import type { Train } from '../decider/jobs.ts'
import { adoptFolder, type ModelRole, saveCheckpoint, sharedVersion, updatedEvents } from './checkpoints.ts'
import { fittingSamples } from './fitting-samples.ts'
import { withReference } from './kl-reference.ts'
import type { ResidentModel } from './resident-model.ts'
import { updateFigures } from './update-figures.ts'
import { logprobTemperature, type TrainingConfig, trainingAt, updateOptions } from './update-options.ts'

/**
 * Version 0, from a folder. What depends on whether the model was in the cache goes into `timing`: equal runs have equal events.
 * @param figures asked for when the folder is in its place
 */
export async function firstVersion(
  role: ModelRole,
  log: LogClient,
  folder: string,
  figures: () => Promise<Pick<EventData<'PolicyUpdated'>, 'metrics' | 'timing'>>,
): Promise<NewEvent[]> {
  const checkpoint = await adoptFolder(folder, log.run, role, 0)
  return sharedVersion(log, role, { ...unchangedVersion(0, null), checkpoint, ...(await figures()) })
}

export type Batch = {
  readonly samples: readonly TrainingSample[]
  /** Rollouts, or tests. */
  readonly trainedOn: readonly string[]
  /** Figures in the event's metrics beside those of the optimiser. */
  readonly health: Readonly<Record<string, number>>
  /** Reason why nothing is learned if there is no sample. */
  readonly none: string
}

type UpdateResources = {
  readonly role: ModelRole
  readonly log: LogClient
  readonly resident: ResidentModel<{ readonly model: TrainableModel }>
  readonly config: TrainingConfig
}

/** Learns from a batch and keeps the new version. `startedMs`: when the batch began to be made. */
export async function updateModel(
  { iteration, version, parentVersion, seed }: Train,
  { samples: own, trainedOn, health, none }: Batch,
  { role, log, resident, config }: UpdateResources,
  startedMs: number,
): Promise<NewEvent[]> {
  const data: EventData<'PolicyUpdated'> = {
    iteration,
    version,
    parentVersion,
    checkpoint: null,
    trainedOn: [...trainedOn],
    samples: own.length,
    metrics: { ...health },
    stopped: none,
  }
  if (own.length === 0) return updatedEvents(role, data)
  const { section, run, compute, supervised } = config
  const { iterations } = run
  const training = trainingAt(section.training, { iteration, iterations, samples: own.length })
  const temperature = logprobTemperature(section)
  const samples = await withReference(own, training.klReference, {
    log,
    role,
    compute,
    temperature,
  })
  const preparedMs = performance.now()
  const { told, counted, checkpoint, updatedMs } = await resident.change(
    parentVersion,
    version,
    async ({ model }) => {
      const { contextTokens, vocabulary } = model.describe()
      const fitting = fittingSamples(samples, Math.min(training.tokenBudget, contextTokens), vocabulary)
      const told = await model.update(fitting.samples, updateOptions(training, seed, temperature, supervised))
      const updatedMs = performance.now()
      const checkpoint = await saveCheckpoint(model, log.run, role, version)
      return { told, counted: fitting.counted, checkpoint, updatedMs }
    },
  )
  const { metrics, ...figures } = updateFigures(told, trainedOn)
  return sharedVersion(log, role, {
    ...data,
    checkpoint,
    metrics: { ...health, ...metrics, ...counted },
    ...figures,
    timing: {
      prepareMs: Math.round(preparedMs - startedMs),
      updateMs: Math.round(updatedMs - preparedMs),
      saveMs: Math.round(performance.now() - updatedMs),
      durationMs: Math.round(performance.now() - startedMs),
    },
  })
}
