import type { Config } from '../../config.ts'
import { causesOf } from '../../environments/causes.ts'
import { identityOf, type OpenSetting } from '../../environments/setting.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import { itemAt } from '../../item-at.ts'
import { createLimit } from '../../limit.ts'
import { weightsDigest } from '../../models/local/checkpoint.ts'
import { computeOf, type LocalModelFace, openLocalModel } from '../../models/local/model.ts'
import { readModelFolder } from '../../models/local/model-folder.ts'
import { isPreset } from '../../models/local/presets.ts'
import { cachePlace } from '../../package.ts'
import type { ColdStart, JudgeRollouts, Train } from '../decider/jobs.ts'
import { checkpointOf, weightsFolder } from '../learner/checkpoints.ts'
import { keptModel } from '../learner/kept-model.ts'
import type { OutsideBatch } from '../learner/outside.ts'
import { residentLearner } from '../learner/resident-learner.ts'
import { residentModel } from '../learner/resident-model.ts'
import { firstVersion } from '../learner/update.ts'
import { chainTokens } from '../rollout/chains.ts'
import { openTaskBook, readIteration, type TrajectoryBook, trajectoryBook } from '../rollout/log-queries.ts'
import { codecOf, viewOf } from '../rollout/packing.ts'
import { faultTeller, type TellFault } from '../runtime/tell-fault.ts'
import type { JobContext } from '../runtime/worker.ts'
import { judgeBatch } from './batch.ts'
import { coldStartRewardModel, type TaughtOptions } from './cold-start.ts'
import { type Judgements, judgeEpisodes } from './judge.ts'
import { chatJudgeCodec, type JudgeCodec, judgeCodecOf } from './judging.ts'
import { labelledRollouts, rolloutIdentity } from './labelled-rollouts.ts'
import { isMeasured, NO_ESTIMATES, toldEstimates } from './measured.ts'
import type { OpenedJudge } from './opened-judge.ts'
import { scoredSteps } from './scored-steps.ts'

type Trajectory = EventData<'TrajectoryCompleted'>

/**
 * Returns the base of an adapter: the digest of its weights, and its folder. An adapter's own weights do not name the
 * base. The kept adapter looks for it in that folder.
 */
async function baseOf(folder: string): Promise<object> {
  const { isAdapter, base } = await readModelFolder(folder)
  return isAdapter ? { base, weights: await weightsDigest(await readModelFolder(base)) } : {}
}

/** Trajectories that are judged at a time. */
const JOBS_AT_A_TIME = 256

