/** What failed rollouts have in common, said by a language model: one summary a rollout (RLAnything, section 2.4). */
import type { EventData } from '../../events/catalogue.ts'
import { lastBox } from '../../learning/parse-score.ts'
import type { GenerateRequest } from '../../models/port.ts'
import { type Seed, seedOf } from '../../random.ts'
import { episodeText, type PromptFile } from '../learner/prompts.ts'

type Trajectory = EventData<'TrajectoryCompleted'>
type Scored = EventData<'StepScored'>

/** Most characters of one summary: two sentences are asked for. */
const SUMMARY_LENGTH = 600

/**
 * The question about one failed rollout. A step is risky where every judgement of it is bad.
 * @param shown at most so many of the latest steps
 */
export function failureRequest(
  { rollout, observations, actions, steps, index }: Trajectory,
  scored: readonly Scored[],
  goal: string,
  {
    prompt,
    shown,
    seed,
    maxTokens,
    temperature,
  }: {
    readonly prompt: PromptFile
    readonly shown: number
    readonly seed: Seed
    readonly maxTokens: number
    readonly temperature: number
  },
): GenerateRequest {
  const risky = scored
    .filter((one) => one.rollout === rollout && one.judgements.length > 0)
    .filter(({ judgements }) => judgements.every(({ score }) => score === -1))
    .map(({ step }) => step + 1)
    .sort((a, b) => a - b)
  return {
    prompt: {
      messages: prompt.render({
        goal,
        steps: String(steps),
        risky: risky.length === 0 ? 'none' : risky.join(', '),
        history: episodeText({ observations, actions }, { numbered: true, steps: shown }),
      }),
    },
    maxTokens,
    temperature,
    seed: seedOf(seed, 'failure', index),
  }
}

/** The summary in an answer's last box; null where there is none. */
export function readSummary(answer: string): string | null {
  const text = lastBox(answer)?.replace(/\s+/g, ' ').trim()
  return text ? text.slice(0, SUMMARY_LENGTH) : null
}
