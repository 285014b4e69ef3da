/**
 * Parts of a setting whose actions are texts, e.g. programs. The reward model writes tests that are run on
 * the texts.
 */
import type { ToolSpec } from '../models/port.ts'
import type { Seed } from '../random.ts'
import type { Environment, Episode, Task } from './port.ts'

/** Input of a test, and the output that must follow. */
export type TestCase = { readonly input: string; readonly output: string }

export type ParsedTest = { readonly test: TestCase } | { readonly reason: string }

/** Result of one action at one test. */
export type TestRun = {
  readonly passed: boolean
  /** The fault on one line. Empty if the test passed. */
  readonly fault: string
}

/** Results of an action at its task's own tests: which it passes, and how each run ended. */
export type Tested = {
  readonly passed: readonly boolean[]
  readonly verdicts: readonly string[]
  /** Indexes of tests that were run twice and ended differently. The other fields are about the first run. */
  readonly flaky?: readonly number[]
}

/** The action of a turn is the whole answer of a model. */
export interface Texts<E extends Environment = Environment> {
  readonly kind: 'texts'
  /**
   * Prompt file for models that read prompts. Placeholders are goal, history and problem (the first
   * observation). If absent, the one for any setting is used.
   */
  readonly prompt?: string
  /**
   * Tools that a model may call. The model is asked by a chat that has calls and their results as messages. Those of an episode
   * count if it has some. The list is empty if each episode brings its own.
   */
  readonly tools?: readonly ToolSpec[]
  /**
   * Returns the reason why an answer has nothing to act by, so that such answers are counted, or null. It is
   * an action all the same.
   */
  invalid?(answer: string): string | null
  /** Returns the test results of a settled episode. Returns null if no test was run. */
  tested?(episode: Episode): Tested | null
  /** Stands in for a model (provider `simulated`). The answer is right with probability `skill`. */
  scripted?(environment: E, task: Task, skill: number, seed: Seed): Promise<string>
  /** Lessons for a small model that is trained from scratch. If absent, only models that read prompts act. */
  readonly lessons?: Lessons<E>
}

/** Demonstrations for a small model before it learns by reward. It reads the question alone. */
export interface Lessons<E extends Environment = Environment> {
  /** Raise it if the same task and seed give another demonstration. */
  readonly version: number
  /** Returns texts whose words the tokenizer knows. */
  words(environment: E): readonly string[]
  /** Resolves to a question and an answer that is wrong with probability `noise`. */
  demonstrate(environment: E, task: Task, noise: number, seed: Seed): Promise<Demonstration>
}

export type Demonstration = { readonly question: string; readonly answer: string }

/** The reward model writes tests. Each test is a vote on the action of every rollout of a task. */
export interface TestJudging<E extends Environment = Environment> {
  readonly by: 'tests'
  /** Prompt file for models that read prompts. Placeholders are problem and form. */
  readonly prompt: string
  /** Resolves to the task in words, for the writer of a test. */
  describe(environment: E, task: Task): Promise<string>
  /**
   * Resolves to the form of a test of the task, for models that read prompts. If absent, the prompt itself
   * says it.
   */
  form?(environment: E, task: Task): Promise<string>
  /** Returns the test in a model's answer. */
  read(environment: E, answer: string, task: Task): ParsedTest | Promise<ParsedTest>
  /** Whether the test's input differs from all inputs that the task shows. If absent, this is not known. */
  isNovel?(environment: E, task: Task, test: TestCase): Promise<boolean>
  /** Resolves to results by [action][test]. Rejects if the infrastructure failed. Then no result counts. */
  run(
    environment: E,
    task: Task,
    actions: readonly string[],
    tests: readonly TestCase[],
  ): Promise<readonly (readonly TestRun[])[]>
  /** Stands in for a model (provider `simulated`). The test is right with probability `skill`. */
  scripted?(environment: E, task: Task, skill: number, seed: Seed): Promise<string>
  readonly lessons?: TestLessons<E>
}

/** Lessons for a small writer of tests. It begins with the weights of a small policy. */
export interface TestLessons<E extends Environment = Environment> {
  readonly version: number
  /** Resolves to the text of a task that the writer reads. */
  question(environment: E, task: Task): Promise<string>
  /** Resolves to tests of a task. The writer first learns to copy tokens such as theirs, then imitates. */
  tests(environment: E, task: Task): Promise<readonly TestCase[]>
  demonstrate(environment: E, task: Task, noise: number, seed: Seed): Promise<Demonstration>
}

/** Results in the log of the actions that were tried on a task. */
export type Evidence = {
  /** Results of the actions on each test. Absent if no test was run. */
  readonly tested?: {
    /** [tests of the task] share of the actions that pass the test. */
    readonly own: readonly number[]
    /** Tests of the reward model, which may be wrong. */
    readonly written: readonly (TestCase & { readonly share: number })[]
  }
  /** First task of the slot, if it is not the task itself. */
  readonly root?: Task
}
