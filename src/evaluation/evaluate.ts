/**
 * Evaluates a model folder on a split, as the loop does. Tasks, seeds and step limits are the same, so equal
 * models get equal figures.
 */
import { startMeasurements } from '../actors/environment/evaluation.ts'
import { loadTasks } from '../actors/environment/load-tasks.ts'
import { openLocalActor } from '../actors/policy/local-acting.ts'
import { samplingOf } from '../actors/policy/sampling.ts'
import type { Config } from '../config.ts'
import { openSetting, orClose } from '../environments/open.ts'
import type { Environment, Task } from '../environments/port.ts'
import { seedOf } from '../random.ts'
import { type EvaluationFigures, evaluationFigures } from './figures.ts'
import { playAlone, type Wanted } from './play.ts'

export type EvaluateOptions = {
  /** A Hugging Face folder. */
  readonly model: string
  /** The run's name of the split, as in `evaluation.splits`. */
  readonly split: string
  /** Its `evaluation` and `environment` say what to play. Its seed is used for draws. */
  readonly config: Config
  readonly signal: AbortSignal
  readonly onEnd?: (ended: number, of: number) => void
}

export async function evaluate(options: EvaluateOptions): Promise<EvaluationFigures> {
  const { split, signal, onEnd } = options
  const config: Config = { ...options.config, evaluation: { ...options.config.evaluation, splits: [split] } }
  const opened = await openSetting(config)
  const { environment } = opened
  const actor = await orClose(opened, openLocalActor(options.model, config, opened))
  try {
    const wanted = await wantedRollouts(environment, split, config)
    const trajectories = await playAlone(wanted, {
      sampling: samplingOf(config.policy, config.evaluation),
      stepMs: config.run.deadlines.stepSeconds * 1000,
      environment,
      actor,
      signal,
      onEnd: onEnd && ((ended) => onEnd(ended, wanted.length)),
    })
    return evaluationFigures(
      wanted.map(({ task: { id, kind } }, index) => ({
        task: id,
        kind,
        trajectory: trajectories[index] ?? null,
      })),
      seedOf(config.run.seed, 'evaluation'),
    )
  } finally {
    await actor.model.close()
    await environment.close?.()
  }
}

async function wantedRollouts(environment: Environment, split: string, config: Config): Promise<Wanted[]> {
  const added = await loadTasks(environment, {
    splits: [{ split, source: config.environment.splits[split] ?? split, limit: config.evaluation.tasks }],
    seed: seedOf(config.run.seed, 'tasks'),
  })
  const tasks = new Map<string, Task>()
  const slots = added.flatMap((event) => {
    if (event.type !== 'TaskAdded') return []
    tasks.set(event.data.slot, event.data.task)
    return [{ slot: event.data.slot, task: event.data.task.id }]
  })
  const { requests } = startMeasurements(new Map([[split, slots]]), 0, config.evaluation, {
    seed: config.run.seed,
    maxSteps: config.environment.maxSteps,
  })
  return requests.flatMap((output) =>
    output.type === 'event' && output.event.type === 'RolloutRequested'
      ? [{ request: output.event.data, task: tasks.get(output.event.data.slot)! }]
      : [],
  )
}