export function openLocalJudge(config: Config, opened: OpenSetting, log: LogClient): OpenedJudge {
  const { rewardModel } = config
  const causes = causesOf(opened.setting)
  const tasks = openTaskBook(log)
  const trajectories: TrajectoryBook = trajectoryBook(log)
  const resident = residentModel({ folderOf: (version) => weightsFolder(log, 'reward-model', version), open })

  const cacheBytes = config.policy.expert.cacheMegabytes * 1e6
  const isReleased = !isPreset(config.policy.model)

  async function open(folder: string) {
    const trains = rewardModel.mode === 'co-trained' && rewardModel.trainer === 'own'
    const model = await openLocalModel({ folder, ...computeOf(config), cacheBytes, trains })
    return { model, judge: judgeOf(model), limited: createLimit(model.ready.cacheTokens) }
  }

  /**
   * Returns the judge's codec. A model that others have trained judges in a chat, with a vocabulary that is not ours.
   */
  function judgeOf(model: LocalModelFace): JudgeCodec {
    if (isReleased) return chatJudgeCodec(model.tokenizer, causes)
    return judgeCodecOf(codecOf(model.encode, viewOf(opened)), causes)
  }

  async function coldStart({ seed }: ColdStart, context: JobContext): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const policy = await checkpointOf(log, 'policy', 0)
    const { rollouts, updates } = rewardModel.coldStart
    const { flippedLabels, batch, learningRate } = rewardModel.coldStart.expert
    const { maxSteps } = config.environment
    // The order of the keys is a part of the digest under which models are kept.
    const settings = { rollouts, flippedLabels, updates, batch, learningRate, seed, maxSteps }
    const report = (message: string) => void process.stdout.write(`${message}\n`)
    const { folder, cached, figures } = await keptModel({
      cache: cachePlace('cold-start'),
      name: 'reward-model',
      identity: {
        VERSION,
        policy: policy.sha256,
        settings,
        playedWith: rolloutIdentity(config),
        ...identityOf(opened),
        ...(isReleased ? { judging: 'chat' } : {}),
        ...(opened.setting.progress ? {} : { labels: 'outcome, a step a chain' }),
        ...(await baseOf(policy.folder)),
      },
      compute: computeOf(config),
      open: () => openLocalModel({ folder: policy.folder, ...computeOf(config), cacheBytes, trains: true }),
      teach: (model) => teach(model, settings, { report, tell: faultTeller(context) }),
      report,
    })
    return firstVersion('reward-model', log, folder, async () => ({
      metrics: { ...figures },
      timing: { fromCache: cached ? 1 : 0, durationMs: Math.round(performance.now() - startedMs) },
    }))
  }

  async function teach(
    model: LocalModelFace,
    settings: TaughtOptions,
    { report, tell }: { readonly report: (message: string) => void; readonly tell: TellFault },
  ): Promise<Record<string, number>> {
    const { episodes, failed } = await labelledRollouts(config, opened, log, settings, { report, tell })
    const { tokenBudget } = rewardModel.training.expert
    const { loss, quality, warning } = await coldStartRewardModel(model, judgeOf(model), episodes, {
      ...settings,
      tokenBudget,
      report,
      contextTokens: Math.min(tokenBudget, model.describe().contextTokens),
    })
    if (warning) process.stdout.write(`${warning}\n`)
    const { single, meanVerdict } = quality
    const figures = { loss, processAccuracy: single.accuracy, processBalanced: single.balanced, meanVerdict }
    return failed > 0 ? { ...figures, failedRollouts: failed } : figures
  }

  async function judge(job: JudgeRollouts, context: JobContext): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const { goal } = await tasks.find(job.task)
    const judged = await trajectories.find(
      job.iteration,
      job.rollouts.map(({ rollout }) => rollout),
    )
    const seeds = new Map(job.rollouts.map(({ rollout, seed }) => [rollout, seed]))
    const episodes = judged.map(({ rollout, observations, actions }) => ({
      id: rollout,
      goal,
      observations,
      actions,
      seed: seeds.get(rollout)!,
    }))
    const { samples, temperature } = rewardModel
    const { topP, logprobs } = rewardModel.expert
    const judgements = await resident.use(job.rewardModelVersion, ({ model, judge, limited }) => {
      const { contextTokens } = model.describe()
      const lengths = episodes.map((episode) => Math.min(chainTokens(judge, episode), contextTokens))
      // What the cache cannot keep is read anew at each step.
      return limited(
        undefined,
        () => judgeEpisodes(model, judge, episodes, { samples, temperature, topP, logprobs, contextTokens }),
        samples * lengths.reduce((sum, tokens) => sum + tokens, 0),
      )
    })
    const durationMs = Math.round(performance.now() - startedMs)
    const events: NewEvent[] = []
    for (const [i, trajectory] of judged.entries())
      events.push(
        ...(await stepsScored(job, trajectory, itemAt(judgements, i), durationMs, faultTeller(context))),
      )
    return events
  }

  async function stepsScored(
    { task, rewardModelVersion }: JudgeRollouts,
    trajectory: Trajectory,
    judgements: Judgements,
    durationMs: number,
    tell: TellFault,
  ): Promise<NewEvent[]> {
    const estimates = isMeasured(trajectory, rewardModel.expert.measuredRollouts, config)
      ? await toldEstimates(tell, opened, config, await tasks.find(task), trajectory)
      : NO_ESTIMATES
    return scoredSteps(
      { trajectory, task, rewardModelVersion, judgements, estimates, durationMs },
      causes,
      rewardModel.criteria !== undefined,
    )
  }

  /** Each sample with the version that judged. */
  async function batchOf(job: Train): Promise<OutsideBatch> {
    const judged = await readIteration(log, job.iteration, ['TrajectoryCompleted', 'StepScored'])
    const { TrajectoryCompleted: trajectories, StepScored: scored } = judged
    const goals = new Map<string, string>()
    for (const { task } of job.groups) goals.set(task, (await tasks.find(task)).goal)
    const judge = await resident.use(job.parentVersion, async ({ judge }) => judge)
    const { rollouts, ...batch } = judgeBatch(job.groups, trajectories, scored, goals, judge, config)
    const versions = new Map(scored.map(({ rollout, rewardModelVersion }) => [rollout, rewardModelVersion]))
    const versionOf = (id: string) => versions.get(id.slice(0, id.lastIndexOf('#'))) ?? job.parentVersion
    const samples = batch.samples.map((sample) => ({ ...sample, policyVersion: versionOf(sample.id) }))
    return { ...batch, samples, trainedOn: rollouts, none: NOTHING_TO_LEARN }
  }

  const training = { section: rewardModel, run: config.run, compute: computeOf(config) }
  const learner = residentLearner('reward-model', resident, coldStart, batchOf, training, log)
  return {
    note: rewardModel.mode === 'off' ? 'off' : `${rewardModel.provider}, from the policy's weights`,
    judge,
    concurrency: JOBS_AT_A_TIME,
    batchOf,
    ...learner,
    // Versions that nobody trained have no weights to load.
    ...(rewardModel.mode === 'off' ? { prepare: async () => {} } : {}),
  }
}

/** Raised when the same settings would give another model. */
const VERSION = 3
const NOTHING_TO_LEARN = 'no judgement has an advantage'
