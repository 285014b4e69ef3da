/**
 * The state of a run before its first iteration, and the costs of an iteration's parts: cold start of policy
 * and reward model, success on held-out tasks, process accuracy, rollouts, judging, updates. Generated tasks,
 * default model.
 *
 * npm run -s bench -- cold-start [--noise 0.22] [--updates 450] [--demonstrations 1500] [--flipped 0.1] [--judge-updates 100] [--iterations 0]
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { choiceActing } from '../../src/actors/policy/acting.ts'
import { coldStartPolicy } from '../../src/actors/policy/cold-start.ts'
import { segmentSample } from '../../src/actors/policy/samples.ts'
import { coldStartRewardModel, labelled, processQuality } from '../../src/actors/reward-model/cold-start.ts'
import { judgeEpisodes } from '../../src/actors/reward-model/judge.ts'
import { chainSample, judgeCodecOf } from '../../src/actors/reward-model/judging.ts'
import { codecOf } from '../../src/actors/rollout/packing.ts'
import { createPlayer } from '../../src/actors/rollout/player.ts'
import { CAUSES } from '../../src/environments/alfworld/causes.ts'
import { alfworldEnvironment } from '../../src/environments/alfworld/environment.ts'
import { setting } from '../../src/environments/alfworld/setting.ts'
import type { Task } from '../../src/environments/port.ts'
import { advantages } from '../../src/learning/advantage.ts'
import { ADVANTAGES } from '../../src/learning/advantage-rules.ts'
import { filterByTask } from '../../src/learning/filters.ts'
import { wilson } from '../../src/learning/interval.ts'
import { judgeAdvantages } from '../../src/learning/judge-advantage.ts'
import { outcomeOf } from '../../src/learning/reward.ts'
import { openLocalModel } from '../../src/models/local/model.ts'
import type { TrainableModel, TrainingSample, UpdateOptions } from '../../src/models/port.ts'
import { seedOf } from '../../src/random.ts'
import { report } from './report.ts'

const { values: flags } = parseArgs({
  args: process.argv.slice(3),
  options: {
    noise: { type: 'string', default: '0.22' },
    updates: { type: 'string', default: '450' },
    demonstrations: { type: 'string', default: '1500' },
    flipped: { type: 'string', default: '0.1' },
    'judge-updates': { type: 'string', default: '100' },
    'judge-rate': { type: 'string', default: '5e-3' },
    'judge-rollouts': { type: 'string', default: '320' },
    rate: { type: 'string', default: '6e-4' },
    iterations: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
  },
})
const number = (name: keyof typeof flags) => Number(flags[name])
const MAX_STEPS = 20
const CONTEXT = 512
const TOKEN_BUDGET = 4096
const seed = seedOf(number('seed'), 'cold-start-bench')

const measure = (name: string, value: number, unit: string, goal: string | null, n: number, note = '') =>
  report({ suite: 'cold-start', name, value, unit, goal, n, note })
async function timed<T>(name: string, goal: string | null, work: () => Promise<T>): Promise<T> {
  const startedMs = performance.now()
  const before = process.cpuUsage()
  const result = await work()
  const { user, system } = process.cpuUsage(before)
  measure(
    name,
    (performance.now() - startedMs) / 1000,
    's',
    goal,
    1,
    `${((user + system) / 1e6).toFixed(1)} s of CPU`,
  )
  return result
}

const generated = (generatorSeed: number, train: number) =>
  alfworldEnvironment({
    source: {
      kind: 'generated',
      seed: generatorSeed,
      counts: { train, 'in-domain': 128, ood: 128 },
      size: 'easy',
    },
    cachedGames: 2048,
  })
const environment = generated(number('seed'), 1000)
const cache = mkdtempSync(join(tmpdir(), 'rl-cold-start-'))

/** Plays `rollouts` of each task side by side. */
async function play(model: TrainableModel, tasks: readonly Task[], rollouts: number, purpose: string) {
  const acting = choiceActing(codecOf(model.encode, environment.view), CONTEXT)
  const player = createPlayer({
    environment,
    actDeadlineMs: 600_000,
    act: async (requests, signal) => {
      const turns = requests.map((request) => acting(request, { temperature: 1, topP: 1, maxTokens: 24 }))
      const generations = await model.generate(
        turns.flatMap(({ request }) => request ?? []),
        signal,
      )
      let next = 0
      return turns.map(({ request, reply }) => reply(request ? generations[next++] : null))
    },
  })
  const requests = tasks.flatMap((task, t) =>
    Array.from({ length: rollouts }, (_, index) => ({ task, rollout: `${purpose}/${t}/${index}`, index })),
  )
  const trajectories = await Promise.all(
    requests.map(({ task, rollout, index }) =>
      player.play(
        {
          rollout,
          iteration: 0,
          purpose: 'train',
          split: 'train',
          slot: task.id,
          task: task.id,
          index,
          policyVersion: 0,
          seed: seedOf(seed, rollout),
          maxSteps: MAX_STEPS,
        },
        task,
      ),
    ),
  )
  return trajectories.map((trajectory, i) => ({ trajectory, task: requests[i].task }))
}
type Played = Awaited<ReturnType<typeof play>>

