/** The policy as a local model: makes its first version, answers which action to take, and trains it. */
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { type OpenSetting, partOf } from '../../environments/setting.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { isPreset } from '../../models/local/presets.ts'
import { CACHE } from '../../package.ts'
import type { ColdStart, Train } from '../decider/jobs.ts'
import {
  adoptFolder,
  type Checkpoint,
  saveCheckpoint,
  updatedEvents,
  updateFigures,
  weightsFolder,
} from '../learner/checkpoints.ts'
import { fittingSamples } from '../learner/fitting-samples.ts'
import { withReference } from '../learner/kl-reference.ts'
import { residentModel } from '../learner/resident-model.ts'
import { updateOptions } from '../learner/update-options.ts'
import type { ActReply, ActRequest } from '../rollout/act.ts'
import { ACT_SERVICE, serveAct } from '../rollout/act-service.ts'
import { readIteration } from '../rollout/log-queries.ts'
import type { OpenedWorker } from '../runtime/worker.ts'
import { coldStartTexts, lessonsOf } from '../writing/cold-start.ts'
import { policyBatch } from './batch.ts'
import { coldStartAdapter, coldStartPolicy } from './cold-start.ts'
import { demonstrationTasks } from './demonstration-tasks.ts'
import { actWith, openLocalActor, releasedCodec } from './local-acting.ts'
import { samplingOf } from './sampling.ts'

