/** Answer of the page that shows the programs of a problem against its tests. */
import type { Cell } from './answers.ts'

export type Program = {
  readonly cell: Cell
  /** Text of its last action. Null if the rollout has not ended. */
  readonly text: string | null
  /** [own tests of the problem] How each run ended. */
  readonly own: readonly { readonly verdict: string; readonly passed: boolean; readonly flaky: boolean }[]
  /** Whether it passes all of the problem's own tests. Null if it was not run. */
  readonly right: boolean | null
  /** [tests] 1 passed, -1 failed, 0 undecided, null not judged. */
  readonly votes: readonly (number | null)[]
  /** [tests] What the judge says of each. */
  readonly notes: readonly string[]
  readonly passed: number
  readonly position: number | null
}

export type WrittenTest = {
  readonly index: number
  readonly text: string
  readonly input: string | null
  readonly output: string | null
  readonly novel: boolean | null
  readonly invalid: string | null
  readonly version: number
  readonly position: number
  /** Number of right programs that pass it, and of wrong ones that fail it. */
  readonly rightPass: number
  readonly wrongFail: number
}

export type ProblemPage = {
  readonly iteration: number
  readonly slot: string
  readonly task: string
  readonly purpose: string
  readonly split: string
  readonly goal: string | null
  readonly problem: string | null
  readonly programs: readonly Program[]
  readonly tests: readonly WrittenTest[]
  /** Place of the program that passes most valid tests, the first of equals. Null if none passes any. */
  readonly best: number | null
  readonly right: number
  readonly wrong: number
}
