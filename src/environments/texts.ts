/** Parts of a setting whose actions are texts, e.g. programs, and whose reward model writes tests that are run on them. */
import type { ToolSpec } from '../models/port.ts'
import type { Seed } from '../random.ts'
import type { Environment, Episode, Task } from './port.ts'

/** What is given, and what must come of it. */
export type TestCase = { readonly input: string; readonly output: string }

export type ParsedTest = { readonly test: TestCase } | { readonly reason: string }

/** What became of one action at one test. */
export type TestRun = {
  readonly passed: boolean
  /** What it did wrong, in one line; empty where it passed. */
  readonly fault: string
}

/** Which of its task's own tests an action passes, and how each run ended. */
export type Tested = {
  readonly passed: readonly boolean[]
  readonly verdicts: readonly string[]
  /** Places of the tests that were run twice and ended otherwise; what is told here is the first run. */
  readonly flaky?: readonly number[]
}

/** The action of a turn is a model's answer as it is. */
export interface Texts<E extends Environment = Environment> {
  readonly kind: 'texts'
  /** Prompt file for models that read prompts, with placeholders goal, history, problem (the first observation); absent: one for any setting. */
  readonly prompt?: string
  /** What a model may call: it is asked by a chat in which calls and their results are messages. */
  readonly tools?: readonly ToolSpec[]
  /** Why an answer holds nothing to act by, so that such answers are counted; null where it does. It is an action all the same. */
  invalid?(answer: string): string | null
  /** Of a settled episode, where its outcome is found by tests; null where none was run. */
  tested?(episode: Episode): Tested | null
  /** Stands in for a model (provider `simulated`): an answer that is right with probability `skill`. */
  scripted?(environment: E, task: Task, skill: number, seed: Seed): Promise<string>
  /** For a small model that is trained from scratch. Without them only models that read prompts act. */
  readonly lessons?: Lessons<E>
}

/** What a small model imitates before it learns by reward. It reads the question alone. */
export interface Lessons<E extends Environment = Environment> {
  /** Raised when the same task and seed give another demonstration. */
  readonly version: number
  /** Texts whose words its tokenizer knows. */
  words(environment: E): readonly string[]
  /** A question and an answer that is wrong with probability `noise`. */
  demonstrate(environment: E, task: Task, noise: number, seed: Seed): Promise<Demonstration>
}

export type Demonstration = { readonly question: string; readonly answer: string }

/** The reward model writes tests, and each is a vote on the action of every rollout of a task. */
export interface TestJudging<E extends Environment = Environment> {
  readonly by: 'tests'
  /** Prompt file for models that read prompts; placeholders problem, form. */
  readonly prompt: string
  /** The task in words, for whoever writes a test. */
  describe(environment: E, task: Task): Promise<string>
  /** What a test of the task is made of, for who reads prompts (form); absent: the prompt itself says it. */
  form?(environment: E, task: Task): Promise<string>
  /** The test in a model's answer. */
  read(environment: E, answer: string, task: Task): ParsedTest | Promise<ParsedTest>
  /** Whether the test's input is none that the task shows; absent: nobody knows. */
  isNovel?(environment: E, task: Task, test: TestCase): Promise<boolean>
  /** [actions][tests]. Rejects where the infrastructure failed: then nothing counts. */
  run(
    environment: E,
    task: Task,
    actions: readonly string[],
    tests: readonly TestCase[],
  ): Promise<readonly (readonly TestRun[])[]>
  /** Stands in for a model (provider `simulated`): a test that is right with probability `skill`. */
  scripted?(environment: E, task: Task, skill: number, seed: Seed): Promise<string>
  readonly lessons?: TestLessons<E>
}

/** What a small writer of tests learns from, once it has the weights of a small policy. */
export interface TestLessons<E extends Environment = Environment> {
  readonly version: number
  /** What it reads of a task. */
  question(environment: E, task: Task): Promise<string>
  /** Tests of a task: it learns to copy tokens such as theirs before it imitates any. */
  tests(environment: E, task: Task): Promise<readonly TestCase[]>
  demonstrate(environment: E, task: Task, noise: number, seed: Seed): Promise<Demonstration>
}

/** What the log says of the actions that a task was tried with. */
export type Evidence = {
  /** How they did on each test; absent where none was run. */
  readonly tested?: {
    /** [tests of the task] share of the actions that pass it. */
    readonly own: readonly number[]
    /** Tests that the reward model wrote, which may be wrong. */
    readonly written: readonly (TestCase & { readonly share: number })[]
  }
  /** What the slot held first, where that is not the task itself. */
  readonly root?: Task
}
