/**
 * Figures of an iteration's unit tests, for the line of the iteration: Code, UT, Detect and best of N over its training
 * tasks.
 */
import type { LoggedEvent } from '../../../events/catalogue.ts'
import { bestOfNAccuracy, codingMetrics, novelTests } from '../../../learning/unit-tests.ts'

export type UnitTestProgress = {
  /** Forgets the iteration before. */
  readonly begin: () => void
  readonly see: (event: LoggedEvent<'ProgramTested' | 'UnitTestWritten' | 'StepScored'>) => void
  /** Returns null if no program was tested. */
  readonly line: () => string | null
}

type Program = { readonly task: string; readonly right: boolean; votes: readonly number[] | null }

export function unitTestProgress(): UnitTestProgress {
  const programs = new Map<string, Program>()
  /** Novelty of each task's tests, [tests]. */
  const novelty = new Map<string, (boolean | undefined)[]>()

  function line(): string | null {
    if (programs.size === 0) return null
    const byTask = new Map<string, Program[]>()
    for (const program of programs.values())
      byTask.set(program.task, [...(byTask.get(program.task) ?? []), program])
    const tasks = [...byTask].map(([task, own]) => {
      const judged = own.filter(({ votes }) => votes !== null)
      return {
        dataset: own.map(({ right }) => [right]),
        generated: own.map(({ votes }) => (votes ?? judged[0]?.votes ?? []).map((vote) => vote === 1)),
        valid: (judged[0]?.votes ?? []).map((vote) => vote !== 0),
        novel: novelty.get(task),
      }
    })
    const { code, unitTest, detect } = codingMetrics(tasks)
    const all = shown({ code, 'unit tests': unitTest, detect, 'best of N': bestOfNAccuracy(tasks) })
    const novel = tasks.map(novelTests)
    if (!novel.some(({ valid }) => valid.length > 0)) return all
    const over = codingMetrics(novel)
    const figures = {
      'novel unit tests': over.unitTest,
      detect: over.detect,
      'best of N': bestOfNAccuracy(novel),
    }
    return `${all} | ${shown(figures)}`
  }

  return {
    line,
    begin() {
      programs.clear()
      novelty.clear()
    },
    see(event) {
      if (event.type === 'ProgramTested') {
        const { rollout, task, purpose, passedU8 } = event.data
        if (purpose !== 'train') return
        const right = passedU8.length > 0 && passedU8.every((pass) => pass === 1)
        programs.set(rollout, { task, right, votes: null })
        return
      }
      if (event.type === 'UnitTestWritten') {
        const { task, purpose, index, novel } = event.data
        if (purpose !== 'train') return
        const own = novelty.get(task) ?? []
        own[index] = novel
        novelty.set(task, own)
        return
      }
      const program = programs.get(event.data.rollout)
      if (program) program.votes = event.data.judgements.map(({ score }) => score)
    },
  }
}

const shown = (figures: Readonly<Record<string, number | null>>) =>
  Object.entries(figures)
    .map(([name, value]) => `${name} ${value === null ? '-' : value.toFixed(2)}`)
    .join(' ')
