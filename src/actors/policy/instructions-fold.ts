/** The state of learning by instructions, as the log tells it: the population, who played which iteration, and what was tried. */
import type { PolicyConfig, RulesConfig } from '../../config-schema/sections.ts'
import type { EventData, EventType } from '../../events/catalogue.ts'
import type { Change } from '../../learning/instructions.ts'
import {
  decided,
  newPopulation,
  type Population,
  played,
  proposed,
  type WeighingOptions,
} from '../../learning/population.ts'
import { rulesOf } from '../../learning/registry.ts'

/** Types of the events that make the state. */
export const INSTRUCTION_EVENTS = [
  'IterationStarted',
  'TrajectoryCompleted',
  'RolloutFailed',
  'CallsReserved',
  'InstructionsWeighed',
  'InstructionsProposed',
  'InstructionsChosen',
] as const satisfies readonly EventType[]

type Type = (typeof INSTRUCTION_EVENTS)[number]
/** Parts of the larger events that are read. */
type Read = {
  readonly IterationStarted: Pick<EventData<'IterationStarted'>, 'iteration' | 'policyVersion' | 'last'>
  readonly TrajectoryCompleted: Pick<
    EventData<'TrajectoryCompleted'>,
    'iteration' | 'purpose' | 'task' | 'steps' | 'outcome'
  >
  readonly RolloutFailed: Pick<EventData<'RolloutFailed'>, 'iteration' | 'purpose' | 'task' | 'cause'>
}
type Seen = {
  [T in Type]: { readonly type: T; readonly data: T extends keyof Read ? Read[T] : EventData<T> }
}[Type]

type Round = { readonly task: string; readonly value: number }[]

/** A change that was weighed or refused, for those who propose the next one. */
type Tried = { readonly change: Change; readonly result: string }

export type InstructionState = {
  population: Population
  /** Number of proposals so far, and of those in a row that could not be taken. */
  proposals: number
  refused: number
  readonly tried: Tried[]
  /** Iteration in which the best was played last. Null before the first. */
  bestPlayedIn: number | null
  /** Iteration with which the run's time ends. Null until it is known. */
  last: number | null
  /** Why no more is tried, else null. */
  ended: string | null
  /** Calls of the budget that were taken. */
  callsTaken: number
  /** Training rollouts of the newest iteration, evaluation rollouts of the first measurement, and calls of all rollouts. */
  readonly rollouts: { round: number; measured: number; all: number; calls: number }
}

export type InstructionFold = {
  readonly state: InstructionState
  readonly see: (event: Seen) => void
  /** Enters the rounds that are over: those of all iterations up to the one that makes a version. */
  readonly takeRounds: (version: number) => void
}

export function openInstructionFold(): InstructionFold {
  const served = new Map<number, number>([[0, 0]])
  const playedBy = new Map<number, number>()
  const open = new Map<number, Round>()
  const state: InstructionState = {
    population: newPopulation(),
    proposals: 0,
    refused: 0,
    tried: [],
    bestPlayedIn: null,
    last: null,
    ended: null,
    callsTaken: 0,
    rollouts: { round: 0, measured: 0, all: 0, calls: 0 },
  }

  /** The member whose text a version has. A version that chose none has the text of the newest before it. */
  function memberServed(version: number): number {
    return served.get(Math.max(...[...served.keys()].filter((one) => one <= version))) ?? 0
  }

  function takeRounds(version: number): void {
    for (const [iteration, outcomes] of open) {
      if (iteration > version) continue
      open.delete(iteration)
      const member = playedBy.get(iteration) ?? 0
      // Sums of graded outcomes depend on their order in the last digits.
      outcomes.sort((a, b) => (a.task === b.task ? a.value - b.value : a.task < b.task ? -1 : 1))
      state.population = played(state.population, member, outcomes)
      if (member === state.population.best && outcomes.length > 0) state.bestPlayedIn = iteration
      state.rollouts.round = outcomes.length
    }
  }

  function add(iteration: number, task: string, value: number): void {
    const round = open.get(iteration) ?? []
    round.push({ task, value })
    open.set(iteration, round)
  }

  function see({ type, data }: Seen): void {
    switch (type) {
      case 'IterationStarted':
        playedBy.set(data.iteration, memberServed(data.policyVersion))
        if (data.last) state.last = data.iteration
        return
      case 'TrajectoryCompleted': {
        const { rollouts } = state
        rollouts.all++
        rollouts.calls += data.steps
        if (data.purpose === 'evaluation') {
          if (data.iteration === 0) rollouts.measured++
        } else if (data.outcome.kind === 'scored') add(data.iteration, data.task, data.outcome.value)
        return
      }
      case 'RolloutFailed':
        // An agent that breaks on what the model says has failed. A fault of the infrastructure tells nothing.
        if (data.purpose !== 'evaluation' && data.cause === 'agent') add(data.iteration, data.task, 0)
        return
      case 'CallsReserved':
        if (data.role === 'policy' || data.role === 'environment') state.callsTaken += data.calls
        return
      case 'InstructionsWeighed': {
        takeRounds(data.version)
        const weighed = state.population.members.find(({ id }) => id === data.member)
        if (weighed === undefined) return
        const result = `${data.verdict}: ${data.reason}, ${points(data.difference)}`
        if (data.verdict !== 'undecided' && weighed.change !== null)
          state.tried.push({ change: weighed.change, result })
        state.population = decided(state.population, data)
        if (data.verdict !== 'accepted') return
        state.bestPlayedIn = data.version
        // Other rollouts may lead the proposer to other changes.
        state.refused = 0
        return
      }
      case 'InstructionsProposed': {
        takeRounds(data.version)
        state.proposals = Math.max(state.proposals, data.number)
        const next = data.change === null ? '' : proposed(state.population, data.number, data.change)
        if (typeof next === 'string') state.refused++
        else {
          state.refused = 0
          state.population = next
        }
        return
      }
      case 'InstructionsChosen':
        takeRounds(data.version)
        served.set(data.version, data.member)
        state.ended = data.ended
    }
  }

  return { state, see, takeRounds }
}

function points({ value }: { readonly value: number }): string {
  return `${value >= 0 ? '+' : ''}${Math.round(100 * value)} points`
}

/**
 * Returns true if one more round, the last measurement and a few proposals fit into the budget of calls. Lots that
 * processes have taken and not used are counted as used.
 */
export function affordable({ callsTaken, rollouts }: InstructionState, maxCalls: number | null) {
  if (maxCalls === null) return true
  const each = rollouts.all === 0 ? 1 : rollouts.calls / rollouts.all
  return callsTaken + SPARE * each * (rollouts.round + rollouts.measured) + FEW_PROPOSALS <= maxCalls
}

/** Rollouts may need more calls than those before. */
const SPARE = 1.1
const FEW_PROPOSALS = 5

export function weighingOf(instructions: PolicyConfig['instructions'], config: RulesConfig): WeighingOptions {
  const { tries = 20, looks = 6, confidence = 0.95 } = instructions ?? {}
  return {
    tries,
    looks,
    confidence,
    acceptance: rulesOf(config).acceptance,
    prior: config.adaptation.expert.prior,
  }
}
