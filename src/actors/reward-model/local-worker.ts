/** The reward model as a local model: makes its first version, judges trajectories, and trains on its own judgements. */
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { CACHE } from '../../broker/find.ts'
import type { Config } from '../../config.ts'
import type { Environment } from '../../environments/port.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import { float32Column, int32Column } from '../../events/columns.ts'
import type { LogClient } from '../../events/log-client.ts'
import { stableMean } from '../../learning/moments.ts'
import { type LocalModelFace, openLocalModel } from '../../models/local/model.ts'
import { adoptFolder, checkpointOf, saveCheckpoint, updatedEvents, updateFigures } from '../checkpoints.ts'
import type { ColdStart, Judge, Train } from '../jobs.ts'
import { withReference } from '../kl-reference.ts'
import { codecOf } from '../policy/packing.ts'
import { openTaskBook, readIteration, type TrajectoryBook, trajectoryBook } from '../recall.ts'
import type { OpenedWorker } from '../start-role.ts'
import { updateOptions } from '../update-options.ts'
import { judgeBatch } from './batch.ts'
import { critiqueText } from './causes.ts'
import { coldStartRewardModel } from './cold-start.ts'
import { type Judgements, judgeEpisodes } from './judge.ts'
import { goodProbability, type JudgeCodec, judgeCodecOf } from './judging.ts'
import { labelledRollouts } from './labelled-rollouts.ts'

type Resident = { readonly model: LocalModelFace; readonly judge: JudgeCodec; version: number }
type Trajectory = EventData<'TrajectoryCompleted'>

/** Trajectories that are judged at a time. */
const JOBS_AT_A_TIME = 256

