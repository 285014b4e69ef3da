/** Guards how a user's setting words a policy's choices, or reads its texts. */
import { z } from 'zod'
import { brief, callNow, shape } from '../user-code.ts'
import { flattened } from '../user-module.ts'
import type { Environment } from './port.ts'
import type { CompactView, Setting } from './setting.ts'
import { type Ask, demonstration, reason, string } from './user-ask.ts'
import { fn } from './user-checks.ts'
import { callOf, type Theirs } from './user-environment.ts'

const view = z.looseObject({ intro: fn, observation: fn, command: fn })
const tested = z
  .looseObject({
    passed: z.array(z.boolean()),
    verdicts: z.array(z.string()),
    flaky: z.array(z.int().nonnegative()).optional(),
  })
  .nullable()

export function guardedActing(
  acting: NonNullable<Setting['acting']>,
  ask: Ask,
  theirs: Theirs,
): Setting['acting'] {
  return acting.kind === 'choices' ? choosing(ask, theirs, acting) : writing(ask, acting)
}

function choosing(
  ask: Ask,
  theirs: Theirs,
  acting: Extract<Setting['acting'], { kind: 'choices' }>,
): Setting['acting'] {
  const own = flattened(acting)
  return {
    ...own,
    ...(own.view ? { view: (environment) => viewOf(ask, theirs, own.view!, environment) } : {}),
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

function viewOf(
  ask: Ask,
  theirs: Theirs,
  asked: (environment: Environment) => CompactView,
  environment: Environment,
): CompactView {
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

function writing(ask: Ask, acting: Extract<Setting['acting'], { kind: 'texts' }>): Setting['acting'] {
  const own = flattened(acting)
  const lessons = own.lessons && flattened(own.lessons)
  return {
    ...own,
    ...(own.invalid ? { invalid: ask(own.invalid, 'acting.invalid', { atOnce: true, check: reason }) } : {}),
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
