/** A local judge of the form `estimate`: it reads how much remains after each step, and by how much that fell. */
import type { Config } from '../../config.ts'
import { type Causes, causesOf, critiqueText } from '../../environments/causes.ts'
import type { OpenSetting } from '../../environments/setting.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import { float32Column, int32Column } from '../../events/columns.ts'
import type { LogClient } from '../../events/log-client.ts'
import { itemAt } from '../../item-at.ts'
import { stableMean } from '../../learning/moments.ts'
import { progressLabel } from '../../learning/progress-labels.ts'
import { createLimit } from '../../limit.ts'
import { computeOf, openLocalModel } from '../../models/local/model.ts'
import { cachePlace } from '../../package.ts'
import type { ColdStart, JudgeRollouts, Train } from '../decider/jobs.ts'
import { weightsFolder } from '../learner/checkpoints.ts'
import type { OutsideBatch } from '../learner/outside.ts'
import { residentLearner } from '../learner/resident-learner.ts'
import { residentModel } from '../learner/resident-model.ts'
import { firstVersion } from '../learner/update.ts'
import { judgementAdvantages } from '../reward-model/batch.ts'
import { estimateAt, isMeasured, toldFalls, toldProgress } from '../reward-model/measured.ts'
import type { OpenedJudge } from '../reward-model/opened-judge.ts'
import { chainTokens } from '../rollout/chains.ts'
import { openTaskBook, readIteration, trajectoryBook } from '../rollout/log-queries.ts'
import { codecOf, viewOf } from '../rollout/packing.ts'
import { faultTeller, type TellFault } from '../runtime/tell-fault.ts'
import type { JobContext } from '../runtime/worker.ts'
import { lessonsFrom } from './co-training.ts'
import { estimateCodecOf, type StepEstimate } from './form.ts'
import { readEpisodes } from './reading.ts'
import { startedEstimates } from './start.ts'
import { openTrust } from './trust.ts'

type Trajectory = EventData<'TrajectoryCompleted'>
type Scored = EventData<'StepScored'>

/** Trajectories that are judged at a time. */
const JOBS_AT_A_TIME = 256
const NOTHING = new Uint8Array()
const NOTHING_TOLD = 'the setting tells of no rollout what remains'

