/**
 * Programs and unit tests of the coding setting, one row a task and iteration. It holds which programs pass all of the task's own
 * tests, and their results on the tests that the reward model wrote. views.ts computes the shares.
 */
import type { EventData } from '../events/catalogue.ts'
import type { Projection } from './projection.ts'
import { defineTable } from './table.ts'

const testedTaskTable = defineTable('tested_tasks', ['iteration', 'slot'], {
  iteration: 0,
  slot: '',
  purpose: '',
  split: '',
  task: '',
  programs: 0,
  /** Number of programs that pass all of the task's own tests. */
  right: 0,
  /** Number of unit tests: written; unreadable; passed by all right programs; also failed by all wrong programs. */
  tests: 0,
  invalid_tests: 0,
  right_tests: 0,
  perfect_tests: 0,
  /** Most unit tests that a program passes, and whether the first such program is right. -1 before any is judged. */
  best_votes: -1,
  best_right: 0,
  /** The same for tests with an input that the task does not show. `novel` has a character a test, `1` if this is known. */
  novel: '',
  novel_tests: 0,
  novel_right_tests: 0,
  novel_perfect_tests: 0,
  novel_best_votes: -1,
  novel_best_right: 0,
  /** Number of programs with another end in a second run. */
  flaky: 0,
  /** A character a unit test: `0` unreadable, `f` a right program fails it, `w` a wrong program passes it, `b` both, `.` neither. */
  marks: '',
})

/** Programs of open iterations, for later votes. */
const programTable = defineTable('tested_programs', ['iteration', 'rollout'], {
  iteration: 0,
  rollout: '',
  slot: '',
  right: 0,
})

export const unitTests: Projection = {
  name: 'unit-tests',
  version: 2,
  tables: [testedTaskTable, programTable],
  interests: [
    'ProgramTested',
    'ProgramFlaky',
    'UnitTestWritten',
    'TrajectoryCompleted',
    'StepScored',
    'IterationCompleted',
  ],
  fold(open) {
    const tasks = open(testedTaskTable)
    const programs = open(programTable)

    function enterProgram({
      iteration,
      rollout,
      slot,
      purpose,
      task,
      passedU8,
    }: EventData<'ProgramTested'>): void {
      const isRight = passedU8.length > 0 && passedU8.every((pass) => pass === 1)
      const program = programs.row(iteration, rollout)
      program.slot = slot
      program.right = isRight ? 1 : 0
      const row = tasks.row(iteration, slot)
      row.purpose = purpose
      row.task = task
      row.programs++
      if (isRight) row.right++
    }

    /** Programs of a task are judged in order of their index. Of equals the first one stays the best. */
    function enterVotes({ iteration, rollout, judgements }: EventData<'StepScored'>): void {
      const program = programs.find(iteration, rollout)
      if (!program) return
      const row = tasks.row(iteration, program.slot)
      const isRight = program.right === 1
      const marks = judgements.map(({ score }, test) => marked(row.marks[test] ?? '.', score, isRight))
      row.marks = marks.join('')
      row.tests = marks.length
      row.invalid_tests = marks.filter((mark) => mark === '0').length
      row.right_tests = marks.filter((mark) => mark === '.' || mark === 'w').length
      row.perfect_tests = marks.filter((mark) => mark === '.').length
      const votes = judgements.filter(({ score }) => score === 1).length
      if (votes > row.best_votes) {
        row.best_votes = votes
        row.best_right = program.right
      }
      const isNovel = (_: unknown, test: number) => row.novel[test] === '1'
      const novelMarks = marks.filter(isNovel)
      row.novel_tests = novelMarks.length
      row.novel_right_tests = novelMarks.filter((mark) => mark === '.' || mark === 'w').length
      row.novel_perfect_tests = novelMarks.filter((mark) => mark === '.').length
      const novelVotes = judgements.filter(isNovel).filter(({ score }) => score === 1).length
      if (novelVotes <= row.novel_best_votes) return
      row.novel_best_votes = novelVotes
      row.novel_best_right = program.right
    }

    /** The tests of a task are written before the first program is judged, in order of their index. */
    function enterTest({ iteration, slot, index, novel }: EventData<'UnitTestWritten'>): void {
      const row = tasks.row(iteration, slot)
      row.novel = `${row.novel.padEnd(index, '0').slice(0, index)}${novel ? '1' : '0'}`
    }

    return function applyUnitTests({ type, data }) {
      if (type === 'ProgramTested') enterProgram(data)
      else if (type === 'ProgramFlaky') tasks.row(data.iteration, data.slot).flaky++
      else if (type === 'UnitTestWritten') enterTest(data)
      else if (type === 'StepScored') enterVotes(data)
      else if (type === 'IterationCompleted') programs.removeAll(data.iteration)
      else if (type === 'TrajectoryCompleted' && programs.find(data.iteration, data.rollout))
        tasks.row(data.iteration, data.slot).split = data.split
    }
  },
}

/** Returns a test's mark after one more program was run on it. */
function marked(mark: string, score: -1 | 0 | 1, isRight: boolean): string {
  if (score === 0) return '0'
  const failsRight = (isRight && score === -1) || mark === 'f' || mark === 'b'
  const passesWrong = (!isRight && score === 1) || mark === 'w' || mark === 'b'
  if (failsRight) return passesWrong ? 'b' : 'f'
  return passesWrong ? 'w' : '.'
}
