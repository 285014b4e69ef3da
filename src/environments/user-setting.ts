/**
 * A user's setting, checked when its module is loaded and whenever its environment gives a value. A mistake
 * names the file and the field, e.g. `mine.ts: tasks('train')[3].goal: expected string`.
 */
import { z } from 'zod'
import { callWithin, nonsense, shape } from '../user-code.ts'
import { flattened } from '../user-module.ts'
import type { Environment, Task } from './port.ts'
import type { Setting } from './setting.ts'
import { commandName, settingName } from './setting-name.ts'
import { fn, taskSchema, toolsSchema } from './user-checks.ts'
import { callOf, checkedEnvironment, loadLimit } from './user-environment.ts'
import { guardedParts } from './user-setting-parts.ts'

/** The properties of a setting that can be checked without a call. */
const settingSchema = z.strictObject({
  name: settingName,
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
        tools: toolsSchema.optional(),
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
      follows: z.array(z.enum(['anyType', 'choice'])).optional(),
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
  taskTypes: z.array(z.string().min(1)).min(1).optional(),
  domainRandomization: z.literal(true).optional(),
  expert: fn.optional(),
  roles: z.literal(true).optional(),
  reference: fn.optional(),
  progress: fn.optional(),
  falls: fn.optional(),
  oracle: fn.optional(),
  remaining: fn.optional(),
  astray: fn.optional(),
  runtime: fn.optional(),
  userParts: fn.optional(),
  simulated: z.literal(true).optional(),
  doctor: fn.optional(),
  commands: z
    .record(
      commandName,
      z.strictObject({
        help: z.string(),
        options: z.record(z.string(), z.looseObject({ type: z.enum(['string', 'boolean']) })).optional(),
        positionals: z.literal(true).optional(),
        serves: z.literal(true).optional(),
        run: fn,
      }),
    )
    .optional(),
})

/** Checks what a module or package exports as its setting. Calls nothing of it. */
export const settingCheck = shape(settingSchema)

const environmentCheck = shape(
  z.looseObject({
    tasks: fn,
    reset: fn,
    settle: fn.optional(),
    release: fn.optional(),
    deterministic: z.boolean().optional(),
    close: fn.optional(),
  }),
)

/**
 * Returns a user's setting with checks around it.
 *
 * @param found export `setting` of the module `file`
 * @throws RlError `setting.broken`
 */
export function userSetting(found: unknown, file: string, digest?: string): Setting {
  const theirs = { file }
  const wrong = settingCheck(found)
  if (wrong !== null) throw nonsense(callOf(theirs, 'setting'), wrong)
  const setting = found as Setting
  const open = async (...given: Parameters<Setting['open']>): Promise<Environment> => {
    const [config, section] = given
    const { deadlines } = config.run
    const opening = () => setting.open(...given)
    const environment = await callWithin(
      callOf(theirs, 'open()'),
      loadLimit(deadlines),
      opening,
      environmentCheck,
    )
    // An agent that acts by places on a screen needs no list.
    const listed = setting.acting?.kind === 'choices' && !setting.pictures?.seeing(section)
    return checkedEnvironment(environment, { theirs, name: setting.name, listed, deadlines })
  }
  return { ...flattened(setting), ...guardedParts(setting, theirs), open, digest }
}

const taskCheck = shape(taskSchema)

/**
 * Checks a rewritten task by the rules for tasks of a split.
 * @throws RlError `setting.broken`
 */
export function checkTask(task: Task, where: string): void {
  const wrong = taskCheck(task)
  if (wrong !== null) throw nonsense(callOf({ file: where }, 'task'), wrong)
}