const succeeded = ({ trajectory }: Played[number]) =>
  trajectory.outcome.kind === 'scored' && trajectory.outcome.success

async function evaluate(
  model: TrainableModel,
  split: 'in-domain' | 'ood',
  name: string,
  goal: string | null,
) {
  const played = await play(model, await environment.tasks(split), 1, `evaluation-${split}`)
  const { value, low, high, n } = wilson(played.filter(succeeded).length, played.length)
  measure(name, value, 'share', goal, n, `95 % interval ${low.toFixed(3)} to ${high.toFixed(3)}`)
}

const update = (learningRate: number, updates: number, path: string): UpdateOptions => ({
  loss: { kind: 'policy', clipLow: 0.2, clipHigh: 0.2, dualClip: null, klWeight: 0.01, aggregate: 'batch' },
  learningRate,
  weightDecay: 0,
  beta1: 0.9,
  beta2: 0.99,
  clipNorm: 1,
  updates,
  tokenBudget: TOKEN_BUDGET,
  seed: seedOf(seed, path),
  klLimit: 0.1,
})

/** Samples of the policy with outcome rewards, of groups with both outcomes. */
function outcomeSamples(played: Played): TrainingSample[] {
  const { kept } = filterByTask(
    played.map((one) => ({ ...one, task: one.task.id, outcome: outcomeOf(succeeded(one) ? 1 : 0) })),
    { accuracy: null, mixedOutcomes: true },
  )
  const { byRollout } = advantages(
    kept.map(({ task, outcome, trajectory }) => ({
      id: trajectory.rollout,
      task,
      outcome,
      scores: Array(trajectory.steps).fill(0),
    })),
    ADVANTAGES.find(({ name }) => name === 'task')!,
    { weights: { outcome: 1, step: 0 }, single: 'zero', stdFloor: 0 },
  )
  return kept.flatMap(({ trajectory }) =>
    trajectory.segments.flatMap(
      (segment) => segmentSample(trajectory.rollout, segment, byRollout.get(trajectory.rollout)!) ?? [],
    ),
  )
}

async function measured(played: Played) {
  const episodes = []
  for (const { trajectory, task } of played)
    episodes.push({
      id: trajectory.rollout,
      seed: seedOf(seed, 'judge', trajectory.rollout),
      goal: task.goal,
      observations: trajectory.observations,
      actions: trajectory.actions,
      progress: (await environment.progress(task, trajectory.seed, trajectory.actions))!,
    })
  return episodes
}