export function openEstimateJudge(config: Config, opened: OpenSetting, log: LogClient): OpenedJudge {
  const { rewardModel } = config
  const causes = causesOf(opened.setting)
  const tasks = openTaskBook(log)
  const trajectories = trajectoryBook(log)
  const trustIn = openTrust(log)
  const resident = residentModel({ folderOf: (version) => weightsFolder(log, 'reward-model', version), open })

  async function open(folder: string) {
    const trains = rewardModel.mode === 'co-trained'
    const cacheBytes = config.policy.expert.cacheMegabytes * 1e6
    const model = await openLocalModel({ folder, ...computeOf(config), cacheBytes, trains })
    const codec = estimateCodecOf(codecOf(model.encode, viewOf(opened)))
    return { model, codec, limited: createLimit(model.ready.cacheTokens) }
  }

  async function coldStart(_: ColdStart, context: JobContext): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const report = (message: string) => void process.stdout.write(`${message}\n`)
    const hearing = { report, tell: faultTeller(context) }
    const kept = await startedEstimates(config, opened, cachePlace('cold-start'), hearing)
    return firstVersion('reward-model', log, kept.folder, async () => ({
      metrics: { ...kept.figures },
      timing: { fromCache: kept.cached ? 1 : 0, durationMs: Math.round(performance.now() - startedMs) },
    }))
  }

  async function judge(job: JudgeRollouts, context: JobContext): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const trust = await trustIn(job.rewardModelVersion)
    const { goal } = await tasks.find(job.task)
    const ids = job.rollouts.map(({ rollout }) => rollout)
    const judged = await trajectories.find(job.iteration, ids)
    const seeds = new Map(job.rollouts.map(({ rollout, seed }) => [rollout, seed]))
    const episodes = judged.map(({ rollout, observations, actions }) => ({
      ...{ id: rollout, goal, observations, actions },
      seed: seeds.get(rollout)!,
    }))
    const { samples, temperature } = rewardModel
    const { topP } = rewardModel.expert
    const read = await resident.use(job.rewardModelVersion, ({ model, codec, limited }) => {
      const { contextTokens } = model.describe()
      const lengths = episodes.map((episode) => Math.min(chainTokens(codec, episode), contextTokens))
      return limited(
        undefined,
        () => readEpisodes(model, codec, episodes, { samples, temperature, topP, contextTokens }),
        samples * lengths.reduce((sum, tokens) => sum + tokens, 0),
      )
    })
    const judgeMs = Math.round(performance.now() - startedMs)
    const events: NewEvent[] = []
    for (const [i, trajectory] of judged.entries()) {
      const estimates = await toldOf(faultTeller(context), job.task, trajectory)
      for (const step of trajectory.actions.keys()) {
        const { rollout, iteration } = trajectory
        const data: Scored = {
          ...{ rollout, iteration, step, task: job.task, rewardModelVersion: job.rewardModelVersion },
          ...verdictOn(trajectory.actions, step, itemAt(itemAt(read, i), step), { causes, task: job.task }),
          ...estimateAt(estimates, step),
          ...estimateOf(itemAt(itemAt(read, i), step), trust),
          ...(step === 0 ? { timing: { judgeMs } } : {}),
        }
        events.push({ type: 'StepScored', data })
      }
    }
    return events
  }

  /** Resolves to the setting's own figures of a rollout: what each step gained, and its progress if it is measured. */
  async function toldOf(tell: TellFault, id: string, trajectory: Trajectory) {
    const task = await tasks.find(id)
    const falls = await toldFalls(tell, opened, task, trajectory)
    const measured = isMeasured(trajectory, rewardModel.expert.measuredRollouts, config, ['progress'])
    return { falls, progress: measured ? await toldProgress(tell, opened, task, trajectory) : null }
  }

  async function batchOf({ iteration, parentVersion, groups }: Train): Promise<OutsideBatch> {
    const read = await readIteration(log, iteration, ['TrajectoryCompleted', 'StepScored'])
    const { TrajectoryCompleted: played, StepScored: scored } = read
    const { health } = judgementAdvantages(groups, played, scored, config)
    const { codec, contextTokens } = await resident.use(parentVersion, async ({ model, codec }) => ({
      ...{ codec, contextTokens: model.describe().contextTokens },
    }))
    const own = { groups, trajectories: played, scored }
    const lessons = await lessonsFrom(own, codec, contextTokens, { tasks, opened })
    const samples = lessons.map((sample) => ({ ...sample, policyVersion: parentVersion }))
    return { samples, trainedOn: samples.map(({ id }) => id), health, none: NOTHING_TOLD }
  }

  const training = {
    ...{ section: rewardModel, run: config.run, compute: computeOf(config) },
    supervised: true,
  }
  return {
    note: 'local, estimates what remains',
    judge,
    concurrency: JOBS_AT_A_TIME,
    batchOf: null,
    ...residentLearner('reward-model', resident, coldStart, batchOf, training, log),
  }
}

/** The verdicts on a step: it is good if it gained more than half of a step. An unreadable estimate has none. */
function verdictOn(
  actions: readonly string[],
  step: number,
  chains: readonly (StepEstimate | null)[],
  { causes, task }: { readonly causes: Causes; readonly task: string },
): Pick<Scored, 'judgements' | 'probability'> {
  const action = itemAt(actions, step)
  const judgements = chains.map((estimate) => {
    if (estimate === null)
      return { critique: '', score: 0 as const, tokensI32: NOTHING, logprobsF32: NOTHING }
    const { fall, tokens, logprobs } = estimate
    const label = progressLabel(fall)
    const word = causes.wordFor({ task, action, earlier: actions.slice(0, step), progress: fall, label })
    return {
      critique: critiqueText(causes, word, action),
      score: label,
      tokensI32: int32Column(tokens),
      logprobsF32: float32Column(logprobs),
    }
  })
  const fall = meanOf(chains, (estimate) => estimate.fall)
  return { judgements, probability: fall === null ? null : Math.min(1, Math.max(0, fall)) }
}

/** The mean over the chains that can be read, and how far it is trusted. */
function estimateOf(chains: readonly (StepEstimate | null)[], trust: number): Pick<Scored, 'estimate'> {
  const [remaining, fall] = [meanOf(chains, ({ bin }) => bin), meanOf(chains, (estimate) => estimate.fall)]
  return remaining === null || fall === null ? {} : { estimate: { remaining, fall, trust } }
}

function meanOf(
  chains: readonly (StepEstimate | null)[],
  figure: (estimate: StepEstimate) => number,
): number | null {
  const known = chains.flatMap((estimate) => (estimate ? [figure(estimate)] : []))
  return known.length === 0 ? null : stableMean(known)
}
