/**
 * The reference trainer: a process of its own that answers each BatchReady of a run with a new version of a
 * local model. A trainer in any language does the same. docs/external-trainers.md tells how.
 */
import { decodeBatch } from '../actors/learner/batch-file.ts'
import {
  checkedFolder,
  checkpointFolder,
  fetchMissing,
  type ModelRole,
  saveApart,
  sharedVersion,
} from '../actors/learner/checkpoints.ts'
import { fittingSamples } from '../actors/learner/fitting-samples.ts'
import { withReferenceOf } from '../actors/learner/kl-reference.ts'
import { updateFigures } from '../actors/learner/update-figures.ts'
import { logprobTemperature, trainingAt, updateOptions } from '../actors/learner/update-options.ts'
import { VERSION_EVENTS } from '../actors/learner/version-events.ts'
import type { Config } from '../config.ts'
import { RlError } from '../errors.ts'
import type { EventData, LoggedEvent } from '../events/catalogue.ts'
import type { LogClient } from '../events/log-client.ts'
import { subscribe } from '../events/subscription.ts'
import { computeOf, openLocalModel } from '../models/local/model.ts'
import type { TrainableModel, TrainingSample } from '../models/port.ts'

export type TrainerOptions = {
  readonly log: LogClient
  readonly config: Config
  /** Role whose batches are answered. */
  readonly role: ModelRole
  /** Folder of the first version's weights, if they are in no run's folder. */
  readonly baseFolder: string | null
  readonly report: (line: string) => void
}

export type Trainer = {
  /** Resolves if the run is over, or has failed and was not resumed. Rejects if an update failed. */
  readonly done: Promise<void>
  readonly stop: () => Promise<void>
}

/** Trains batches one after the other. A run makes no batch before the version of the previous one. */
export async function startTrainer({
  log,
  config,
  role,
  baseFolder,
  report,
}: TrainerOptions): Promise<Trainer> {
  let model: TrainableModel | null = null
  let turn: Promise<void> = Promise.resolve()
  let settle: { readonly resolve: () => void; readonly reject: (error: unknown) => void }
  const done = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject }
  })
  done.catch(() => {})
  /**
   * SHA-256 of the last checkpoint of this trainer. Its moments of Adam are in memory, so nothing has to be read
   * again.
   */
  let holds: string | null = null

  async function answer({ id, data }: LoggedEvent<'BatchReady'>): Promise<void> {
    const { version } = data
    if ((data.role ?? 'policy') !== role) return
    if (await isThere(version)) return
    const startedMs = performance.now()
    const { samples } = decodeBatch(await log.getBlob(data.file))
    const folder = await folderOf(data)
    // Opened as the run's own worker opens it: the cache bounds the context.
    const cacheBytes = config.policy.expert.cacheMegabytes * 1e6
    if (model === null)
      model = await openLocalModel({ folder, ...computeOf(config), cacheBytes, trains: true })
    else if (holds !== data.parent?.sha256) await model.load(folder)
    holds = null
    const section = role === 'policy' ? config.policy : config.rewardModel
    const { iterations } = config.run
    const training = trainingAt(section.training, { ...data, iterations })
    const { contextTokens, vocabulary } = model.describe()
    const fitting = fittingSamples(samples, Math.min(training.tokenBudget, contextTokens), vocabulary)
    const temperature = logprobTemperature(section)
    const referred = await referredTo(fitting.samples, training.klReference, temperature)
    const options = updateOptions(training, data.seed, temperature)
    const figures = updateFigures(await model.update(referred, options), data.trainedOn)
    const late = () => report(`version ${version} came too late: the run has gone on`)
    if (await isThere(version)) return late()
    const checkpoint = await saveApart(model, log.run, role, version)
    holds = checkpoint.sha256
    const updated = await sharedVersion(log, role, {
      iteration: data.iteration,
      version,
      parentVersion: data.parentVersion,
      checkpoint,
      trainedOn: [...data.trainedOn],
      samples: data.samples,
      ...figures,
      metrics: { ...data.metrics, ...figures.metrics, ...fitting.counted },
      timing: { durationMs: Math.round(performance.now() - startedMs) },
    })
    const appended = await log.append(updated, { cause: id })
    if (appended.at(-1)?.duplicate) {
      holds = null
      return late()
    }
    report(
      `version ${version} from ${samples.length} samples in ${Math.round(performance.now() - startedMs)} ms`,
    )
  }

  /**
   * Adds the KL reference's scores. A run whose model is behind an endpoint has no weights for them. This
   * trainer has.
   */
  async function referredTo(
    samples: readonly TrainingSample[],
    kind: 'iteration' | 'base',
    temperature: number,
  ): Promise<readonly TrainingSample[]> {
    if (kind === 'iteration' || samples.every(({ referenceLogprobs }) => referenceLogprobs)) return samples
    if (baseFolder === null)
      throw new RlError('klReference is base, and the batch brings no log-probs of the base model', {
        code: 'cli.usage',
        hint: 'name the folder of version 0: --model DIR',
      })
    return withReferenceOf(baseFolder, samples, { compute: computeOf(config), temperature })
  }

  async function isThere(version: number): Promise<boolean> {
    const [position] = await log.positionsOf([`${VERSION_EVENTS[role].updated}/${version}`])
    return position !== null
  }

  async function folderOf({ parent, parentVersion }: EventData<'BatchReady'>): Promise<string> {
    if (parent && parent.sha256 === holds) return checkpointFolder(parent.run, parent)
    if (parent)
      await fetchMissing(log, role, { run: parent.run, data: { version: parentVersion, checkpoint: parent } })
    if (parent) return checkedFolder(parent.run, parent, `${role} version ${parentVersion}`)
    if (baseFolder !== null) return baseFolder
    throw new RlError(`the weights of version ${parentVersion} are in no run's folder`, {
      code: 'cli.usage',
      hint: 'name the folder that the endpoint serves: --model DIR',
    })
  }

  let caughtUp = false
  let over = false
  const endWhereOver = () => {
    if (over && caughtUp) void turn.then(() => settle.resolve())
  }
  const view = await subscribe(
    {
      bus: log.bus,
      run: log.run,
      types: ['BatchReady', 'RunCompleted', 'RunFailed', 'RunResumed'],
      onCaughtUp() {
        caughtUp = true
        endWhereOver()
      },
    },
    (event) => {
      if (event.type === 'BatchReady')
        turn = turn.then(() => answer(event)).catch((error: unknown) => settle.reject(error))
      // The log of a run that failed and was resumed holds both.
      else over = event.type !== 'RunResumed'
      endWhereOver()
    },
  )
  view.done.catch((error: unknown) => settle.reject(error))
  return {
    done,
    async stop() {
      await view.stop()
      await turn
      await model?.close()
    },
  }
}
