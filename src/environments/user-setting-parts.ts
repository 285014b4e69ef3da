/**
 * Wraps the parts of a user's setting for the loop. Each call has a limit, and its result is checked. An
 * error names the part.
 */
import { z } from 'zod'
import { safeParse } from '../safe-parse.ts'
import { brief, type Check, callNow, shape } from '../user-code.ts'
import { flattened } from '../user-module.ts'
import type { Environment, Turn } from './port.ts'
import type { Expert, Refuse, Seeing, Setting } from './setting.ts'
import { guardedActing } from './user-acting.ts'
import { type Ask, asker, reason, string, words } from './user-ask.ts'
import { fn, kindOf, numbers, taskSchema } from './user-checks.ts'
import { callOf, type Theirs } from './user-environment.ts'
import { guardedJudging } from './user-judging.ts'

const png = z.looseObject({
  bytes: z.custom<Uint8Array>((value) => value instanceof Uint8Array, 'expected the bytes of a PNG'),
  width: z.int().positive(),
  height: z.int().positive(),
})
const seeing = z.looseObject({ prompt: z.string(), invalid: fn, brief: fn }).nullable()
const expert = z.looseObject({ advise: fn, observe: fn })
const proposal = z.looseObject({ task: taskSchema })
const refusal = z.looseObject({ refused: z.string() })
const validation = z.union([
  z.looseObject({ ok: z.literal(true) }),
  z.looseObject({ ok: z.literal(false), reason: z.string() }),
])
const finding = z.looseObject({
  check: z.string(),
  result: z.enum(['ok', 'warn', 'fail']),
  detail: z.string(),
  advice: z.string().nullable(),
})
const userParts = z.array(
  z.looseObject({ kind: z.string(), name: z.string(), version: z.int(), digest: z.string() }),
)
const keys: Check = (value) => {
  if (typeof value !== 'object' || value === null)
    return `: expected an object of keys, and got ${kindOf(value)}`
  for (const [key, schema] of Object.entries(value))
    if (typeof (schema as { readonly safeParse?: unknown } | null)?.safeParse !== 'function')
      return `.${key}: expected a schema of zod, and got ${kindOf(schema)}`
  return null
}

/** Returns all of a setting's parts but `open`, guarded. */
export function guardedParts(setting: Setting, theirs: Theirs): Partial<Setting> {
  const ask = asker(theirs)
  const { acting, judging, rewriting, pictures, executing, commands } = setting
  const parts: { -readonly [P in keyof Setting]?: Setting[P] } = {}
  if (setting.config)
    parts.config = ask(setting.config.bind(setting), 'config', { atOnce: true, check: keys })
  if (setting.check) parts.check = guardedCheck(setting, theirs)
  if (acting) parts.acting = guardedActing(acting, ask, theirs)
  if (pictures)
    parts.pictures = {
      seeing(section) {
        const asked = ask(pictures.seeing.bind(pictures), 'pictures.seeing', {
          atOnce: true,
          check: shape(seeing),
        })
        return guardedSeeing(ask, asked(section))
      },
      picture: ask(pictures.picture.bind(pictures), 'pictures.picture', { check: shape(png) }),
    }
  if (judging) parts.judging = guardedJudging(judging, ask, theirs)
  if (rewriting) {
    const own = flattened(rewriting)
    const rewrite: Check = (value) => shape('refused' in Object(value) ? refusal : proposal)(value)
    parts.rewriting = {
      ...own,
      rewrite: ask(own.rewrite, 'rewriting.rewrite', { check: rewrite }),
      validate: ask(own.validate, 'rewriting.validate', { check: shape(validation) }),
      ...(own.language ? { language: guardedLanguage(ask, own.language, rewrite) } : {}),
    }
  }
  if (executing) {
    const own = flattened(executing)
    const count = shape(z.int().nonnegative().nullable())
    parts.executing = {
      processes: ask(own.processes, 'executing.processes', { atOnce: true, check: count }),
      open: ask(own.open, 'executing.open', { check: shape(z.looseObject({ perform: fn, close: fn })) }),
    }
  }
  if (setting.expert) parts.expert = guardedExpert(ask, theirs, 'expert', setting.expert.bind(setting))
  for (const part of ['progress', 'falls', 'oracle', 'remaining'] as const) {
    const measure = setting[part]?.bind(setting)
    const more = part === 'remaining' ? 1 : 0
    if (measure)
      parts[part] = async (environment, task, seed, actions) =>
        (await ask(measure, part, { check: progressCheck(actions.length + more) })(
          environment,
          task,
          seed,
          actions,
        )) ?? null
  }
  if (setting.astray) parts.astray = guardedExpert(ask, theirs, 'astray', setting.astray.bind(setting))
  if (setting.reference)
    parts.reference = ask(setting.reference.bind(setting), 'reference', {
      check: shape(z.string().nullable()),
    })
  if (setting.runtime) parts.runtime = ask(setting.runtime.bind(setting), 'runtime', { check: string })
  if (setting.userParts) {
    const check = shape(userParts)
    parts.userParts = ask(setting.userParts.bind(setting), 'userParts', { check, isLong: true })
  }
  if (setting.doctor) parts.doctor = ask(setting.doctor.bind(setting), 'doctor', { check: shape(finding) })
  if (commands)
    parts.commands = Object.fromEntries(
      Object.entries(commands).map(([name, command]) => {
        const own = flattened(command)
        return [name, { ...own, run: ask(own.run, `commands.${name}.run`) }]
      }),
    )
  return parts
}

