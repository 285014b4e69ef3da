/** The learner of a policy that nobody trains: each version is a text, chosen by evidence (docs/agents.md). */
import { explain, RlError } from '../../errors.ts'
import type { EventData, NewEvent } from '../../events/catalogue.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { WeighingOptions } from '../../learning/population.ts'
import type { PromptedModel } from '../../models/provider.ts'
import type { Seed } from '../../random.ts'
import { seedOf } from '../../random.ts'
import { unchangedVersion } from '../decider/fold.ts'
import type { Train } from '../decider/jobs.ts'
import { updatedEvents } from '../learner/checkpoints.ts'
import type { Learner } from '../learner/ports.ts'
import { readEvents } from '../rollout/log-queries.ts'
import { chooseInstructions } from './choose-instructions.ts'
import { examplesOf } from './examples.ts'
import {
  affordable,
  INSTRUCTION_EVENTS,
  type InstructionState,
  openInstructionFold,
} from './instructions-fold.ts'
import { proposalMessages, readProposal } from './proposal.ts'

export type InstructionLearnerOptions = {
  /** How candidates are weighed against the best. */
  readonly weighing: WeighingOptions
  /** Number of iterations of the run. */
  readonly iterations: number
  /** Most calls that the policy may make in the run, or null for any number. */
  readonly maxCalls: number | null
  /** Measures the batch that an update of weights would have had. */
  readonly measure: (job: Train) => Promise<{ readonly metrics: Readonly<Record<string, number>> }>
  /** Tries the endpoint out before anything depends on it. */
  readonly tryOut: () => Promise<unknown>
  readonly proposer: PromptedModel
  /** Name of the proposer. */
  readonly model: string
}

const PROPOSAL_TOKENS = 1_500

export function instructionLearner(
  log: LogClient,
  { weighing, iterations, maxCalls, tryOut, measure, proposer, model }: InstructionLearnerOptions,
): Learner {
  const fold = openInstructionFold()
  let next = 1

  async function readOn(): Promise<void> {
    const page = await readEvents(log, next, INSTRUCTION_EVENTS)
    for (const event of page.events) fold.see(event)
    next = page.next
  }

  return {
    async begin() {
      await tryOut()
      await readOn()
      const data = await chooseInstructions({
        ...{ fold, version: 0, last: true, weighing, model },
        affords: () => true,
        propose: async () => 'nothing was played yet',
        tell: async () => {},
      })
      return versionEvents(data, unchangedVersion(0, null))
    },
    async update(job, { event, signal }) {
      const { version, seed } = job
      const { metrics } = await measure(job)
      await readOn()
      const chosen = await chooseInstructions({
        fold,
        version,
        last: version === iterations || version === fold.state.last,
        weighing,
        affords: (state) => affordable(state, maxCalls),
        model,
        propose: (state, number) => propose(state, number, seed, signal),
        async tell(one) {
          await log.append([one], { cause: event?.id ?? null })
          await readOn()
        },
      })
      return versionEvents(chosen, {
        ...unchangedVersion(version, chosen.ended ?? told(chosen)),
        metrics: {
          ...metrics,
          tries: chosen.tries,
          candidates: chosen.population.length - 1,
          proposals: fold.state.proposals,
          lessons: chosen.lessons.length,
        },
        ...(chosen.ended === null ? {} : { last: true as const }),
      })
    },
  }

  /** Reads rollouts of the best, and asks for one change. An answer that cannot be taken costs this proposal only. */
  async function propose(state: InstructionState, number: number, seed: Seed, signal: AbortSignal) {
    const { good, bad } = await examplesOf(log, state.bestPlayedIn)
    try {
      const [answer] = await proposer.generate(
        [
          {
            prompt: { messages: proposalMessages({ state, good, bad }) },
            maxTokens: PROPOSAL_TOKENS,
            temperature: 1,
            seed: seedOf(seed[0], 'proposal', number),
          },
        ],
        signal,
      )
      if (!answer) return 'the proposer gave no answer'
      return answer.finish === 'refused' ? 'the proposer refused' : readProposal(answer.text)
    } catch (error) {
      if (signal.aborted || (error instanceof RlError && error.code === 'model.budget-spent')) throw error
      return `the proposer gave no answer: ${explain(error)}`
    }
  }
}

/** Why no weights were trained. */
function told({ member, best }: EventData<'InstructionsChosen'>): string {
  const text = member === 0 ? 'the text of the start' : `the text of proposal ${member}`
  return `${text}, ${member === best ? 'the best' : `to be weighed against ${best === 0 ? 'the start' : best}`}`
}

function versionEvents(
  chosen: EventData<'InstructionsChosen'>,
  updated: EventData<'PolicyUpdated'>,
): NewEvent[] {
  return [{ type: 'InstructionsChosen', data: chosen }, ...updatedEvents('policy', updated)]
}