export function openLocalPolicy(config: Config, opened: OpenSetting, log: LogClient): OpenedWorker {
  const { policy } = config
  const acting = partOf(opened.setting, 'acting', 'a local policy')
  const resident = residentModel({
    folderOf: (version) => weightsFolder(log, 'policy', version),
    open: (folder) => openLocalActor(folder, config, opened),
  })

  async function act(requests: readonly ActRequest[], signal: AbortSignal): Promise<ActReply[]> {
    const replies = new Map<ActRequest, ActReply>()
    for (const [version, own] of byVersion(requests))
      await resident.use(version, async (actor) => {
        const answers = await actWith(actor, own, ({ evaluation }) => samplingOf(config, evaluation), signal)
        for (const [i, reply] of answers.entries()) replies.set(own[i], reply)
      })
    return requests.map((request) => replies.get(request)!)
  }

  async function coldStart({ seed }: ColdStart): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const { demonstrations, expertNoise, updates, batch, learningRate } = policy.coldStart
    const preset = policy.model
    const { rank, alpha, targets } = policy.lora
    if (!isPreset(preset) && rank === null)
      return firstVersion(await adoptFolder(preset, log.run, 'policy', 0), { startedMs })
    const demonstrated = await demonstrationTasks(config, opened, demonstrations)
    const { contextTokens, training } = policy
    const { tokenBudget } = training
    const settings = { updates, batch, learningRate, contextTokens, tokenBudget, seed }
    const resources = {
      cache: join(CACHE, 'cold-start'),
      backend: config.backend,
      report: (message: string) => void process.stdout.write(`${message}\n`),
    }
    if (!isPreset(preset)) {
      const { folder, loss, expertSuccess, cached } = await coldStartAdapter(
        {
          ...settings,
          ...{ expertNoise, maxSteps: config.environment.maxSteps, base: preset },
          lora: { rank: rank!, alpha: alpha ?? 2 * rank!, targets },
          cacheBytes: policy.cacheMegabytes * 1e6,
        },
        { opened: demonstrated, tasks: demonstrated.tasks, ...resources },
        releasedCodec,
      )
      const taught = {
        ...(loss === null ? {} : { loss }),
        ...(expertSuccess === null ? {} : { expertSuccess }),
      }
      const timing = { fromCache: cached ? 1 : 0, ...taught }
      return firstVersion(await adoptFolder(folder, log.run, 'policy', 0), { startedMs, timing })
    }
    if (acting.kind === 'texts') {
      const { tasks } = demonstrated
      const { folder, loss, cached } = await coldStartTexts(
        preset,
        { ...settings, noise: expertNoise },
        { ...resources, opened, lessons: lessonsOf(opened.setting, acting), tasks },
      )
      const timing = { fromCache: cached ? 1 : 0, loss }
      return firstVersion(await adoptFolder(folder, log.run, 'policy', 0), { startedMs, timing })
    }
    const { maxSteps } = config.environment
    const start = await coldStartPolicy(
      // Written out: the order of the keys is a part of the digest under which models are kept.
      {
        preset,
        contextTokens,
        expertNoise,
        maxSteps,
        updates: settings.updates,
        batch: settings.batch,
        learningRate: settings.learningRate,
        tokenBudget: settings.tokenBudget,
        seed,
      },
      { opened: demonstrated, tasks: demonstrated.tasks, ...resources },
    )
    const checkpoint = await adoptFolder(start.folder, log.run, 'policy', 0)
    const { loss, expertSuccess, cached } = start
    return firstVersion(checkpoint, {
      startedMs,
      timing: {
        fromCache: cached ? 1 : 0,
        ...(loss === null ? {} : { loss }),
        ...(expertSuccess === null ? {} : { expertSuccess }),
      },
    })
  }

  /** What depends on whether the model was in the cache goes into `timing`: equal runs have equal events. */
  async function firstVersion(
    checkpoint: Checkpoint,
    { startedMs, timing = {} }: { startedMs: number; timing?: Record<string, number> },
  ): Promise<NewEvent[]> {
    const { parameters, backend } = await resident.use(0, async ({ model }) => model.describe())
    return updatedEvents('policy', {
      iteration: 0,
      version: 0,
      parentVersion: null,
      checkpoint,
      trainedOn: [],
      samples: 0,
      metrics: { parameters: parameters ?? 0 },
      stopped: null,
      timing: { ...timing, durationMs: Math.round(performance.now() - startedMs), backend: backend ?? '' },
    })
  }

  async function train(job: Train): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const events = await readIteration(log, job.iteration, ['TrajectoryCompleted', 'StepScored'])
    const trajectories = events.flatMap((event) => (event.type === 'TrajectoryCompleted' ? [event.data] : []))
    const scored = events.flatMap((event) => (event.type === 'StepScored' ? [event.data] : []))
    const batch = policyBatch(job.groups, trajectories, scored, config)
    const data: EventData<'PolicyUpdated'> = {
      iteration: job.iteration,
      version: job.version,
      parentVersion: job.parentVersion,
      checkpoint: null,
      trainedOn: [...batch.rollouts],
      samples: batch.samples.length,
      metrics: { ...batch.health },
      stopped: 'no step has an advantage',
    }
    if (batch.samples.length === 0) return updatedEvents('policy', data)
    const { klReference } = policy.training
    const samples = await withReference(batch.samples, klReference, {
      log,
      role: 'policy',
      backend: config.backend,
    })
    const preparedMs = performance.now()
    const { figures, checkpoint, updatedMs } = await resident.change(
      job.parentVersion,
      job.version,
      async ({ model }) => {
        const most = Math.min(policy.training.tokenBudget, model.describe().contextTokens)
        const fitting = fittingSamples(samples, most)
        const told = await model.update(fitting.samples, updateOptions(policy.training, job.seed))
        const updatedMs = performance.now()
        const { metrics, stopped } = updateFigures(told)
        const figures = { metrics: { ...metrics, ...fitting.counted }, stopped }
        return { figures, updatedMs, checkpoint: await saveCheckpoint(model, log.run, 'policy', job.version) }
      },
    )
    return updatedEvents('policy', {
      ...data,
      checkpoint,
      metrics: { ...data.metrics, ...figures.metrics },
      stopped: figures.stopped,
      timing: {
        prepareMs: Math.round(preparedMs - startedMs),
        updateMs: Math.round(updatedMs - preparedMs),
        saveMs: Math.round(performance.now() - updatedMs),
        durationMs: Math.round(performance.now() - startedMs),
      },
    })
  }

  return {
    note: `${policy.provider} ${policy.model}`,
    worker: {
      services: { [ACT_SERVICE]: serveAct(act) },
      async perform({ kind, input }) {
        return kind === 'cold-start' ? coldStart(input as ColdStart) : train(input as Train)
      },
      async close() {
        await resident.close()
      },
    },
  }
}

/** With `maxStaleness` a tick may hold episodes of two versions. */
function byVersion(requests: readonly ActRequest[]): Map<number, ActRequest[]> {
  const groups = new Map<number, ActRequest[]>()
  for (const request of requests)
    groups.set(request.policyVersion, [...(groups.get(request.policyVersion) ?? []), request])
  return groups
}
