/** Makes one version of a policy that is a text: weighs the new evidence, asks for changes, and says what is played next. */
import { createHash } from 'node:crypto'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import { type Change, systemText } from '../../learning/instructions.ts'
import {
  type Member,
  meanOf,
  memberOf,
  proposed,
  type Weighed,
  type WeighingOptions,
  weigh,
  wished,
} from '../../learning/population.ts'
import type { InstructionFold, InstructionState } from './instructions-fold.ts'

export type ChoosingOptions = {
  readonly fold: InstructionFold
  readonly version: number
  /** No iteration follows: the version is the best. */
  readonly last: boolean
  readonly weighing: WeighingOptions
  /** Whether the budget allows one more round. */
  readonly affords: (state: InstructionState) => boolean
  /** Name of the proposer. */
  readonly model: string
  /** Asks for a change. Returns why there is none if the answer cannot be taken. */
  readonly propose: (state: InstructionState, number: number) => Promise<Change | string>
  /** Appends an event and enters it in the fold. */
  readonly tell: (event: NewEvent<'InstructionsWeighed' | 'InstructionsProposed'>) => Promise<void>
}

/** Most answers in a row that cannot be taken. Then the proposer is asked no more. */
const MOST_REFUSED = 20

/** Returns the event that chooses the text of a version. */
export async function chooseInstructions(options: ChoosingOptions): Promise<EventData<'InstructionsChosen'>> {
  const { fold, version, last, weighing, affords, model, propose, tell } = options
  const { state } = fold
  fold.takeRounds(version)
  const weighed = weigh(state.population, weighing)
  if (weighed !== null)
    await tell({ type: 'InstructionsWeighed', data: weighedData(version, state.population.best, weighed) })
  if (last) return chosen(state, version, state.population.best, state.ended)
  if (!affords(state)) return chosen(state, version, state.population.best, 'the budget of calls is spent')
  let wish = wished(state.population, weighing)
  while (wish.kind === 'propose' && state.refused < MOST_REFUSED) {
    const number = state.proposals + 1
    const answer = takenOrNot(state, number, await propose(state, number))
    const isChange = typeof answer !== 'string'
    await tell({
      type: 'InstructionsProposed',
      data: {
        version,
        number,
        parent: state.population.best,
        model,
        change: isChange ? answer : null,
        problem: isChange ? null : answer.slice(0, 500),
      },
    })
    wish = wished(state.population, weighing)
  }
  if (wish.kind === 'play') return chosen(state, version, wish.member, null)
  if (wish.kind === 'end') return chosen(state, version, state.population.best, wish.reason)
  // The proposer has nothing new. Candidates that wait are still played.
  const waiting = state.population.members.find(({ id }) => id !== state.population.best)
  if (waiting) return chosen(state, version, waiting.id, null)
  return chosen(state, version, state.population.best, 'the proposer has nothing new')
}

/** Refuses a change that makes no new candidate. What was weighed once is not weighed again. */
function takenOrNot(state: InstructionState, number: number, answer: Change | string): Change | string {
  if (typeof answer === 'string') return answer
  const same = JSON.stringify(answer)
  const before = state.tried.find(({ change }) => JSON.stringify(change) === same)
  if (before !== undefined) return `it was tried before: ${before.result}`
  const next = proposed(state.population, number, answer)
  return typeof next === 'string' ? next : answer
}

function weighedData(
  version: number,
  parent: number,
  { member, verdict, reason, difference, error, candidate, parent: tally }: Weighed,
): EventData<'InstructionsWeighed'> {
  return {
    version,
    member,
    parent,
    verdict,
    reason,
    difference: { ...difference },
    error,
    accuracy: { ...candidate },
    parentAccuracy: { ...tally },
  }
}

function chosen(
  { population }: InstructionState,
  version: number,
  member: number,
  ended: string | null,
): EventData<'InstructionsChosen'> {
  const { text } = memberOf(population, member)
  return {
    version,
    member,
    best: population.best,
    system: text.system,
    lessons: [...text.lessons],
    sha256: createHash('sha256').update(systemText(text)).digest('hex'),
    population: population.members.map(summary),
    tries: population.tries,
    ended,
  }
}

function summary(member: Member) {
  return { member: member.id, rounds: member.rounds, mean: meanOf(member) }
}