try {
  const demonstrated = generated(number('seed') + 1_000_000_007, number('demonstrations'))
  const start = await timed('policy_cold_start_s', '<= 40', async () =>
    coldStartPolicy(
      {
        preset: 'nano',
        contextTokens: CONTEXT,
        expertNoise: number('noise'),
        maxSteps: MAX_STEPS,
        updates: number('updates'),
        batch: 16,
        learningRate: 4e-3,
        tokenBudget: TOKEN_BUDGET,
        seed,
      },
      {
        opened: { setting, environment: demonstrated },
        tasks: await demonstrated.tasks('train'),
        cache,
        compute: {},
      },
    ),
  )
  measure('expert_success', start.expertSuccess ?? 0, 'share', null, number('demonstrations'))
  const policy = await openLocalModel({ folder: start.folder })
  await evaluate(policy, 'in-domain', 'start_success', '>= 0.35')
  await evaluate(policy, 'ood', 'start_success_ood', null)

  const train = await environment.tasks('train')
  const played = await timed('rollouts_16x8_s', null, () => play(policy, train.slice(0, 16), 8, 'train'))
  const judge = judgeCodecOf(codecOf(policy.encode, environment.view), CAUSES)
  const rewardModel = await openLocalModel({ folder: start.folder })
  const judgeTasks = train.slice(100, 100 + Math.ceil(number('judge-rollouts') / 4))
  const options = {
    contextTokens: CONTEXT,
    tokenBudget: TOKEN_BUDGET,
    seed,
    flippedLabels: number('flipped'),
  }
  const episodes = await timed('labelled_rollouts_s', null, async () => {
    const rollouts = await play(policy, judgeTasks, 4, 'labels')
    const episodes = await measured(rollouts)
    return episodes.map((episode, e) =>
      labelled(CAUSES, rollouts[e].task.id, { ...episode, byOutcome: false }, options),
    )
  })
  const judged = await timed('reward_model_cold_start_s', '<= 15', () =>
    coldStartRewardModel(rewardModel, judge, episodes, {
      ...options,
      updates: number('judge-updates'),
      batch: 16,
      learningRate: number('judge-rate'),
    }),
  )
  const fresh = await processQuality(rewardModel, judge, await measured(played), options)
  const figures = `loss ${judged.loss.toFixed(3)}, good steps ${fresh.goodShare.toFixed(2)}, mean verdict ${fresh.meanVerdict.toFixed(2)}`
  measure('process_accuracy_single', fresh.single.accuracy, 'share', null, fresh.single.n)
  measure('process_balanced_single', fresh.single.balanced, 'share', '>= 0.6', fresh.single.n, figures)
  measure('process_balanced_majority', fresh.majority.balanced, 'share', null, fresh.majority.n)

  const judgeable = await measured(played)
  const judgements = await timed('judge_16x8_m3_s', null, () =>
    judgeEpisodes(rewardModel, judge, judgeable, {
      samples: 3,
      temperature: 1,
      topP: 1,
      contextTokens: CONTEXT,
    }),
  )
  const chains = judgeAdvantages(
    judgeable.map(({ id }, e) => ({
      id,
      task: played[e].task.id,
      outcome: outcomeOf(succeeded(played[e]) ? 1 : 0),
      verdicts: judgements[e].map((step) => step.map((verdict) => verdict?.score ?? 0)),
      scores: judgements[e].map((step) => step.reduce((sum, verdict) => sum + (verdict?.score ?? 0), 0) / 3),
    })),
    { lambda: 1, normalisation: 'within-task', invalidReward: -2, balanceVerdicts: false },
  )
  const judgeSamples = judgeable.flatMap((episode, e) =>
    [0, 1, 2].flatMap((chain) => {
      const steps = judgements[e].map((step, s) => ({
        ...step[chain]!,
        advantage: chains.byRollout.get(episode.id)![s][chain],
      }))
      return chainSample(`${episode.id}#${chain}`, judge, episode, steps) ?? []
    }),
  )
  await timed('reward_model_update_s', null, () => rewardModel.update(judgeSamples, update(3e-4, 2, 'judge')))
  await timed('policy_update_s', null, () =>
    policy.update(outcomeSamples(played), update(number('rate'), 4, 'policy')),
  )

  for (let iteration = 1; iteration <= number('iterations'); iteration++) {
    const tasks = train.slice(16 * iteration, 16 * iteration + 16)
    const group = await play(policy, tasks, 8, `iteration-${iteration}`)
    const metrics = await policy.update(
      outcomeSamples(group),
      update(number('rate'), 4, `policy-${iteration}`),
    )
    const accuracy = group.filter(succeeded).length / group.length
    const health = `kl ${metrics.kl.toFixed(4)}, entropy ${metrics.entropy.toFixed(3)}`
    measure(`iteration_${iteration}_train_success`, accuracy, 'share', null, group.length, health)
    if (iteration % 20 === 0 || iteration === number('iterations'))
      await evaluate(policy, 'in-domain', `iteration_${iteration}_success`, '>= 0.65')
  }
  await Promise.all([policy.close(), rewardModel.close()])
} finally {
  rmSync(cache, { recursive: true, force: true })
}
