/** The reward model as a local model that writes tests and learns from what they show. */
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import { readFloat32, readInt32 } from '../../events/columns.ts'
import type { LogClient } from '../../events/log-client.ts'
import { openLocalModel } from '../../models/local/model.ts'
import type { TrainingSample } from '../../models/port.ts'
import { CACHE } from '../../package.ts'
import type { ColdStart, Judge, Train } from '../decider/jobs.ts'
import {
  adoptFolder,
  checkpointOf,
  saveCheckpoint,
  updatedEvents,
  updateFigures,
  weightsFolder,
} from '../learner/checkpoints.ts'
import { withReference } from '../learner/kl-reference.ts'
import { residentModel } from '../learner/resident-model.ts'
import { updateOptions } from '../learner/update-options.ts'
import { demonstrationTasks } from '../policy/demonstration-tasks.ts'
import { openTaskBook, readIteration } from '../rollout/log-queries.ts'
import type { OpenedWorker } from '../runtime/worker.ts'
import { coldStartTests, lessonsOf } from './cold-start.ts'
import { answerSample, textCodec, textPrompt } from './packing.ts'
import { testAdvantages } from './test-batch.ts'
import { testJudgingOf, unitTestJudge, type WriteTests } from './unit-tests.ts'

/** Tasks that are judged at a time. */
const JOBS_AT_A_TIME = 64

export function openLocalTestWriter(config: Config, opened: OpenSetting, log: LogClient): OpenedWorker {
  const { rewardModel } = config
  const { setting, environment } = opened
  const lessons = lessonsOf(setting, testJudgingOf(setting))
  const tasks = openTaskBook(log)
  const resident = residentModel({
    folderOf: (version) => weightsFolder(log, 'reward-model', version),
    async open(folder) {
      const model = await openLocalModel({ folder, backend: config.backend })
      return { model, codec: textCodec(model) }
    },
  })
  const { temperature, topP, maxTokens } = rewardModel

  const write: WriteTests = async (task, version, seeds, signal) => {
    const question = await lessons.question(environment, task)
    return resident.use(version, async ({ model, codec }) => {
      const prompt = { tokens: textPrompt(codec, 'test', question) }
      const stopTokens = [codec.end]
      const written = await model.generate(
        seeds.map((seed) => ({ prompt, maxTokens, temperature, topP, seed, stopTokens })),
        signal,
      )
      return written.map(({ tokens, logprobs }) => ({ text: codec.decode(tokens ?? []), tokens, logprobs }))
    })
  }
  const { judge } = unitTestJudge(config, opened, log, { write })

  async function coldStart({ seed }: ColdStart): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const { rollouts, flippedLabels, ...settings } = rewardModel.coldStart
    const start = await coldStartTests(
      await checkpointOf(log, 'policy', 0),
      {
        ...settings,
        noise: flippedLabels,
        tokenBudget: rewardModel.training.tokenBudget,
        contextTokens: config.policy.contextTokens,
        seed,
      },
      {
        opened,
        lessons,
        tasks: (await demonstrationTasks(config, opened, rollouts)).tasks,
        cache: join(CACHE, 'cold-start'),
        backend: config.backend,
        report: (message) => process.stdout.write(`${message}\n`),
      },
    )
    return updatedEvents('reward-model', {
      iteration: 0,
      version: 0,
      parentVersion: null,
      checkpoint: await adoptFolder(start.folder, log.run, 'reward-model', 0),
      trainedOn: [],
      samples: 0,
      metrics: { loss: start.loss },
      stopped: null,
      timing: { fromCache: start.cached ? 1 : 0, durationMs: Math.round(performance.now() - startedMs) },
    })
  }

  async function train(job: Train): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const { iteration, version, parentVersion, groups } = job
    const events = await readIteration(log, iteration, [
      'TrajectoryCompleted',
      'StepScored',
      'UnitTestWritten',
    ])
    const { bySlot, health } = testAdvantages(
      groups,
      events.flatMap((event) => (event.type === 'TrajectoryCompleted' ? [event.data] : [])),
      events.flatMap((event) => (event.type === 'StepScored' ? [event.data] : [])),
      config,
    )
    const written = events.flatMap((event) =>
      event.type === 'UnitTestWritten' && event.data.iteration === iteration ? [event.data] : [],
    )
    const own = await samplesOf(written, bySlot, parentVersion)
    const data: EventData<'RewardModelUpdated'> = {
      ...{ iteration, version, parentVersion, checkpoint: null },
      trainedOn: own.map(({ id }) => id),
      samples: own.length,
      metrics: { ...health },
      stopped: 'no unit test has an advantage',
    }
    if (own.length === 0) return updatedEvents('reward-model', data)
    const { klReference } = rewardModel.training
    const samples = await withReference(own, klReference, {
      log,
      role: 'reward-model',
      backend: config.backend,
    })
    const { figures, checkpoint } = await resident.change(parentVersion, version, async ({ model }) => ({
      figures: updateFigures(await model.update(samples, updateOptions(rewardModel.training, job.seed))),
      checkpoint: await saveCheckpoint(model, log.run, 'reward-model', version),
    }))
    return updatedEvents('reward-model', {
      ...data,
      checkpoint,
      metrics: { ...data.metrics, ...figures.metrics },
      stopped: figures.stopped,
      timing: { durationMs: Math.round(performance.now() - startedMs) },
    })
  }

  /** The tests with an advantage, in order of their slots and places. */
  function samplesOf(
    written: readonly EventData<'UnitTestWritten'>[],
    bySlot: ReadonlyMap<string, Float64Array>,
    version: number,
  ): Promise<TrainingSample[]> {
    return resident.use(version, async ({ codec }) => {
      const samples: TrainingSample[] = []
      for (const [slot, advantages] of bySlot)
        for (const test of written.filter((one) => one.slot === slot).sort((a, b) => a.index - b.index)) {
          const advantage = advantages[test.index] ?? 0
          if (advantage === 0 || test.tokensI32.length === 0) continue
          const question = await lessons.question(environment, await tasks.find(test.task))
          samples.push(
            answerSample(
              `${test.iteration}/${slot}/test-${test.index}`,
              textPrompt(codec, 'test', question),
              readInt32(test.tokensI32),
              { advantage, logprobs: readFloat32(test.logprobsF32) },
            ),
          )
        }
      return samples
    })
  }

  return {
    note: `${rewardModel.provider}, writing unit tests, from the policy's weights`,
    worker: {
      shared: new Set(['judge']),
      concurrency: JOBS_AT_A_TIME,
      async perform({ kind, input }, { signal }) {
        if (kind === 'cold-start') return coldStart(input as ColdStart)
        return kind === 'judge' ? judge(input as Judge, signal) : train(input as Train)
      },
      close: () => resident.close(),
    },
  }
}