function guardedLanguage(
  ask: Ask,
  asked: NonNullable<NonNullable<Setting['rewriting']>['language']>,
  rewrite: Check,
): NonNullable<NonNullable<Setting['rewriting']>['language']> {
  const own = flattened(asked)
  return {
    ...own,
    brief: ask(own.brief, 'rewriting.language.brief', { check: shape(z.record(z.string(), words)) }),
    read: ask(own.read, 'rewriting.language.read', { check: rewrite }),
  }
}

function guardedSeeing(ask: Ask, made: Seeing | null): Seeing | null {
  if (made === null) return null
  return {
    prompt: made.prompt,
    invalid: ask(made.invalid.bind(made), 'pictures.seeing().invalid', { atOnce: true, check: reason }),
    brief: ask(made.brief.bind(made), 'pictures.seeing().brief', { atOnce: true, check: string }),
  }
}

function guardedExpert<More extends readonly unknown[]>(
  ask: Ask,
  theirs: Theirs,
  name: 'expert' | 'astray',
  asked: (environment: Environment, first: Turn, ...more: More) => Expert,
): typeof asked {
  return (environment, first, ...more) => {
    const made = ask(asked, name, { atOnce: true, check: shape(expert) })(environment, first, ...more)
    const call = (part: string, { observation }: Turn) =>
      callOf(theirs, `${name}().${part}`, [`at '${brief(observation)}'`])
    return {
      advise(turn) {
        const check: Check = (action) =>
          turn.admissible.includes(action as string) ? null : `: '${action}' is not admissible`
        return callNow(call('advise()', turn), () => made.advise(turn), check)
      },
      observe(action, turn) {
        callNow(call(`observe('${brief(action)}')`, turn), () => made.observe(action, turn))
      },
    }
  }
}

function progressCheck(actions: number): Check {
  return (value) => {
    if (value === null || value === undefined) return null
    const isWhole =
      safeParse(numbers, value).success &&
      (value as ArrayLike<number>).length === actions &&
      Array.from(value as ArrayLike<number>).every(Number.isFinite)
    return isWhole ? null : `: expected null or ${actions} finite numbers`
  }
}

/** A refusal is the answer of the check. Any other error is a fault of the user's code. */
function guardedCheck(setting: Setting, theirs: Theirs): NonNullable<Setting['check']> {
  return (config, refuse, section) => {
    let refused: unknown
    const noting: Refuse = (path, message, hint) => {
      try {
        return refuse(path, message, hint)
      } catch (error) {
        refused = error
        throw error
      }
    }
    callNow(callOf(theirs, 'check()'), () => {
      try {
        return setting.check?.(config, noting, section)
      } catch (error) {
        if (error !== refused) throw error
      }
    })
    if (refused !== undefined) throw refused
  }
}
