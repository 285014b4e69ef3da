/** A problem of the coding setting in one iteration: its programs against its own tests and the written ones. */
import { RlError } from '../../errors.ts'
import type { LogReader } from '../../events/log-reader.ts'
import { bestOfN } from '../../learning/unit-tests.ts'
import type { Member } from '../logic/group-page.ts'
import type { ProblemPage, Program, WrittenTest } from '../logic/problem-page.ts'
import { eventAt } from './event-at.ts'
import { groupPage } from './group-page.ts'
import type { OpenRun } from './open-runs.ts'

const MOST_TESTS = 256
const MOST_LETTERS = 40_000

/** @throws RlError `ui.no-group`, `ui.no-problem` */
export function problemPage(run: OpenRun, iteration: number, slot: string, at: number): ProblemPage {
  const { log } = run
  const group = groupPage(run, iteration, slot, at)
  const tests = testsOf(log, iteration, slot, at)
  const programs = group.members.map((member) => programOf(log, member, tests.length, at))
  if (tests.length === 0 && programs.every(({ own }) => own.length === 0))
    throw new RlError(`slot ${slot.slice(0, 64)} of iteration ${iteration} has no tests of programs`, {
      code: 'ui.no-problem',
      hint: 'the coding setting has them; the page of the group shows its rollouts',
    })
  const judged = programs.filter(({ votes }) => votes.some((vote) => vote !== null))
  const valid = tests.map(({ invalid }) => invalid === null)
  const best = bestOfN({ valid, generated: judged.map(({ votes }) => votes.map((vote) => vote === 1)) })
  const winner = judged[best]
  const right = programs.filter((program) => program.right === true)
  const wrong = programs.filter((program) => program.right === false)
  return {
    iteration,
    slot,
    task: group.task,
    purpose: group.purpose,
    split: group.split,
    goal: group.goal,
    problem: group.begin?.slice(0, MOST_LETTERS) ?? null,
    programs,
    tests: tests.map((test) => ({
      ...test,
      rightPass: right.filter(({ votes }) => votes[test.index] === 1).length,
      wrongFail: wrong.filter(({ votes }) => votes[test.index] === -1).length,
    })),
    best: winner && winner.passed > 0 ? programs.indexOf(winner) : null,
    right: right.length,
    wrong: wrong.length,
  }
}

type Written = Omit<WrittenTest, 'rightPass' | 'wrongFail'>

/** The written tests have the indices 0, 1, and so on. */
function testsOf(log: LogReader, iteration: number, slot: string, at: number): Written[] {
  const tests: Written[] = []
  for (let index = 0; index < MOST_TESTS; index++) {
    const event = eventAt(log, `UnitTest/${iteration}/${slot}/${index}`, at)
    if (event?.type !== 'UnitTestWritten') break
    const { text, test, novel, invalid, rewardModelVersion } = event.data
    tests.push({
      index,
      text: text.slice(0, MOST_LETTERS),
      input: test?.input.slice(0, MOST_LETTERS) ?? null,
      output: test?.output.slice(0, MOST_LETTERS) ?? null,
      novel: novel ?? null,
      invalid,
      version: rewardModelVersion,
      position: event.position,
    })
  }
  return tests
}

function programOf(log: LogReader, { cell, steps }: Member, tests: number, at: number): Program {
  const ran = eventAt(log, `ProgramTested/${cell.rollout}`, at)
  const flaky = eventAt(log, `ProgramFlaky/${cell.rollout}`, at)
  const unsure = new Set(flaky?.type === 'ProgramFlaky' ? flaky.data.tests : [])
  const scored =
    steps.length === 0 ? null : eventAt(log, `StepScored/${cell.rollout}/${steps.length - 1}`, at)
  const judgements = scored?.type === 'StepScored' ? scored.data.judgements : null
  const votes = Array.from({ length: tests }, (_, i) => judgements?.[i]?.score ?? null)
  const own =
    ran?.type === 'ProgramTested'
      ? ran.data.verdicts.map((verdict, i) => ({
          verdict,
          passed: ran.data.passedU8[i] === 1,
          flaky: unsure.has(i),
        }))
      : []
  return {
    cell,
    text: steps.at(-1)?.action.slice(0, MOST_LETTERS) ?? null,
    own,
    right: ran === null || own.length === 0 ? null : own.every(({ passed }) => passed),
    votes,
    notes: Array.from({ length: tests }, (_, i) => judgements?.[i]?.critique.slice(0, 300) ?? ''),
    passed: votes.filter((vote) => vote === 1).length,
    position: scored?.position ?? null,
  }
}
