/** Prompts that would not fit a model's context: rule `oldest-first`. */
import { RlError } from '../../errors.ts'
import type { GenerateRequest, Generation } from '../../models/port.ts'

export type Asked<Answer> = {
  readonly generation: Answer
  /** Earlier steps that were left out of the prompt because they would not have fitted. */
  readonly leftOut: number
}

/** Name of a role's count of prompts that lost steps, for `rl status`. */
export const SHORTENED = 'prompts shortened'

/** Builds the prompt from as many of the latest steps as fit. Uses no step if not even one fits. */
export function madeFitting<T>(
  steps: number,
  make: (shown: number) => T,
  fits: (made: T) => boolean,
): { readonly made: T; readonly leftOut: number } {
  for (let shown = steps; ; shown--) {
    const made = make(shown)
    if (shown === 0 || fits(made)) return { made, leftOut: steps - shown }
  }
}

/**
 * Asks with as many of the latest steps as fit. The oldest steps are left out first, the task and the first observation
 * never. If the model refuses a prompt all the same, it is made shorter and asked again.
 *
 * @param steps number of steps that there are to be shown
 * @throws RlError `model.context` if not even a prompt without earlier steps fits
 * @throws errors of `generate`
 */
export async function askFitting<Request = GenerateRequest, Answer = Generation>(
  steps: number,
  requestOf: (shown: number) => Request,
  {
    fits,
    generate,
  }: {
    readonly fits: (request: Request) => Promise<boolean>
    readonly generate: (request: Request) => Promise<Answer>
  },
): Promise<Asked<Answer>> {
  for (let shown = steps; ; shown--) {
    while (!(await fits(requestOf(shown))) && shown > 0) shown--
    try {
      return { generation: await generate(requestOf(shown)), leftOut: steps - shown }
    } catch (error) {
      if (shown === 0 || !isTooLong(error)) throw error
      shown = Math.ceil(shown * KEPT_AFTER_REFUSAL)
    }
  }
}

/** Whether it is the prompt, which no other attempt makes shorter. */
export function isTooLong(error: unknown): boolean {
  return error instanceof RlError && error.code === 'model.context'
}

/** Name of the count, and reason of a missing answer, if a prompt is too long for the model. */
export const TOO_LONG = 'the prompt is too long'

/** Share of the steps that stay after a refusal. */
const KEPT_AFTER_REFUSAL = 0.75
