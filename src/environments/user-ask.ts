/** Guards one function of a user's setting: its call has a limit, its result is checked, and an error names it. */
import { z } from 'zod'
import { type Check, callNow, callWithin, shape } from '../user-code.ts'
import type { LabelledStep } from './causes.ts'
import type { Episode, Task } from './port.ts'
import { text } from './user-checks.ts'
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

/** Returns the function, guarded. `part` names it, e.g. `judging.read`. It must be bound to its object already. */
export type Ask = <F extends Question>(asked: F, part: string, options?: Asked) => F

/** Texts that a user's code makes for a prompt or a log. */
export const words = text(1_000_000)
export const line = text(20_000)
export const string = shape(words)
export const reason = shape(line.nullable())
export const demonstration = z.looseObject({ question: words, answer: words })

export function asker(theirs: Theirs): Ask {
  return function ask<F extends Question>(asked: F, part: string, { atOnce, check, isLong }: Asked = {}): F {
    const put = asked as unknown as (...given: readonly unknown[]) => unknown
    const guarded = (...given: readonly unknown[]) => {
      const call = callOf(theirs, `${part}()`, about(given))
      const work = () => put(...given.map((one) => (isEpisode(one) ? ownEpisode(one) : one)))
      return atOnce ? callNow(call, work, check) : callWithin(call, limitOf(given[0], isLong), work, check)
    }
    return guarded as unknown as F
  }
}

/** Names the tasks, episodes and labelled steps among the arguments of a call. */
function about(given: readonly unknown[]): string[] {
  return given.flatMap((one) => {
    if (isLabelledStep(one)) return [aboutTask({ id: one.task }), `step ${one.earlier.length + 1}`]
    const { task, id, recipe, steps } = Object(one) as Partial<Task & Episode>
    if (typeof id === 'string' && recipe !== undefined) return [aboutTask(one as Task)]
    if (typeof task?.id !== 'string') return []
    return [aboutTask(task), ...(typeof steps === 'number' ? [`after ${steps} steps`] : [])]
  })
}

function isLabelledStep(value: unknown): value is LabelledStep {
  const { task, earlier } = Object(value) as Partial<LabelledStep>
  return typeof task === 'string' && Array.isArray(earlier)
}

function isEpisode(value: unknown): value is Episode {
  return typeof (value as Partial<Episode> | null | undefined)?.step === 'function'
}
