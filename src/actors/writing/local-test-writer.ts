import type { Config } from '../../config.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import { readFloat32, readInt32 } from '../../events/columns.ts'
import type { LogClient } from '../../events/log-client.ts'
import { computeOf, openLocalModel } from '../../models/local/model.ts'
import { cachePlace } from '../../package.ts'
import type { ColdStart, Train } from '../decider/jobs.ts'
import { checkpointOf, weightsFolder } from '../learner/checkpoints.ts'
import type { OutsideBatch } from '../learner/outside.ts'
import { residentLearner } from '../learner/resident-learner.ts'
import { residentModel } from '../learner/resident-model.ts'
import { firstVersion } from '../learner/update.ts'
import { withDemonstrationTasks } from '../policy/demonstration-tasks.ts'
import type { OpenedJudge } from '../reward-model/opened-judge.ts'
import { openTaskBook } from '../rollout/log-queries.ts'
import { faultTeller } from '../runtime/tell-fault.ts'
import type { JobContext } from '../runtime/worker.ts'
import { coldStartTests, lessonsOf } from './cold-start.ts'
import { answerSample, textCodec, textPrompt } from './packing.ts'
import { readTests } from './read-tests.ts'
import { testJudgingOf, unitTestJudge, type WriteTests } from './unit-tests.ts'

const NOTHING_TO_LEARN = 'no unit test has an advantage'

/** Tasks that are judged at a time. */
const JOBS_AT_A_TIME = 64

export function openLocalTestWriter(config: Config, opened: OpenSetting, log: LogClient): OpenedJudge {
  const { rewardModel } = config
  const { setting, environment } = opened
  const lessons = lessonsOf(setting, testJudgingOf(setting))
  const tasks = openTaskBook(log)
  const resident = residentModel({
    folderOf: (version) => weightsFolder(log, 'reward-model', version),
    async open(folder) {
      const trains = rewardModel.mode === 'co-trained' && rewardModel.trainer === 'own'
      const model = await openLocalModel({ folder, ...computeOf(config), trains })
      return { model, codec: textCodec(model) }
    },
  })
  const { temperature, maxTokens } = rewardModel
  const { topP, logprobs } = rewardModel.expert

  const write: WriteTests = async (task, version, seeds, signal) => {
    const question = await lessons.question(environment, task)
    return resident.use(version, async ({ model, codec }) => {
      const prompt = { tokens: textPrompt(codec, 'test', question) }
      const stopTokens = [codec.end]
      const written = await model.generate(
        seeds.map((seed) => ({ prompt, maxTokens, temperature, topP, logprobs, seed, stopTokens })),
        signal,
      )
      return written.map(({ tokens, logprobs }) => ({ text: codec.decode(tokens ?? []), tokens, logprobs }))
    })
  }

  async function coldStart({ seed }: ColdStart, context: JobContext): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const { rollouts, updates } = rewardModel.coldStart
    const { flippedLabels, batch, learningRate } = rewardModel.coldStart.expert
    const tasks = await withDemonstrationTasks(config, opened, rollouts, async (own) => own.tasks)
    const start = await coldStartTests(
      await checkpointOf(log, 'policy', 0),
      {
        updates,
        batch,
        learningRate,
        noise: flippedLabels,
        tokenBudget: rewardModel.training.expert.tokenBudget,
        contextTokens: config.policy.contextTokens,
        seed,
      },
      {
        opened,
        lessons,
        tasks,
        cache: cachePlace('cold-start'),
        compute: computeOf(config),
        report: (message) => process.stdout.write(`${message}\n`),
        tell: faultTeller(context),
      },
    )
    return firstVersion('reward-model', log, start.folder, async () => ({
      metrics: { loss: start.loss, ...(start.failed > 0 ? { failedDemonstrations: start.failed } : {}) },
      timing: { fromCache: start.cached ? 1 : 0, durationMs: Math.round(performance.now() - startedMs) },
    }))
  }

  async function batchOf(job: Train): Promise<OutsideBatch> {
    const { parentVersion } = job
    const { tests, health } = await readTests(log, job, rewardModel)
    const samples = await resident.use(parentVersion, async ({ codec }) => {
      const samples: OutsideBatch['samples'][number][] = []
      for (const { id, test, advantage } of tests) {
        if (test.tokensI32.length === 0) continue
        const question = await lessons.question(environment, await tasks.find(test.task))
        const prompt = textPrompt(codec, 'test', question)
        const behaviour = { advantage, logprobs: readFloat32(test.logprobsF32) }
        const sample = answerSample(id, prompt, readInt32(test.tokensI32), behaviour)
        samples.push({ ...sample, policyVersion: parentVersion })
      }
      return samples
    })
    return { samples, trainedOn: samples.map(({ id }) => id), health, none: NOTHING_TO_LEARN }
  }

  const training = { section: rewardModel, run: config.run, compute: computeOf(config) }
  return {
    note: `${rewardModel.provider}, writing unit tests, from the policy's weights`,
    judge: unitTestJudge(opened, log, { write, samples: rewardModel.samples, seed: config.run.seed }),
    concurrency: JOBS_AT_A_TIME,
    batchOf,
    ...residentLearner('reward-model', resident, coldStart, batchOf, training, log),
  }
}
