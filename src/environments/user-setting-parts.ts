/**
 * Wraps the parts of a user's setting for the loop. Each call has a limit, and its result is checked. An
 * error names the part.
 */
import { z } from 'zod'
import { safeParse } from '../safe-parse.ts'
import { brief, type Check, callEither, callNow, callWithin, shape } from '../user-code.ts'
import { flattened } from '../user-module.ts'
import { causeWords } from './causes.ts'
import type { Environment, Episode, Task, Turn } from './port.ts'
import type { CompactView, Refuse, Seeing, Setting } from './setting.ts'
import { fn, kindOf, numbers, taskSchema, text } from './user-checks.ts'
import { aboutTask, callOf, limitOf, ownEpisode, type Theirs } from './user-environment.ts'

/** A function of the user's, with any parameters. */
type Question = (...given: never[]) => unknown

type Asked = {
  /** The value must be there at once: a promise is refused. By default the value may come later. */
  readonly atOnce?: true
  readonly check?: Check
  /** The call does the work of many steps, and has the longer limit. */
  readonly isLong?: true
}

/** Texts that a user's code makes for a prompt or a log. */
const words = text(1_000_000)
const line = text(20_000)
const string = shape(words)
const reason = shape(line.nullable())

const png = z.looseObject({
  bytes: z.custom<Uint8Array>((value) => value instanceof Uint8Array, 'expected the bytes of a PNG'),
  width: z.int().positive(),
  height: z.int().positive(),
})
const seeing = z.looseObject({ prompt: z.string(), invalid: fn, brief: fn }).nullable()
const view = z.looseObject({ intro: fn, observation: fn, command: fn })
const expert = z.looseObject({ advise: fn, observe: fn })
const tested = z
  .looseObject({
    passed: z.array(z.boolean()),
    verdicts: z.array(z.string()),
    flaky: z.array(z.int().nonnegative()).optional(),
  })
  .nullable()
const testCase = z.looseObject({ input: words, output: words })
const parsedTest = z.union([z.looseObject({ test: testCase }), z.looseObject({ reason: line })])
const testRuns = z.array(z.array(z.looseObject({ passed: z.boolean(), fault: line })))
const demonstration = z.looseObject({ question: words, answer: words })
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

/** Names the tasks and episodes among the arguments of a call. */
function about(given: readonly unknown[]): string[] {
  return given.flatMap((one) => {
    const { task, id, recipe, steps } = Object(one) as Partial<Task & Episode>
    if (typeof id === 'string' && recipe !== undefined) return [aboutTask(one as Task)]
    if (typeof task?.id !== 'string') return []
    return [aboutTask(task), ...(typeof steps === 'number' ? [`after ${steps} steps`] : [])]
  })
}

