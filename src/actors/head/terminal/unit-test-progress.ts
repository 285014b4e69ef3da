/** What an iteration's unit tests show, for the line of the iteration: Code, UT, Detect and best of N over its training tasks. */
import type { LoggedEvent } from '../../../events/catalogue.ts'
import { bestOfNAccuracy, codingMetrics } from '../../../learning/unit-tests.ts'

export type UnitTestProgress = {
  /** Forgets the iteration before. */
  readonly begin: () => void
  readonly see: (event: LoggedEvent<'ProgramTested' | 'StepScored'>) => void
  /** Null where no program was tested. */
  readonly line: () => string | null
}

type Program = { readonly task: string; readonly right: boolean; votes: readonly number[] | null }

export function unitTestProgress(): UnitTestProgress {
  const programs = new Map<string, Program>()

  function line(): string | null {
    if (programs.size === 0) return null
    const byTask = new Map<string, Program[]>()
    for (const program of programs.values())
      byTask.set(program.task, [...(byTask.get(program.task) ?? []), program])
    const tasks = [...byTask.values()].map((own) => {
      const judged = own.filter(({ votes }) => votes !== null)
      return {
        dataset: own.map(({ right }) => [right]),
        generated: own.map(({ votes }) => (votes ?? judged[0]?.votes ?? []).map((vote) => vote === 1)),
        valid: (judged[0]?.votes ?? []).map((vote) => vote !== 0),
      }
    })
    const { code, unitTest, detect } = codingMetrics(tasks)
    const figures = { code, 'unit tests': unitTest, detect, 'best of N': bestOfNAccuracy(tasks) }
    return Object.entries(figures)
      .map(([name, value]) => `${name} ${value === null ? '-' : value.toFixed(2)}`)
      .join(' ')
  }

  return {
    line,
    begin: () => programs.clear(),
    see(event) {
      if (event.type === 'ProgramTested') {
        const { rollout, task, purpose, passedU8 } = event.data
        if (purpose !== 'train') return
        const right = passedU8.length > 0 && passedU8.every((pass) => pass === 1)
        programs.set(rollout, { task, right, votes: null })
        return
      }
      const program = programs.get(event.data.rollout)
      if (program) program.votes = event.data.judgements.map(({ score }) => score)
    },
  }
}
