/** Trajectories of experts or other policies that train this one: `learning.outside`. */
import type { OpenSetting } from '../../environments/setting.ts'
import type { LogClient } from '../../events/log-client.ts'
import { itemAt } from '../../item-at.ts'
import { OUTSIDE_RULES, type OutsideRule } from '../../learning/outside.ts'
import type { TrainableModel, TrainingSample } from '../../models/port.ts'
import { seedOf } from '../../random.ts'
import type { LearnableGroup } from '../decider/jobs.ts'
import type { BatchOf } from '../learner/ports.ts'
import { openTaskBook, readIteration } from '../rollout/log-queries.ts'
import type { Codec } from '../rollout/packing.ts'
import { type RecordedActions, readRecorded } from '../rollout/recorded-actions.ts'
import { type Demonstration, demonstrationSample } from './samples.ts'

export type OutsideOptions = {
  /** JSON lines with `task` and `actions`, as `rl export --format jsonl` writes them. */
  readonly file: string
  readonly rule: OutsideRule
  readonly maxSteps: number
  /** Temperature of the log-probs that are learned from. */
  readonly temperature: number
  /** Whether the loss averages within steps. */
  readonly tellsSteps: boolean
  readonly opened: OpenSetting
  readonly log: LogClient
  /** Does work with the weights of a version. */
  readonly use: <T>(version: number, work: (model: TrainableModel, codec: Codec) => Promise<T>) => Promise<T>
}

/** Adds outside trajectories of the tasks of a batch. They join after the rules, so they change no other advantage. */
export function withOutside(batchOf: BatchOf, options: OutsideOptions): BatchOf {
  const lines = readRecorded(options.file, 'learning.outside')
  const tasks = openTaskBook(options.log)
  const played = new Map<RecordedActions, Promise<Played | null>>()
  return async (job) => {
    const batch = await batchOf(job)
    const { TrajectoryCompleted: own } = await readIteration(options.log, job.iteration, [
      'TrajectoryCompleted',
    ])
    const values = new Map(
      own.flatMap(({ rollout, outcome }) =>
        outcome.kind === 'scored' ? [[rollout, outcome.value] as const] : [],
      ),
    )
    let unplayable = 0
    const found: { readonly group: LearnableGroup; readonly one: Played }[] = []
    for (const group of job.groups)
      for (const line of lines.filter(({ task }) => task === group.task)) {
        const ending = played.get(line) ?? playOut(line, lines.indexOf(line), tasks.find(line.task), options)
        played.set(line, ending)
        const one = await ending
        if (one) found.push({ group, one })
        else unplayable++
      }
    const samples = await options.use(job.parentVersion, async (model, codec) => {
      const made = found.flatMap(({ group, one }) => {
        const sample = demonstrationSample(codec, one, model.describe().contextTokens, options.tellsSteps)
        const outcomes = group.rollouts.flatMap((rollout) => values.get(rollout) ?? [])
        return sample ? [{ sample, outcomes, value: one.value }] : []
      })
      const scores = await model.score(
        made.map(({ sample }) => sample),
        { temperature: options.temperature },
      )
      return made.flatMap(({ sample, outcomes, value }, i) =>
        corrected(sample, OUTSIDE_RULES[options.rule](itemAt(scores, i), value, outcomes)),
      )
    })
    const outside = samples.map((sample) => ({ ...sample, policyVersion: job.parentVersion }))
    return {
      ...batch,
      samples: [...batch.samples, ...outside],
      health: {
        ...batch.health,
        samplesOutside: outside.length,
        ...(unplayable > 0 ? { samplesOutsideUnplayable: unplayable } : {}),
      },
    }
  }
}

function corrected(
  sample: TrainingSample,
  { advantages, logprobs }: Pick<TrainingSample, 'advantages' | 'logprobs'>,
): TrainingSample[] {
  const trained = advantages.map((advantage, t) => (sample.mask[t] === 1 ? advantage : 0))
  const mask = sample.mask.map((bit, t) => (trained[t] === 0 ? 0 : bit))
  return mask.includes(1) ? [{ ...sample, mask, advantages: trained, logprobs }] : []
}

type Played = Demonstration & { readonly value: number }

/** Plays the actions in this run's environment, so the outcome is no claim of the file. Null if they cannot be played to an end. */
async function playOut(
  { task: id, actions }: RecordedActions,
  index: number,
  found: ReturnType<ReturnType<typeof openTaskBook>['find']>,
  { opened: { environment }, maxSteps }: OutsideOptions,
): Promise<Played | null> {
  const task = await found
  let episode = await environment.reset(task, { seed: seedOf(0, 'outside', id, index), maxSteps })
  const observations = [episode.turn.observation]
  const admissible: (readonly string[])[] = []
  const done: string[] = []
  for (const action of actions) {
    if (episode.turn.done) break
    if (!episode.turn.admissible.includes(action)) return null
    admissible.push(episode.turn.admissible)
    done.push(action)
    episode = await episode.step(action)
    observations.push(episode.turn.observation)
  }
  if (!episode.turn.done) return null
  const settled = (await environment.settle?.(episode)) ?? episode
  return {
    id: `outside-${index}`,
    goal: task.goal,
    observations,
    actions: done,
    admissible,
    value: settled.outcome(),
  }
}
