/** Judges by unit tests, for the line of the iteration: the share of right tests over its training tasks. */
import type { LoggedEvent } from '../../../events/catalogue.ts'
import { codingMetrics } from '../../../learning/unit-tests.ts'

export type UnitTestProgress = {
  /** Forgets the iteration before. */
  readonly begin: () => void
  readonly see: (event: LoggedEvent<'ProgramTested' | 'StepScored'>) => void
  /** Returns null if no program was tested. */
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
    const { unitTest } = codingMetrics(tasks)
    return `tests ${unitTest === null ? '-' : unitTest.toFixed(2)}`
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
