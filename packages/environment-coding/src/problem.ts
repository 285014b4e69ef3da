/** A problem and its tests, from any kind of file. */
import type { TestCase } from 'rlanything/environments'
import type { ComparatorSpec } from './compare.ts'
import { DEFAULT_LIMITS, type Limits } from './provider.ts'

/** Text for standard input, and the expected output. */
export type { TestCase }

/**
 * How a test's input reaches the program. By default it is standard input. Otherwise calls are made from
 * outside (function-tests.ts).
 * - `interactive`: a conversation with `interactor` (interaction.ts), which knows the test.
 * - `json`: each line of the input is one argument as JSON, the output is JSON. Tuples count as lists.
 *   `wrapped`: the data do not tell whether the output is the value or a list of one value, so either is
 *   right.
 * - `function`: the input is a Python expression (mostly one call) that must equal the output, or statements
 *   that assert.
 *
 * `prelude` and `setup` are Python that runs before a Python program: the imports of the data set's harness,
 * and a problem's own.
 */
export type Call =
  | { readonly kind: 'stdio'; readonly prelude?: string }
  | { readonly kind: 'interactive'; readonly interactor: string }
  | { readonly kind: 'json'; readonly name: string; readonly prelude: string; readonly wrapped?: true }
  | {
      readonly kind: 'function'
      readonly name: string
      readonly prelude: string
      readonly setup: string
      /** Python that only the code of a test sees, e.g. a reference solution that it compares with. */
      readonly oracle: string
    }

export type CodingProblem = {
  readonly id: string
  readonly question: string
  /** Decide the policy's reward. */
  readonly tests: readonly TestCase[]
  /** Shown to the policy. */
  readonly examples: readonly TestCase[]
  readonly limits: Limits
  readonly comparator: ComparatorSpec
  readonly call: Call
  /** Python programs that are right. */
  readonly solutions: readonly string[]
  readonly split: string | null
}

export const STDIO: Call = { kind: 'stdio' }

/** The limits of a problem with this time limit in seconds. */
export const limitsOf = (seconds: number, memoryMB = DEFAULT_LIMITS.memoryMB): Limits => ({
  ...DEFAULT_LIMITS,
  cpuMs: Math.round(seconds * 1000),
  memoryMB,
})