/** Returns all of a setting's parts but `open`, guarded. */
export function guardedParts(setting: Setting, theirs: Theirs): Partial<Setting> {
  /** Guards a function of a user's object. It is called on the same object. */
  function ask<F extends Question>(asked: F, part: string, { atOnce, check, isLong }: Asked = {}): F {
    const put = asked as unknown as (...given: readonly unknown[]) => unknown
    const guarded = (...given: readonly unknown[]) => {
      const call = callOf(theirs, `${part}()`, about(given))
      const work = () => put(...given.map((one) => (isEpisode(one) ? ownEpisode(one) : one)))
      return atOnce ? callNow(call, work, check) : callWithin(call, limitOf(given[0], isLong), work, check)
    }
    return guarded as unknown as F
  }
  const { acting, judging, rewriting, pictures, executing, commands } = setting
  const parts: { -readonly [P in keyof Setting]?: Setting[P] } = {}
  if (setting.config)
    parts.config = ask(setting.config.bind(setting), 'config', { atOnce: true, check: keys })
  if (setting.check) parts.check = guardedCheck(setting, theirs)
  if (acting) parts.acting = acting.kind === 'choices' ? choosing(acting) : writing(acting)
  if (pictures)
    parts.pictures = {
      seeing(section) {
        const asked = ask(pictures.seeing.bind(pictures), 'pictures.seeing', {
          atOnce: true,
          check: shape(seeing),
        })
        return seeingOf(asked(section))
      },
      picture: ask(pictures.picture.bind(pictures), 'pictures.picture', { check: shape(png) }),
    }
  if (judging) parts.judging = judging.by === 'steps' ? stepJudging(judging) : testJudging(judging)
  if (rewriting) {
    const own = flattened(rewriting)
    const rewrite: Check = (value) => shape('refused' in Object(value) ? refusal : proposal)(value)
    parts.rewriting = {
      ...own,
      rewrite: ask(own.rewrite, 'rewriting.rewrite', { check: rewrite }),
      validate: ask(own.validate, 'rewriting.validate', { check: shape(validation) }),
      ...(own.language ? { language: language(own.language, rewrite) } : {}),
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
  if (setting.expert) parts.expert = guardedExpert(setting.expert.bind(setting))
  if (setting.progress) {
    const progress = setting.progress.bind(setting)
    parts.progress = async (environment, task, seed, actions) =>
      (await ask(progress, 'progress', { check: progressCheck(actions.length) })(
        environment,
        task,
        seed,
        actions,
      )) ?? null
  }
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

  function choosing(acting: Extract<Setting['acting'], { kind: 'choices' }>): Setting['acting'] {
    const own = flattened(acting)
    return {
      ...own,
      ...(own.view ? { view: (environment) => viewOf(own.view!, environment) } : {}),
      ...(own.words
        ? {
            words: ask(own.words, 'acting.words', {
              atOnce: true,
              check: shape(z.array(z.string()).optional()),
            }),
          }
        : {}),
    }
  }

  function viewOf(asked: (environment: Environment) => CompactView, environment: Environment): CompactView {
    const made = ask(asked, 'acting.view', { atOnce: true, check: shape(view) })(environment)
    const part = <P extends keyof CompactView>(name: P): CompactView[P] => {
      const show = made[name].bind(made) as (...texts: string[]) => string
      return ((...texts: string[]) =>
        callNow(
          callOf(theirs, `acting.view().${name}('${brief(texts.at(-1) ?? '')}')`),
          () => show(...texts),
          string,
        )) as CompactView[P]
    }
    return { intro: part('intro'), observation: part('observation'), command: part('command') }
  }

  function writing(acting: Extract<Setting['acting'], { kind: 'texts' }>): Setting['acting'] {
    const own = flattened(acting)
    const lessons = own.lessons && flattened(own.lessons)
    return {
      ...own,
      ...(own.invalid
        ? { invalid: ask(own.invalid, 'acting.invalid', { atOnce: true, check: reason }) }
        : {}),
      ...(own.tested
        ? { tested: ask(own.tested, 'acting.tested', { atOnce: true, check: shape(tested) }) }
        : {}),
      ...(own.scripted ? { scripted: ask(own.scripted, 'acting.scripted', { check: string }) } : {}),
      ...(lessons
        ? {
            lessons: {
              ...lessons,
              words: ask(lessons.words, 'acting.lessons.words', {
                atOnce: true,
                check: shape(z.array(z.string())),
              }),
              demonstrate: ask(lessons.demonstrate, 'acting.lessons.demonstrate', {
                check: shape(demonstration),
              }),
            },
          }
        : {}),
    }
  }

  function stepJudging(judging: Extract<Setting['judging'], { by: 'steps' }>): Setting['judging'] {
    const { causes } = judging
    const known = new Set(causeWords(causes))
    const check: Check = (word) =>
      known.has(word as string) ? null : `: ${kindOf(word)} '${word}' is none of ${[...known].join(', ')}`
    const wordFor = ask(causes.wordFor.bind(causes), 'judging.causes.wordFor', { atOnce: true, check })
    return { ...flattened(judging), causes: { ...flattened(causes), wordFor } }
  }

  function testJudging(judging: Extract<Setting['judging'], { by: 'tests' }>): Setting['judging'] {
    const own = flattened(judging)
    const lessons = own.lessons && flattened(own.lessons)
    const run = own.run
    return {
      ...own,
      describe: ask(own.describe, 'judging.describe', { check: string }),
      ...(own.form ? { form: ask(own.form, 'judging.form', { check: string }) } : {}),
      read: (environment, answer, task) => {
        const call = callOf(theirs, `judging.read('${brief(answer)}')`, [aboutTask(task)])
        const asked = () => own.read(environment, answer, task)
        return callEither(call, limitOf(environment), asked, shape(parsedTest))
      },
      ...(own.isNovel ? { isNovel: ask(own.isNovel, 'judging.isNovel', { check: shape(z.boolean()) }) } : {}),
      run: (environment, task, actions, tests) =>
        ask(run, 'judging.run', { check: runsCheck(actions.length, tests.length), isLong: true })(
          environment,
          task,
          actions,
          tests,
        ),
      ...(own.scripted ? { scripted: ask(own.scripted, 'judging.scripted', { check: string }) } : {}),
      ...(lessons
        ? {
            lessons: {
              ...lessons,
              question: ask(lessons.question, 'judging.lessons.question', { check: string }),
              tests: ask(lessons.tests, 'judging.lessons.tests', { check: shape(z.array(testCase)) }),
              demonstrate: ask(lessons.demonstrate, 'judging.lessons.demonstrate', {
                check: shape(demonstration),
              }),
            },
          }
        : {}),
    }
  }

  function language(
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

  function seeingOf(made: Seeing | null): Seeing | null {
    if (made === null) return null
    return {
      prompt: made.prompt,
      invalid: ask(made.invalid.bind(made), 'pictures.seeing().invalid', { atOnce: true, check: reason }),
      brief: ask(made.brief.bind(made), 'pictures.seeing().brief', { atOnce: true, check: string }),
    }
  }

  function guardedExpert(asked: NonNullable<Setting['expert']>): NonNullable<Setting['expert']> {
    return (environment, first) => {
      const made = ask(asked, 'expert', { atOnce: true, check: shape(expert) })(environment, first)
      const call = (part: string, { observation }: Turn) =>
        callOf(theirs, `expert().${part}`, [`at '${brief(observation)}'`])
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
}

function isEpisode(value: unknown): value is Episode {
  return typeof (value as Partial<Episode> | null | undefined)?.step === 'function'
}

function progressCheck(actions: number): Check {
  return (value) => {
    if (value === null || value === undefined) return null
    const isWhole =
      safeParse(numbers, value).success &&
      (value as ArrayLike<number>).length === actions &&
      Array.from(value as ArrayLike<number>).every(Number.isFinite)
    return isWhole ? null : `: expected null or ${actions} finite numbers, one an action`
  }
}

function runsCheck(actions: number, tests: number): Check {
  const rows = shape(testRuns)
  return (value) => {
    const wrong = rows(value)
    if (wrong !== null) return wrong
    const runs = value as readonly (readonly unknown[])[]
    if (runs.length !== actions) return `: expected ${actions} rows, one an action, and got ${runs.length}`
    const row = runs.findIndex((one) => one.length !== tests)
    return row < 0 ? null : `[${row}]: expected ${tests} runs, one a test, and got ${runs[row].length}`
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
