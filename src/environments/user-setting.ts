/**
 * A setting of somebody else's, checked where it meets the rest: when its module is loaded, and whatever its environment gives
 * when it is played. A mistake names the file and the field, e.g. `mine.ts: tasks('train')[3].goal: expected string`.
 */
import { z } from 'zod'
import { within } from '../clock.ts'
import type { Config } from '../config/schema.ts'
import { RlError } from '../errors.ts'
import { flattened } from '../user-module.ts'
import type { Environment, Episode, Task } from './port.ts'
import type { Setting } from './setting.ts'

const fn = z.custom((value) => typeof value === 'function', 'expected a function')

const NAME = /^[a-z][a-z0-9-]*$/
const NAME_HINT = 'expected small letters, digits and -'

/** What can be seen of a setting without calling it. */
const settingSchema = z.strictObject({
  name: z.string().regex(NAME, NAME_HINT),
  summary: z.string(),
  config: fn.optional(),
  check: fn.optional(),
  open: fn,
  acting: z
    .discriminatedUnion('kind', [
      z.strictObject({
        kind: z.literal('choices'),
        view: fn.optional(),
        words: fn.optional(),
        prompts: z.strictObject({ numbered: z.string(), free: z.string() }).optional(),
      }),
      z.strictObject({
        kind: z.literal('texts'),
        prompt: z.string().optional(),
        tools: z
          .array(
            z.strictObject({
              name: z.string().min(1),
              description: z.string(),
              parameters: z.record(z.string(), z.unknown()),
            }),
          )
          .optional(),
        invalid: fn.optional(),
        tested: fn.optional(),
        scripted: fn.optional(),
        lessons: z.strictObject({ version: z.int(), words: fn, demonstrate: fn }).optional(),
      }),
    ])
    .optional(),
  judging: z
    .discriminatedUnion('by', [
      z.strictObject({
        by: z.literal('steps'),
        causes: z.strictObject({
          praises: z.record(z.string(), z.string()),
          complaints: z.record(z.string(), z.string()),
          wordFor: fn,
        }),
        prompt: z.string().optional(),
      }),
      z.strictObject({
        by: z.literal('tests'),
        prompt: z.string(),
        describe: fn,
        form: fn.optional(),
        read: fn,
        isNovel: fn.optional(),
        run: fn,
        scripted: fn.optional(),
        lessons: z.strictObject({ version: z.int(), question: fn, tests: fn, demonstrate: fn }).optional(),
      }),
    ])
    .optional(),
  rewriting: z
    .strictObject({
      rewrite: fn,
      validate: fn,
      language: z
        .strictObject({
          prompts: z.strictObject({ rewrite: z.string(), failure: z.string().nullable() }),
          brief: fn,
          read: fn,
        })
        .optional(),
    })
    .optional(),
  pictures: z.strictObject({ picture: fn, seeing: fn }).optional(),
  executing: z.strictObject({ processes: fn, open: fn }).optional(),
  expert: fn.optional(),
  progress: fn.optional(),
  runtime: fn.optional(),
  doctor: fn.optional(),
  commands: z
    .record(
      z.string().regex(NAME, NAME_HINT),
      z.strictObject({
        help: z.string(),
        options: z.record(z.string(), z.looseObject({ type: z.enum(['string', 'boolean']) })).optional(),
        positionals: z.literal(true).optional(),
        run: fn,
      }),
    )
    .optional(),
})

const environmentSchema = z.looseObject({
  tasks: fn,
  reset: fn,
  settle: fn.optional(),
  close: fn.optional(),
})

const json = z.json()
const taskSchema = z.strictObject({
  id: z.string().min(1).max(256),
  environment: z.string(),
  kind: z.string().min(1).max(256),
  goal: z.string(),
  recipe: z.record(z.string(), json),
})

const episodeSchema = z.looseObject({
  turn: z.looseObject({
    observation: z.string(),
    admissible: z.array(z.string()),
    done: z.boolean(),
    ended: z.enum(['goal', 'step-limit', 'gave-up']).nullable(),
  }),
  steps: z.int().nonnegative(),
  step: fn,
  outcome: fn,
})

const proposalSchema = z.looseObject({ task: taskSchema })
const refusalSchema = z.looseObject({ refused: z.string() })

/** @param found what the module `file` exports as `setting`. Error: `setting.broken`. */
export function userSetting(found: unknown, file: string, digest?: string): Setting {
  check(settingSchema, found, `${file}: setting`)
  const setting = found as Setting
  const open = async (...given: Parameters<Setting['open']>): Promise<Environment> => {
    const [config, section] = given
    const environment = await opened(setting.open(...given), config, file)
    check(environmentSchema, environment, `${file}: open()`)
    // Whoever acts by places on a screen needs no list.
    const listed = setting.acting?.kind === 'choices' && !setting.pictures?.seeing(section)
    return checkedEnvironment(setting.name, environment, { file, listed })
  }
  return { ...flattened(setting), open, digest, ...checkedParts(setting, file) }
}

/** Whoever starts a run waits for it, and sees nothing meanwhile. */
function opened(environment: Environment | Promise<Environment>, config: Config, file: string) {
  const { loadTasksSeconds } = config.run.deadlines
  const late = () =>
    new RlError(`${file}: open() has given no environment within ${loadTasksSeconds} s`, {
      code: 'setting.broken',
      hint: 'run.deadlines.loadTasksSeconds says how long it may take',
    })
  return within(environment, loadTasksSeconds * 1000, late)
}

