/** One session of a served environment: it answers messages in their order. It knows no socket. */
import { explain, RlError } from '../../../errors.ts'
import { seedOf } from '../../../random.ts'
import type { Environment, Episode, Task } from '../../port.ts'
import { type Answer, type Asked, errorAnswer, type Start } from './protocol.ts'
import type { ServedTasks } from './tasks.ts'

export type ServedSession = {
  readonly answer: (asked: Asked) => Promise<Answer>
  /** Gives back what its episode holds. */
  readonly end: () => Promise<void>
}

export type SessionOptions = {
  readonly environment: Environment
  readonly tasks: ServedTasks
  /** Split of tasks that a reset does not name. */
  readonly split: string
  readonly maxSteps: number
  /** Resolves to a task's own solution. Absent: no session tells one. */
  readonly reference?: (task: Task) => Promise<string | null>
  /** Returns a seed for a reset that names none. */
  readonly chance: () => number
}

type Playing = {
  readonly episode: Episode
  readonly episodeId: string | null
  readonly reference: string | null
}

export function servedSession(options: SessionOptions): ServedSession {
  const { environment, tasks, maxSteps, chance } = options
  let playing: Playing | null = null

  async function end(): Promise<void> {
    const last = playing
    playing = null
    if (last) await environment.release?.(last.episode)
  }

  async function taskOf({ task, index, split }: Start, seed: number): Promise<Task> {
    if (task !== null) return tasks.named(task, split)
    const from = split ?? options.split
    return index === null ? tasks.drawn(from, seed) : tasks.task(from, index)
  }

  async function reset(start: Start): Promise<Answer> {
    await end()
    const seed = start.seed ?? chance()
    const task = await taskOf(start, seed)
    const reference = start.reference && options.reference ? await options.reference(task) : null
    const episode = await environment.reset(task, { seed: seedOf(seed, 'served'), maxSteps })
    playing = { episode, episodeId: start.episodeId, reference }
    return observation(playing, null)
  }

  async function step(action: string): Promise<Answer> {
    if (!playing) return errorAnswer('EXECUTION_ERROR', 'there is no episode: send reset first')
    const { episode } = playing
    if (episode.turn.done) return observation(playing, 0)
    const next = await episode.step(action)
    playing = { ...playing, episode: next, reference: null }
    if (!next.turn.done) return observation(playing, 0)
    const settled = environment.settle ? await environment.settle(next) : next
    playing = { ...playing, episode: settled }
    return observation(playing, settled.outcome())
  }

  return {
    end,
    async answer(asked) {
      try {
        if (asked.type === 'reset') return await reset(asked.start)
        if (asked.type === 'step') return await step(asked.action)
        return state(playing, maxSteps)
      } catch (error) {
        if (error instanceof RlError && error.code === 'openenv.no-task')
          return errorAnswer('VALIDATION_ERROR', explain(error))
        await end()
        // Errors of other code may tell of this machine.
        return errorAnswer('EXECUTION_ERROR', error instanceof RlError ? explain(error) : 'the step failed')
      }
    },
  }
}

function observation({ episode, reference }: Playing, reward: number | null): Answer {
  const { turn, task, steps } = episode
  const metadata = { step: steps, ...(reference === null ? {} : { reference: reference.split('\n') }) }
  return {
    type: 'observation',
    data: {
      observation: {
        metadata,
        text: turn.observation,
        goal: task.goal,
        admissible: turn.admissible,
        ended: turn.ended,
      },
      reward,
      done: turn.done,
      metadata,
    },
  }
}

function state(playing: Playing | null, maxSteps: number): Answer {
  const task = playing?.episode.task ?? null
  return {
    type: 'state',
    data: {
      episode_id: playing?.episodeId ?? null,
      step_count: playing?.episode.steps ?? 0,
      task: task?.id ?? null,
      kind: task?.kind ?? null,
      max_steps: maxSteps,
    },
  }
}
