/**
 * Judging by tests. The reward model writes tests for a task. The action of every rollout of the task's group is run on
 * all of them. A passed test is a vote for the action, and a failed test a vote against it. An unreadable test is no
 * vote.
 */

import type { Task } from '../../environments/port.ts'
import {
  type OpenSetting,
  type ParsedTest,
  partOf,
  type Setting,
  type TestJudging,
  type TestRun,
} from '../../environments/setting.ts'
import { RlError } from '../../errors.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import { float32Column, int32Column } from '../../events/columns.ts'
import type { LogClient } from '../../events/log-client.ts'
import { itemAt } from '../../item-at.ts'
import type { Generation } from '../../models/port.ts'
import { type Seed, seedOf } from '../../random.ts'
import type { JudgeRollouts } from '../decider/jobs.ts'
import type { Judge } from '../learner/ports.ts'
import { reasoningText } from '../learner/reasoning.ts'
import { openTaskBook, trajectoryBook } from '../rollout/log-queries.ts'

type Judgement = EventData<'StepScored'>['judgements'][number]

/**
 * A test that a reward model wrote. Tokens are null if they are unknown. Prompt tokens are absent if the task
 * determines them.
 */
export type WrittenTest = Pick<Generation, 'text' | 'tokens' | 'logprobs' | 'reasoning'> & {
  readonly promptTokens?: Int32Array | null
}

/** Writes one test for each seed. */
export type WriteTests = (
  task: Task,
  version: number,
  seeds: readonly Seed[],
  signal: AbortSignal,
) => Promise<readonly WrittenTest[]>

type TestWriting = {
  readonly write: WriteTests
  /** Number of tests that are written for a task (`rewardModel.samples`). */
  readonly samples: number
  /** Seed of the run. */
  readonly seed: number
  /** SHA-256 of the prompt, if one asks for tests. */
  readonly promptSha256?: string
}

/** Judges by UnitTestWritten for each test, then StepScored for each rollout. Throws if one could not be run: then nothing counts. */
export function unitTestJudge(
  { setting, environment }: OpenSetting,
  log: LogClient,
  { write, samples, seed, promptSha256 }: TestWriting,
): Judge['judge'] {
  const judging = testJudgingOf(setting)
  const tasks = openTaskBook(log)
  const trajectories = trajectoryBook(log)
  const prompt = promptSha256 === undefined ? {} : { promptSha256 }

  /** Returns the seeds of tests. They are the same in each evaluation, as its rollouts' seeds are. */
  function seedsOf({ iteration, slot }: JudgeRollouts, isEvaluation: boolean): Seed[] {
    return Array.from({ length: samples }, (_, index) =>
      isEvaluation
        ? seedOf(seed, 'unit-test-evaluation', slot, index)
        : seedOf(seed, 'unit-test', iteration, slot, index),
    )
  }

  /** [actions][tests]; null for a test that is none. */
  async function runsOf(
    task: Task,
    actions: readonly string[],
    parsed: readonly ParsedTest[],
  ): Promise<(TestRun | null)[][]> {
    const runnable = parsed.flatMap((test) => ('test' in test ? test.test : []))
    const runs = await judging.run(environment, task, actions, runnable)
    return runs.map((row) => {
      const queue = row.values()
      return parsed.map((test) => ('test' in test ? (queue.next().value ?? null) : null))
    })
  }

  return async (job, { signal }) => {
    const startedMs = performance.now()
    const { iteration, slot, rewardModelVersion } = job
    const task = await tasks.find(job.task)
    const judged = await trajectories.find(
      iteration,
      job.rollouts.filter(({ steps }) => steps > 0).map(({ rollout }) => rollout),
    )
    const { purpose } = itemAt(judged, 0)
    const written = await write(task, rewardModelVersion, seedsOf(job, purpose === 'evaluation'), signal)
    const parsed = await Promise.all(written.map(({ text }) => judging.read(environment, text, task)))
    const novel = await Promise.all(
      parsed.map((one) => ('test' in one ? judging.isNovel?.(environment, task, one.test) : undefined)),
    )
    const runs = await runsOf(
      task,
      judged.map(({ actions }) => itemAt(actions, 0)),
      parsed,
    )
    const timing = { judgeMs: Math.round(performance.now() - startedMs) }
    const tests = written.map(({ text, tokens, logprobs, promptTokens, reasoning }, index): NewEvent => {
      const test = itemAt(parsed, index)
      return {
        type: 'UnitTestWritten',
        data: {
          iteration,
          purpose,
          slot,
          task: task.id,
          index,
          rewardModelVersion,
          text,
          test: 'test' in test ? test.test : null,
          novel: novel[index],
          invalid: 'test' in test ? null : test.reason,
          tokensI32: tokens && logprobs ? int32Column(tokens) : NOTHING,
          logprobsF32: tokens && logprobs ? float32Column(logprobs) : NOTHING,
          ...(tokens && logprobs ? {} : reasoningText({ reasoning })),
          ...(promptTokens ? { promptI32: int32Column(promptTokens) } : {}),
          ...(reasoning ? { reasoningTokens: reasoning.tokens } : {}),
          ...prompt,
        },
      }
    })
    const verdicts = judged.map(
      ({ rollout }, program): NewEvent => ({
        type: 'StepScored',
        data: {
          rollout,
          iteration,
          step: 0,
          task: task.id,
          rewardModelVersion,
          judgements: parsed.map((test, index) => judgementOf(test, itemAt(runs, program)[index] ?? null)),
          probability: null,
          progress: null,
          ...prompt,
          ...(program === 0 ? { timing } : {}),
        },
      }),
    )
    return [...tests, ...verdicts]
  }
}

function judgementOf(parsed: ParsedTest, run: TestRun | null): Judgement {
  if (!('test' in parsed) || run === null)
    return { critique: '', score: 0, tokensI32: NOTHING, logprobsF32: NOTHING }
  const { passed, fault } = run
  return { critique: fault, score: passed ? 1 : -1, tokensI32: NOTHING, logprobsF32: NOTHING }
}

/** The part of a setting whose rollouts are judged by tests. Error: `setting.lacks`. */
export function testJudgingOf(setting: Setting): TestJudging {
  const judging = partOf(setting, 'judging', 'writing tests')
  if (judging.by === 'tests') return judging
  throw new RlError(`the setting '${setting.name}' is not judged by tests`, { code: 'setting.lacks' })
}

const NOTHING = new Uint8Array()
