/**
 * Judging programs: the reward model writes unit tests for a task, and every program of the task's group is run on all of them.
 * A test that a program passes is a vote for it, one that it fails a vote against it, one that cannot be read no vote.
 */
import type { Config } from '../../config.ts'
import type { CodingEnvironment } from '../../environments/coding/environment.ts'
import type { Grade } from '../../environments/coding/grade.ts'
import type { ParsedTest } from '../../environments/coding/parse.ts'
import type { TestCase } from '../../environments/coding/problem.ts'
import type { Task } from '../../environments/port.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import { float32Column, int32Column } from '../../events/columns.ts'
import type { LogClient } from '../../events/log-client.ts'
import { type Seed, seedOf } from '../../random.ts'
import type { Judge } from '../decider/jobs.ts'
import { openTaskBook, trajectoryBook } from '../rollout/log-queries.ts'

type Judgement = EventData<'StepScored'>['judgements'][number]

/** What a reward model wrote; tokens are null where they are unknown. */
export type WrittenTest = {
  readonly text: string
  readonly tokens: Int32Array | null
  readonly logprobs: Float32Array | null
}

/** Writes one test for each seed. */
export type WriteTests = (
  task: Task,
  version: number,
  seeds: readonly Seed[],
  signal: AbortSignal,
) => Promise<readonly WrittenTest[]>

export type UnitTestJudge = {
  /** UnitTestWritten for each test, then StepScored for each program. Throws where no sandbox could run one: then nothing counts. */
  readonly judge: (job: Judge, signal: AbortSignal) => Promise<NewEvent[]>
}

export function unitTestJudge(
  config: Config,
  coding: CodingEnvironment,
  log: LogClient,
  { write, promptSha256 }: { readonly write: WriteTests; readonly promptSha256?: string },
): UnitTestJudge {
  const tasks = openTaskBook(log)
  const trajectories = trajectoryBook(log)
  const prompt = promptSha256 === undefined ? {} : { promptSha256 }

  /** Those of an evaluation are the same in each, as its rollouts' are. */
  function seedsOf({ iteration, slot }: Judge, isEvaluation: boolean): Seed[] {
    const { seed } = config.run
    return Array.from({ length: config.rewardModel.samples }, (_, index) =>
      isEvaluation
        ? seedOf(seed, 'unit-test-evaluation', slot, index)
        : seedOf(seed, 'unit-test', iteration, slot, index),
    )
  }

  async function judge(job: Judge, signal: AbortSignal): Promise<NewEvent[]> {
    const startedMs = performance.now()
    const { iteration, slot, rewardModelVersion } = job
    const task = await tasks.find(job.task)
    const judged = await trajectories.find(
      iteration,
      job.rollouts.filter(({ steps }) => steps > 0).map(({ rollout }) => rollout),
    )
    const [{ purpose }] = judged
    const written = await write(task, rewardModelVersion, seedsOf(job, purpose === 'evaluation'), signal)
    const parsed = written.map(({ text }) => coding.readTest(text))
    const grades = await gradesOf(
      task,
      judged.map(({ actions }) => actions[0]),
      parsed,
    )
    const timing = { judgeMs: Math.round(performance.now() - startedMs) }
    const tests = written.map(({ text, tokens, logprobs }, index): NewEvent => {
      const test = parsed[index]
      return {
        type: 'UnitTestWritten',
        data: {
          ...{ iteration, purpose, slot, task: task.id, index, rewardModelVersion, text },
          test: 'test' in test ? test.test : null,
          invalid: 'test' in test ? null : test.reason,
          tokensI32: tokens && logprobs ? int32Column(tokens) : NOTHING,
          logprobsF32: tokens && logprobs ? float32Column(logprobs) : NOTHING,
          ...prompt,
        },
      }
    })
    const verdicts = judged.map(
      ({ rollout }, program): NewEvent => ({
        type: 'StepScored',
        data: {
          ...{ rollout, iteration, step: 0, task: task.id, rewardModelVersion },
          judgements: parsed.map((test, index) => judgementOf(test, grades[program][index])),
          probability: null,
          progress: null,
          ...prompt,
          ...(program === 0 ? { timing } : {}),
        },
      }),
    )
    return [...tests, ...verdicts]
  }

  /** [programs][tests]; null for a test that is none. */
  async function gradesOf(
    task: Task,
    actions: readonly string[],
    parsed: readonly ParsedTest[],
  ): Promise<(Grade | null)[][]> {
    const runnable = parsed.flatMap((test) => ('test' in test ? test.test : []))
    const grades = await coding.runTests(task, actions, runnable)
    return grades.map((row) => {
      const queue = row.values()
      return parsed.map((test) => ('test' in test ? (queue.next().value ?? null) : null))
    })
  }

  return { judge }
}

function judgementOf(parsed: ParsedTest, grade: Grade | null): Judgement {
  if (!('test' in parsed) || grade === null)
    return { critique: '', score: 0, tokensI32: NOTHING, logprobsF32: NOTHING }
  const passed = grade.passed === true
  const critique = passed ? '' : faultText(parsed.test, grade)
  return { critique, score: passed ? 1 : -1, tokensI32: NOTHING, logprobsF32: NOTHING }
}

/** What a program did on a test that it fails, in one line; `readFault` of the family reads it again. */
function faultText({ input, output }: TestCase, { result }: Grade): string {
  const did = result.verdict === 'ok' ? `printed ${oneLine(result.stdout)}` : `ended with ${result.verdict}`
  return `on input ${oneLine(input)} it ${did}, expected ${oneLine(output)}`
}

/** Most characters that a fault shows of a text. */
const SHOWN = 60

function oneLine(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > SHOWN ? `${line.slice(0, SHOWN)}...` : line === '' ? 'nothing' : line
}

const NOTHING = new Uint8Array()
