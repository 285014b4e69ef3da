/** A user's environment as the loop plays it: each call has a limit, and what it gives is checked and named. */
import type { Config } from '../config/schema.ts'
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

/** A user's module, as it is named. */
export type Theirs = { readonly file: string }

const HINT =
  'docs/environments.md says what an environment gives; testEnvironment of rlanything/testing tries all of it'

/** A call of a part of the setting, e.g. `progress()`. */
export function callOf({ file }: Theirs, part: string, about: readonly string[] = []): UserCall {
  return { file, part, about, code: 'setting.broken', hint: HINT }
}

/** How long a step, and any other question about an episode or a task, may take. */
function stepLimit({ run }: Config): CallLimit {
  return { ms: run.deadlines.stepSeconds * 1000, key: 'run.deadlines.stepSeconds' }
}

/** How long a question may take that is about all rollouts of a task. */
function rolloutLimit({ run }: Config): CallLimit {
  return { ms: run.deadlines.rolloutSeconds * 1000, key: 'run.deadlines.rolloutSeconds' }
}

/** How long all the tasks, and the environment itself, may take. */
export function loadLimit({ run }: Config): CallLimit {
  return { ms: run.deadlines.expert.loadTasksSeconds * 1000, key: 'run.deadlines.expert.loadTasksSeconds' }
}

/** By the checked episode, what the environment itself gave. */
const own = new WeakMap<Episode, Episode>()

/** The episode as its environment made it: parts of the setting are asked about that. */
export const ownEpisode = (episode: Episode): Episode => own.get(episode) ?? episode

type Limits = { readonly step: CallLimit; readonly long: CallLimit }

const limits = new WeakMap<object, Limits>()

/** How long a part that is asked with this environment may take; null where it was opened elsewhere. */
export function limitOf(environment: unknown, isLong = false): CallLimit | null {
  const known = typeof environment === 'object' && environment !== null ? limits.get(environment) : undefined
  return known ? known[isLong ? 'long' : 'step'] : null
}

export const aboutTask = ({ id }: Task): string => `task '${brief(id, 100)}'`

const outcomeCheck = shape(outcomeSchema)

export type Checking = {
  readonly theirs: Theirs
  /** Of the setting: tasks say it too. */
  readonly name: string
  /** Who acts is given a list of what may be done. */
  readonly listed: boolean
  readonly config: Config
}

/**
 * The environment itself, but for what it gives of tasks and episodes: parts of the setting get what they know. It is asked by its own
 * name, and nothing inherits from it: private fields of a class are there for its own objects alone.
 */
export function checkedEnvironment(
  environment: Environment,
  { theirs, name, listed, config }: Checking,
): Environment {
  const [limit, loading] = [stepLimit(config), loadLimit(config)]
  const isEpisode = episodeCheck(listed)

  /** @param left steps that it may still take: nobody could end one that goes on for ever */
  const bounded =
    (left: number): Check =>
    (value) =>
      isEpisode(value) ??
      (left > 0 || (value as Episode).turn.done
        ? null
        : '.turn.done: goes on after as many steps as maxSteps says')

  /** @param number of steps that were taken */
  function checked(episode: Episode, task: Task, number: number, left: number): Episode {
    const { turn, steps } = episode
    const one: Episode = {
      ...{ task: episode.task ?? task, turn, steps },
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
      // One without any step to take may be asked for what is there at its start.
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
  limits.set(proxy, { step: limit, long: rolloutLimit(config) })
  return proxy
}