export function openLocalJudge(config: Config, environment: Environment, log: LogClient): OpenedWorker {
  const { rewardModel } = config
  const tasks = openTaskBook(log)
  const trajectories: TrajectoryBook = trajectoryBook(log)
  let resident: Promise<Resident> | null = null

  /** The model with a version's weights; opened or loaded where it has others. */
  function withVersion(version: number): Promise<Resident> {
    const before = resident
    resident = (async () => {
      const held = await before?.catch(() => null)
      if (held?.version === version) return held
      const { folder } = await checkpointOf(log, 'reward-model', version)
      if (!held) return open(folder, version)
      await held.model.load(folder)
      held.version = version
      return held
    })()
    return resident
  }

  async function open(folder: string, version: number): Promise<Resident> {
    const model = await openLocalModel({ folder, backend: config.backend })
    return { model, judge: judgeCodecOf(codecOf(model.encode)), version }
  }

  async function coldStart({ seed }: ColdStart): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const policy = await checkpointOf(log, 'policy', 0)
    const settings = { ...rewardModel.coldStart, seed, maxSteps: config.environment.maxSteps }
    const cached = join(
      CACHE,
      'cold-start',
      `reward-model-${digestOf({ VERSION, policy: policy.sha256, settings })}`,
    )
    const held = await open(existsSync(cached) ? cached : policy.folder, 0)
    resident = Promise.resolve(held)
    const timing: Record<string, number> = { fromCache: existsSync(cached) ? 1 : 0 }
    if (!existsSync(cached)) {
      const episodes = await labelledRollouts(config, environment, log, seed)
      const start = await coldStartRewardModel(held.model, held.judge, episodes, {
        ...settings,
        tokenBudget: rewardModel.training.tokenBudget,
        contextTokens: held.model.describe().contextTokens,
      })
      if (start.warning) process.stdout.write(`${start.warning}\n`)
      Object.assign(timing, {
        loss: start.loss,
        processAccuracy: start.quality.single.accuracy,
        processBalanced: start.quality.single.balanced,
        meanVerdict: start.quality.meanVerdict,
      })
      await keep(held.model, cached)
    }
    const checkpoint = await adoptFolder(cached, log.run, 'reward-model', 0)
    return updatedEvents('reward-model', {
      iteration: 0,
      version: 0,
      parentVersion: null,
      checkpoint,
      trainedOn: [],
      samples: 0,
      metrics: { parameters: held.model.describe().parameters ?? 0 },
      stopped: null,
      timing: { ...timing, durationMs: Math.round(performance.now() - startedMs) },
    })
  }

  async function judge(job: Judge): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const { model, judge } = await withVersion(job.rewardModelVersion)
    const { goal } = await tasks.find(job.task)
    const judged = await trajectories.find(
      job.iteration,
      job.rollouts.map(({ rollout }) => rollout),
    )
    const seeds = new Map(job.rollouts.map(({ rollout, seed }) => [rollout, seed]))
    const judgements = await judgeEpisodes(
      model,
      judge,
      judged.map((trajectory) => ({
        id: trajectory.rollout,
        goal,
        observations: trajectory.observations,
        actions: trajectory.actions,
        seed: seeds.get(trajectory.rollout)!,
      })),
      {
        samples: rewardModel.samples,
        temperature: rewardModel.temperature,
        topP: rewardModel.topP,
        contextTokens: model.describe().contextTokens,
      },
    )
    const durationMs = Math.round(performance.now() - startedMs)
    const events: NewEvent[] = []
    for (const [i, trajectory] of judged.entries())
      events.push(...(await stepsScored(job, trajectory, judgements[i], durationMs)))
    return events
  }

  async function stepsScored(
    { task, rewardModelVersion }: Judge,
    { rollout, iteration, seed, actions }: Trajectory,
    judgements: Judgements,
    durationMs: number,
  ): Promise<NewEvent[]> {
    const progress = await environment.progress(await tasks.find(task), seed, actions)
    return actions.map((action, step) => ({
      type: 'StepScored',
      data: {
        rollout,
        iteration,
        step,
        task,
        rewardModelVersion,
        judgements: judgements[step].map((verdict) =>
          verdict === null
            ? { critique: '', score: 0, tokensI32: NOTHING, logprobsF32: NOTHING }
            : {
                critique: critiqueText(verdict.cause, action),
                score: verdict.score,
                tokensI32: int32Column(verdict.tokens),
                logprobsF32: float32Column(verdict.logprobs),
              },
        ),
        probability: probabilityOf(judgements[step]),
        progress: progress ? progress[step] : null,
        ...(step === 0 ? { timing: { judgeMs: durationMs } } : {}),
      },
    }))
  }

  async function train(job: Train): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const events = await readIteration(log, job.iteration, ['TrajectoryCompleted', 'StepScored'])
    const goals = new Map<string, string>()
    for (const { task } of job.groups) goals.set(task, (await tasks.find(task)).goal)
    const held = await withVersion(job.parentVersion)
    const batch = judgeBatch(
      job.groups,
      events.flatMap((event) => (event.type === 'TrajectoryCompleted' ? [event.data] : [])),
      events.flatMap((event) => (event.type === 'StepScored' ? [event.data] : [])),
      goals,
      held.judge,
      config,
    )
    const data: EventData<'RewardModelUpdated'> = {
      iteration: job.iteration,
      version: job.version,
      parentVersion: job.parentVersion,
      checkpoint: null,
      trainedOn: [...batch.rollouts],
      samples: batch.samples.length,
      metrics: { ...batch.health },
      stopped: 'no judgement has an advantage',
    }
    if (batch.samples.length === 0) return updatedEvents('reward-model', data)
    const { klReference } = rewardModel.training
    const samples = await withReference(batch.samples, klReference, {
      log,
      role: 'reward-model',
      backend: config.backend,
    })
    const { metrics, stopped } = updateFigures(
      await held.model.update(samples, updateOptions(rewardModel.training, job.seed)),
    )
    held.version = job.version
    const checkpoint = await saveCheckpoint(held.model, log.run, 'reward-model', job.version)
    return updatedEvents('reward-model', {
      ...data,
      checkpoint,
      metrics: { ...data.metrics, ...metrics },
      stopped,
      timing: { durationMs: Math.round(performance.now() - startedMs) },
    })
  }

  return {
    note: rewardModel.mode === 'off' ? 'off' : `${rewardModel.provider}, from the policy's weights`,
    worker: {
      shared: new Set(['judge']),
      concurrency: JOBS_AT_A_TIME,
      async perform({ kind, input }) {
        if (kind === 'cold-start') return coldStart(input as ColdStart)
        return kind === 'judge' ? judge(input as Judge) : train(input as Train)
      },
      async close() {
        await (await resident?.catch(() => null))?.model.close()
      },
    },
  }
}

/** Raised when the same settings would give another model. */
const VERSION = 1
const NOTHING = new Uint8Array()

/** Mean over the judgements of the probability of a good verdict, each behind the cause that was written; null without any. */
function probabilityOf(verdicts: Judgements[number]): number | null {
  const known = verdicts.flatMap((verdict) => (verdict ? [goodProbability(verdict)] : []))
  return known.length === 0 ? null : Math.min(1, Math.max(0, stableMean(known)))
}

/** Keeps a finished model in the cache, without the moments of imitation. */
async function keep(model: LocalModelFace, folder: string): Promise<void> {
  const partial = `${folder}.${process.pid}.partial`
  await model.save(partial)
  await rm(join(partial, 'optimizer.safetensors'), { force: true })
  await rm(folder, { recursive: true, force: true })
  await rename(partial, folder)
}

function digestOf(value: unknown): string {
  return createHash('sha256').update(JSON.stringify(value)).digest('hex').slice(0, 16)
}
