/** Actions of a page. Each is an `rl` command on one run. */

import { z } from 'zod'
import { shellWord } from '../../command-line.ts'
import type { UiConfig } from '../../config-schema/sections.ts'
import { RlError } from '../../errors.ts'
import { RUN_ID } from '../../events/envelope.ts'
import { ownValue } from '../../own-value.ts'
import { firstIssue, safeParse } from '../../safe-parse.ts'

export type Action = {
  /** Words behind `rl`. */
  readonly words: readonly string[]
  /** The command as a person types it. */
  readonly command: string
  /** Whether it asks a model, so that only one such runs at a time. */
  readonly asksModel: boolean
  readonly mostSeconds: number
}

type Kind = {
  /** @throws errors of the schema */
  readonly words: (run: string, input: unknown) => readonly string[]
  readonly asksModel?: boolean
  readonly mostSeconds: number
}

const name = z.string().regex(RUN_ID)
const version = z.number().int().min(0)
const count = z.number().int().min(1).max(256)
/** A word that is no flag. */
const word = z
  .string()
  .min(1)
  .max(300)
  .regex(/^[^-\0]/)

function kind<Input>(
  schema: z.ZodType<Input>,
  words: (run: string, input: Input) => readonly (string | number)[],
  rest: Omit<Kind, 'words'>,
): Kind {
  return {
    ...rest,
    words(run, input) {
      const parsed = safeParse(schema, input)
      if (parsed.success) return words(run, parsed.data).map(String)
      const issue = firstIssue(parsed.error)
      throw new RlError(`${issue.path.join('.') || 'the request'}: ${issue.message}`, {
        code: 'ui.bad-action',
        hint: 'reload the page',
      })
    },
  }
}

const QUICK = { mostSeconds: 60 }
const LONG = { asksModel: true, mostSeconds: 30 * 60 }

const KINDS: Readonly<Record<string, Kind>> = {
  pause: kind(z.object({}), (run) => ['pause', run, '--reason', 'a person paused it on its page'], QUICK),
  resume: kind(z.object({}), (run) => ['resume', run], QUICK),
  fork: kind(
    z.object({ at: z.number().int().min(1), as: name.optional(), set: z.array(word).max(20) }),
    (run, { at, as, set }) => [
      ...['fork', run, '--at', at],
      ...(as === undefined ? [] : ['--as', as]),
      ...set.flatMap((change) => ['--set', change]),
    ],
    QUICK,
  ),
  whatif: kind(
    z.object({ rollout: word, step: z.number().int().min(0), policy: version.optional(), n: count }),
    (run, { rollout, step, policy, n }) => [
      ...['whatif', `${run}/${rollout}`, '--from', step, '-n', n],
      ...(policy === undefined ? [] : ['--policy', policy]),
    ],
    LONG,
  ),
  ask: kind(
    z.object({
      rollout: word,
      step: z.number().int().min(0),
      policy: version.optional(),
      n: count.optional(),
    }),
    (run, { rollout, step, policy, n }) => [
      ...['ask', `${run}/${rollout}`, '--step', step],
      ...(policy === undefined ? [] : ['--policy', policy]),
      ...(n === undefined ? [] : ['-n', n]),
    ],
    LONG,
  ),
  'compare-judges': kind(
    z.object({ a: version, b: version, rollouts: count, heldOut: z.boolean() }),
    (run, { a, b, rollouts, heldOut }) => [
      ...['compare-judges', run, '--a', a, '--b', b, '--rollouts', rollouts],
      ...(heldOut ? ['--held-out'] : []),
    ],
    LONG,
  ),
}

/** Whether pages of a run may act on it. */
export function mayAct(ui: UiConfig): boolean {
  return ui?.actions !== false
}

/**
 * Returns the action of a name on a run.
 * @throws RlError `ui.no-action`, `ui.bad-action`
 */
export function actionOf(kind: string, run: string, input: unknown): Action {
  const known = ownValue(KINDS, kind)
  if (known === undefined)
    throw new RlError(`there is no action '${kind.slice(0, 40)}'`, {
      code: 'ui.no-action',
      hint: `they are ${Object.keys(KINDS).join(', ')}`,
    })
  const { asksModel = false, mostSeconds } = known
  const words = known.words(run, input)
  return { words, asksModel, mostSeconds, command: `npm run -s rl -- ${words.map(shellWord).join(' ')}` }
}