/** By the checked episode, what the environment itself gave. */
const own = new WeakMap<Episode, Episode>()

/** A part that is asked about an episode gets the one that its environment made, and what it tells is checked. */
function checkedParts(setting: Setting, file: string): Partial<Setting> {
  const { acting, pictures, rewriting } = setting
  const parts: { -readonly [P in keyof Setting]?: Setting[P] } = {}
  if (acting?.kind === 'texts' && acting.tested)
    parts.acting = { ...flattened(acting), tested: (episode) => acting.tested!(own.get(episode) ?? episode) }
  if (pictures)
    parts.pictures = {
      seeing: (section) => pictures.seeing(section),
      picture: (environment, episode) => pictures.picture(environment, own.get(episode) ?? episode),
    }
  if (rewriting)
    parts.rewriting = {
      ...flattened(rewriting),
      async rewrite(environment, request) {
        const rewrite = await rewriting.rewrite(environment, request)
        const schema = 'refused' in Object(rewrite) ? refusalSchema : proposalSchema
        check(schema, rewrite, `${file}: rewriting.rewrite()`)
        return rewrite
      },
    }
  if (setting.progress)
    parts.progress = async (environment, task, seed, actions) => {
      const told = (await setting.progress?.(environment, task, seed, actions)) ?? null
      const isWhole = told === null || (told.length === actions.length && told.every(Number.isFinite))
      if (isWhole) return told
      throw broken(`${file}: progress(): expected null or ${actions.length} finite numbers, one an action`)
    }
  return parts
}

type Checking = {
  readonly file: string
  /** Who acts is given a list of what may be done, so there must be something on it. */
  readonly listed: boolean
}

/**
 * The environment itself, but for what it gives of tasks and episodes: parts of the setting get what they know. It is asked by its own
 * name, and nothing inherits from it: private fields of a class are there for its own objects alone.
 */
function checkedEnvironment(name: string, environment: Environment, { file, listed }: Checking): Environment {
  /** @param left steps that it may still take: nobody could end one that goes on for ever */
  function checkedEpisode(episode: Episode, where: string, left: number): Episode {
    check(episodeSchema, episode, where)
    const { task, turn, steps } = episode
    if (!turn.done && left <= 0)
      throw broken(`${where}.turn.done: goes on after as many steps as maxSteps says`)
    if (!turn.done && listed && turn.admissible.length === 0)
      throw broken(`${where}.turn.admissible: nothing is admissible, and the episode is not over`)
    const checked: Episode = {
      ...{ task, turn, steps },
      step(action) {
        const next = episode.step(action)
        const after = `${file}: step('${action.slice(0, 40)}')`
        return next instanceof Promise
          ? next.then((one) => checkedEpisode(one, after, left - 1))
          : checkedEpisode(next, after, left - 1)
      },
      outcome() {
        const value = episode.outcome()
        check(z.number().min(0).max(1), value, `${file}: outcome()`)
        return value
      },
    }
    own.set(checked, episode)
    return checked
  }

  const checked: Environment = {
    async tasks(split) {
      const tasks = await environment.tasks(split)
      const where = `${file}: tasks('${split}')`
      check(z.array(z.unknown()), tasks, where)
      const ids = new Set<string>()
      for (const [index, task] of tasks.entries()) {
        check(taskSchema, task, `${where}[${index}]`)
        const wrong =
          task.environment !== name
            ? `environment: '${task.environment}' is not the setting's name ('${name}')`
            : ids.has(task.id)
              ? `id: '${task.id}' stands twice`
              : null
        if (wrong !== null) throw broken(`${where}[${index}].${wrong}`)
        ids.add(task.id)
      }
      return tasks
    },
    async reset(task, options) {
      // One without any step to take may be asked for what is there at its start.
      const left = Math.max(1, options.maxSteps)
      return checkedEpisode(await environment.reset(task, options), `${file}: reset()`, left)
    },
    ...(environment.settle
      ? {
          settle: async (episode: Episode) =>
            checkedEpisode(
              await environment.settle!(own.get(episode) ?? episode),
              `${file}: settle()`,
              Number.POSITIVE_INFINITY,
            ),
        }
      : {}),
  }
  return new Proxy(checked, {
    get(ours, key) {
      if (key in ours) return Reflect.get(ours, key)
      const value: unknown = Reflect.get(environment, key)
      return typeof value === 'function' ? value.bind(environment) : value
    },
    getPrototypeOf: () => Reflect.getPrototypeOf(environment),
    has: (ours, key) => key in ours || key in environment,
    set: (_, key, value) => Reflect.set(environment, key, value),
  })
}

/** A rewritten task must be as those of a split. Error: `setting.broken`. */
export function checkTask(task: Task, where: string): void {
  check(taskSchema, task, where)
}

function check(schema: z.ZodType, value: unknown, where: string): void {
  const parsed = schema.safeParse(value)
  if (parsed.success) return
  const [{ path, message }] = parsed.error.issues
  const field = path.map((key) => (typeof key === 'number' ? `[${key}]` : `.${String(key)}`)).join('')
  throw broken(`${where}${field}: ${message}`)
}

function broken(message: string): RlError {
  return new RlError(message, {
    code: 'setting.broken',
    hint: 'docs/environments.md says what an environment gives; testEnvironment of rlanything/testing tries all of it',
  })
}
