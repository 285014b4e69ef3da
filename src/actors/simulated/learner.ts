/**
 * A learner made of formulas. It stands in for models and environments in tests and for sizing a run. Success of a
 * rollout has probability sigmoid(skill - difficulty). The policy's skill travels in the metrics of PolicyUpdated, and
 * the difficulty in the task's recipe. All draws come from the seeds in events and jobs. Every text that it writes
 * begins with `simulated`.
 */
import type { RulesConfig, SimulationConfig } from '../../config-schema/sections.ts'
import type { Direction, Task } from '../../environments/port.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import { accuracyOf } from '../../learning/filters.ts'
import { rulesOf } from '../../learning/registry.ts'
import { needsOf } from '../../learning/rules.ts'
import { rng, type Seed, seedOf } from '../../random.ts'
import type { JudgeRollouts, LearnableGroup, RewriteTask, Train } from '../decider/jobs.ts'
import { slotName } from '../decider/names.ts'

type Trajectory = EventData<'TrajectoryCompleted'>
type Update = EventData<'PolicyUpdated'>

/** Skill of a cold-started policy. At skill 0, half of the tasks of difficulty 0 succeed. */
const FIRST_SKILL = -0.4
const EMPTY = new Uint8Array()

/** The tasks of a split: difficulties spread evenly over [-2, 2], a little harder out of domain. */
export function simulatedTasks(split: string, limit: number | null, seed: Seed): Task[] {
  return Array.from({ length: limit ?? 64 }, (_, index) => {
    const draw = rng(seedOf(seed, split, index)).uniform()
    const difficulty = 4 * draw - 2 + (split === 'ood' ? 0.5 : 0)
    return simulatedTask(slotName(split, index), difficulty)
  })
}

function simulatedTask(id: string, difficulty: number): Task {
  const rounded = Math.round(difficulty * 1000) / 1000
  return {
    id: `simulated-${id}`,
    environment: 'simulated',
    kind: 'simulated',
    goal: `simulated task of difficulty ${rounded}`,
    recipe: { difficulty: rounded },
  }
}

/** Probability that a rollout of the task succeeds. */
function simulatedSuccess(task: Task, skill: number): number {
  return 1 / (1 + Math.exp(Number(task.recipe.difficulty) - skill))
}

/** The workers' knowledge of the models, from the metrics of the versions that a request names. */
export type SimulatedModels = {
  /** `metrics.skill` of PolicyUpdated. */
  readonly skill: number
  /** `metrics.accuracy` of RewardModelUpdated: how often a verdict is right. */
  readonly accuracy: number
}

/**
 * Figures by version, gathered from PolicyUpdated and RewardModelUpdated. A version without new figures has those
 * before it.
 */
export type SimulatedVersions = {
  readonly apply: (event: NewEvent) => void
  /** Whether both versions are known. */
  readonly has: (policyVersion: number, rewardModelVersion: number) => boolean
  readonly at: (policyVersion: number, rewardModelVersion: number) => SimulatedModels
}

export function simulatedVersions(): SimulatedVersions {
  const skills = new Map<number, number | undefined>()
  const accuracies = new Map<number, number | undefined>()
  return {
    apply({ type, data }) {
      if (type === 'PolicyUpdated')
        skills.set(data.version, data.metrics.skill ?? skills.get(data.version - 1))
      if (type === 'RewardModelUpdated')
        accuracies.set(data.version, data.metrics.accuracy ?? accuracies.get(data.version - 1))
    },
    has: (policyVersion, rewardModelVersion) =>
      skills.get(policyVersion) !== undefined && accuracies.get(rewardModelVersion) !== undefined,
    at: (policyVersion, rewardModelVersion) => ({
      skill: skills.get(policyVersion) ?? FIRST_SKILL,
      accuracy: accuracies.get(rewardModelVersion) ?? 0.5,
    }),
  }
}

/**
 * Plays a rollout. Returns null if it fails for no fault of the policy. Good actions are likelier in a successful
 * rollout.
 */
export function simulatedRollout(
  request: EventData<'RolloutRequested'>,
  task: Task,
  { skill }: Pick<SimulatedModels, 'skill'>,
  simulation: SimulationConfig,
): Trajectory | null {
  const draw = rng(request.seed)
  if (draw.uniform() < simulation.failureShare) return null
  const success = draw.uniform() < simulatedSuccess(task, skill)
  const mean = success ? simulation.steps : simulation.steps * 1.5
  const steps = Math.min(request.maxSteps, 1 + Math.floor(2 * (mean - 1) * draw.uniform() + 0.5))
  const actions = Array.from({ length: steps }, (_, step) => {
    const good = success && step === steps - 1 ? true : draw.uniform() < (success ? 0.8 : 0.4)
    return good ? GOOD : BAD
  })
  const { rollout, iteration, purpose, split, slot, index, policyVersion, seed } = request
  return {
    rollout,
    iteration,
    purpose,
    split,
    slot,
    task: task.id,
    index,
    policyVersion,
    seed,
    outcome: { kind: 'scored', value: success ? 1 : 0, success },
    ended: success ? 'goal' : 'step-limit',
    steps,
    observations: ['simulated start', ...actions.map((action) => `${action}: seen`)],
    actions,
    invalid: {},
    trainable: true,
    segments: [],
    usage: { promptTokens: 20 * steps, cachedTokens: 0, completionTokens: 5 * steps },
  }
}

