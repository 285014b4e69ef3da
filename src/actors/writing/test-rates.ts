/** Pass rates of a group's programs on each test, for the rewriting of the group's task. */
import type { Evidence } from '../../environments/setting.ts'
import type { EventData } from '../../events/catalogue.ts'

export type TestEvents = {
  readonly ProgramTested: readonly EventData<'ProgramTested'>[]
  readonly UnitTestWritten: readonly EventData<'UnitTestWritten'>[]
  readonly StepScored: readonly EventData<'StepScored'>[]
}

/** Returns the rates of a slot's group in an iteration, or undefined if no program was tested. */
export function testRates(
  { ProgramTested: tested, UnitTestWritten: written, StepScored: scored }: TestEvents,
  { iteration, slot }: { readonly iteration: number; readonly slot: string },
): Evidence['tested'] {
  const ofGroup = (event: { readonly iteration: number; readonly slot: string }) =>
    event.iteration === iteration && event.slot === slot
  const programs = tested.filter(ofGroup)
  const [first] = programs
  if (first === undefined) return undefined
  const rollouts = new Set(programs.map(({ rollout }) => rollout))
  const votes = scored.filter(({ rollout }) => rollouts.has(rollout))
  const share = (passes: readonly boolean[]) => passes.filter(Boolean).length / Math.max(1, passes.length)
  return {
    own: Array.from(first.passedU8, (_, test) => share(programs.map(({ passedU8 }) => passedU8[test] === 1))),
    written: written
      .filter(ofGroup)
      .sort((a, b) => a.index - b.index)
      .flatMap(({ test, index }) =>
        test
          ? [{ ...test, share: share(votes.map(({ judgements }) => judgements[index]?.score === 1)) }]
          : [],
      ),
  }
}
