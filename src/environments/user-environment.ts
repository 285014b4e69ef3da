/**
 * Wraps a user's environment for the loop. Each call has a limit, and its result is checked. An error names
 * the call.
 */
import type { RunConfig } from '../config-schema/sections.ts'
import {
  brief,
  type CallLimit,
  type Check,
  callEither,
  callNow,
  callWithin,
  nonsense,
  shape,
  type UserCall,
} from '../user-code.ts'
import type { Environment, Episode, Task } from './port.ts'
import { episodeCheck, outcomeSchema, tasksCheck } from './user-checks.ts'

/** A user's module, named for messages. */
export type Theirs = { readonly file: string }

const HINT =
  'docs/environments.md says what an environment gives; testEnvironment of rlanything/testing tries all of it'

/** Describes a call of a part of the setting, e.g. `progress()`. */
export function callOf({ file }: Theirs, part: string, about: readonly string[] = []): UserCall {
  return { file, part, about, code: 'setting.broken', hint: HINT }
}

type Deadlines = RunConfig['deadlines']

/** Time limit of a step, and of any other question about one episode or task. */
function stepLimit({ stepSeconds }: Deadlines): CallLimit {
  return { ms: stepSeconds * 1000, key: 'run.deadlines.stepSeconds' }
}

/** Time limit of a question about all rollouts of a task. */
function rolloutLimit({ rolloutSeconds }: Deadlines): CallLimit {
  return { ms: rolloutSeconds * 1000, key: 'run.deadlines.rolloutSeconds' }
}

/** Time limit of loading all tasks, and of opening the environment. */
export function loadLimit({ expert }: Deadlines): CallLimit {
  return { ms: expert.loadTasksSeconds * 1000, key: 'run.deadlines.expert.loadTasksSeconds' }
}

/** Maps a checked episode to the episode of the user's environment. */
const own = new WeakMap<Episode, Episode>()

/** Returns the episode that the user's environment made. Parts of the setting get this episode. */
export const ownEpisode = (episode: Episode): Episode => own.get(episode) ?? episode

type Limits = { readonly step: CallLimit; readonly long: CallLimit }

const limits = new WeakMap<object, Limits>()

/**
 * Returns the time limit of a part that is asked with this environment. Returns null if the environment is
 * not known here.
 */
export function limitOf(environment: unknown, isLong = false): CallLimit | null {
  const known = typeof environment === 'object' && environment !== null ? limits.get(environment) : undefined
  return known ? known[isLong ? 'long' : 'step'] : null
}

export const aboutTask = ({ id }: Pick<Task, 'id'>): string => `task '${brief(id, 100)}'`

const outcomeCheck = shape(outcomeSchema)

export type Checking = {
  readonly theirs: Theirs
  /** Name of the setting, which its tasks must carry. */
  readonly name: string
  /** Whether actions are chosen from a list. */
  readonly listed: boolean
  readonly deadlines: Deadlines
}

/**
 * Returns the environment with checked tasks and episodes. All its other properties stay: parts of the
 * setting use them. Methods are called on the environment itself, because only it has its private fields.
 */
export function checkedEnvironment(
  environment: Environment,
  { theirs, name, listed, deadlines }: Checking,
): Environment {
  const [limit, loading] = [stepLimit(deadlines), loadLimit(deadlines)]
  const isEpisode = episodeCheck(listed)

  /** @param left number of steps that the episode may still take. An endless episode would never return. */
  const bounded =
    (left: number): Check =>
    (value) =>
      isEpisode(value) ??
      (left > 0 || (value as Episode).turn.done
        ? null
        : '.turn.done: goes on after as many steps as maxSteps says')

  /** @param number number of steps taken so far */
  function checked(episode: Episode, task: Task, number: number, left: number): Episode {
    const { turn, steps, tools } = episode
    const one: Episode = {
      task: episode.task ?? task,
      turn,
      steps,
      ...(tools ? { tools } : {}),
      step(action) {
        const about = [aboutTask(task), `step ${number + 1}`]
        const call = callOf(theirs, `step('${brief(action)}')`, about)
        const after = (next: Episode) => checked(next, task, number + 1, left - 1)
        const next = callEither(call, limit, () => episode.step(action), bounded(left - 1))
        return next instanceof Promise ? next.then(after) : after(next as Episode)
      },
      outcome() {
        const call = callOf(theirs, 'outcome()', [aboutTask(task), `after ${number} steps`])
        const value = callNow(call, () => episode.outcome(), outcomeCheck)
        if (!turn.done && value >= 1) throw nonsense(call, ': is 1, and the episode is not over')
        return value
      },
    }
    own.set(one, episode)
    return one
  }

  const checkedParts: Environment = {
    tasks: (split) =>
      callWithin(
        callOf(theirs, `tasks('${split}')`),
        loading,
        () => environment.tasks(split),
        tasksCheck(name),
      ),
    async reset(task, options) {
      // If no step is left, the first turn is still checked like one before the last step.
      const left = Math.max(1, options.maxSteps)
      const call = callOf(theirs, 'reset()', [aboutTask(task)])
      const first = await callWithin(call, limit, () => environment.reset(task, options), bounded(left))
      return checked(first, task, 0, left)
    },
    ...(environment.settle
      ? {
          async settle(episode: Episode) {
            const { task, steps } = episode
            const call = callOf(theirs, 'settle()', [aboutTask(task), `after ${steps} steps`])
            const settle = () => environment.settle!(ownEpisode(episode))
            const ended = await callWithin(call, limit, settle, bounded(Number.POSITIVE_INFINITY))
            return checked(ended, task, steps, Number.POSITIVE_INFINITY)
          },
        }
      : {}),
    ...(environment.release
      ? {
          release: (episode: Episode) =>
            callWithin(callOf(theirs, 'release()', [aboutTask(episode.task)]), limit, () =>
              environment.release!(ownEpisode(episode)),
            ),
        }
      : {}),
    ...(environment.close
      ? { close: () => callWithin(callOf(theirs, 'close()'), limit, () => environment.close!()) }
      : {}),
  }
  const proxy = new Proxy(checkedParts, {
    get(ours, key) {
      if (key in ours) return Reflect.get(ours, key)
      const value: unknown = Reflect.get(environment, key)
      return typeof value === 'function' ? value.bind(environment) : value
    },
    getPrototypeOf: () => Reflect.getPrototypeOf(environment),
    has: (ours, key) => key in ours || key in environment,
    set: (_, key, value) => Reflect.set(environment, key, value),
  })
  limits.set(proxy, { step: limit, long: rolloutLimit(deadlines) })
  return proxy
}
