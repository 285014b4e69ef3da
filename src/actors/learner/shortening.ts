/** Prompts that would not fit a model's context: rule `oldest-first`. */
import { RlError } from '../../errors.ts'
import type { GenerateRequest, Generation } from '../../models/port.ts'

export type Asked<Answer> = {
  readonly generation: Answer
  /** Earlier steps that were left out of the prompt because they would not have fitted. */
  readonly leftOut: number
}

/** What a role counts, for `rl status`, of prompts that lost steps. */
export const SHORTENED = 'prompts shortened'

/** What is made of as many of the latest steps as fit, where that is known before it is asked; of none where not even one fits. */
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
 * Asks with as many of the latest steps as fit: the oldest are left out first, the task and the first observation never. A
 * prompt that the model refuses all the same is made shorter and asked again.
 * @param steps that there are to be shown
 * @throws RlError `model.context` where not even a prompt without earlier steps fits, and what `generate` throws
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

/** What is counted, and told of an answer that there is not, where a prompt is too long for the model. */
export const TOO_LONG = 'the prompt is too long'

/** Share of the steps that stay after a refusal. */
const KEPT_AFTER_REFUSAL = 0.75