const GOOD = 'simulated good action'
const BAD = 'simulated bad action'
const CAUSES = [
  'simulated: searched the wrong place',
  'simulated: forgot the object',
  'simulated: undid progress',
]

/** Judges a trajectory's steps: each of the `samples` verdicts is right with the judge's accuracy. */
export function simulatedJudge(
  job: JudgeRollouts,
  { rollout, task, actions, iteration }: Trajectory,
  { accuracy }: Pick<SimulatedModels, 'accuracy'>,
  samples: number,
): EventData<'StepScored'>[] {
  const seed = job.rollouts.find((member) => member.rollout === rollout)!.seed
  return actions.map((action, step) => {
    const draw = rng(seedOf(seed, step))
    const truth = action === GOOD ? 1 : -1
    const judgements = Array.from({ length: samples }, () => {
      const score = draw.uniform() < accuracy ? truth : -truth
      const critique = score === 1 ? 'simulated: sensible' : draw.pick(CAUSES)
      return { critique, score: score as 1 | -1, tokensI32: EMPTY, logprobsF32: EMPTY }
    })
    return {
      rollout,
      iteration,
      step,
      task,
      rewardModelVersion: job.rewardModelVersion,
      judgements,
      probability: null,
      progress: truth,
    }
  })
}

/** Version 0 of a model. */
export function simulatedColdStart(role: 'policy' | 'reward-model', simulation: SimulationConfig): Update {
  const metrics: Record<string, number> =
    role === 'policy'
      ? { simulated: 1, skill: FIRST_SKILL }
      : { simulated: 1, accuracy: simulation.judgeAccuracy }
  return {
    iteration: 0,
    version: 0,
    parentVersion: null,
    checkpoint: null,
    trainedOn: [],
    samples: 0,
    metrics,
    stopped: null,
  }
}

/**
 * Returns the next version. A group teaches by the variance of its outcomes, 4 p (1 - p). It teaches nothing if all
 * rollouts end alike, or if a filter leaves it out. If verdicts enter the reward, a judge that is mostly right adds to
 * that. A judge that is mostly wrong takes away from it.
 */
export function simulatedUpdate(
  role: 'policy' | 'reward-model',
  { iteration, version, parentVersion, groups }: Train,
  { skill, accuracy }: SimulatedModels,
  simulation: SimulationConfig,
  config: RulesConfig,
): Update {
  const { learning } = config
  const range = role === 'policy' ? learning.expert.policyAccuracyRange : null
  const taught = groups.filter(({ accuracy }) => within(accuracyOf(accuracy), range))
  const signal = taught.reduce((sum, group) => sum + 4 * spread(group), 0) / groups.length
  const judged = needsOf(rulesOf(config).stepReward).includes('verdicts')
  const help = judged ? 1 + (accuracy - 0.6) * 2 * learning.lambda : 1
  const metrics: Record<string, number> =
    role === 'policy'
      ? { simulated: 1, skill: skill + simulation.learningRate * signal * help, signal }
      : { simulated: 1, accuracy: accuracy + (0.95 - accuracy) * simulation.learningRate * signal, signal }
  return {
    iteration,
    version,
    parentVersion,
    checkpoint: null,
    trainedOn: groups.flatMap(({ rollouts }) => rollouts),
    samples: groups.reduce((sum, { rollouts }) => sum + rollouts.length, 0),
    metrics: { ...metrics, kl: 0.001 * signal, entropy: 1 / (1 + Math.exp(skill)), clipShare: 0.02 },
    stopped: null,
  }
}

function within(share: number, range: readonly [number, number] | null): boolean {
  return range === null || (share >= range[0] && share <= range[1])
}

function spread({ accuracy }: LearnableGroup): number {
  const p = accuracyOf(accuracy)
  return p * (1 - p)
}

/** Proposes a harder or easier task: its difficulty moves by 0.4 to 1.2. */
export function simulatedRewrite(job: RewriteTask, parent: Task): EventData<'TaskProposed'> {
  const { iteration, slot, direction, parentAccuracy, critique } = job
  const step = 0.4 + 0.8 * rng(job.seed).uniform()
  return {
    iteration,
    slot,
    parent: parent.id,
    direction,
    parentAccuracy: { ...parentAccuracy },
    critique,
    rewriter: { kind: 'symbolic', name: 'simulated', promptSha256: null },
    task: simulatedTask(`${slot}-${iteration}`, Number(parent.recipe.difficulty) + sign(direction) * step),
  }
}

function sign(direction: Direction): number {
  return direction === 'harder' ? 1 : -1
}
