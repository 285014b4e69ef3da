/**
 * A language model's summaries of failed rollouts, one a rollout (RLAnything, section 2.4). They show what the failures
 * have in common.
 */
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
 * Returns the question about one failed rollout. A step is risky if every judgement of it is bad.
 *
 * @param shown highest number of latest steps to show
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

/** Returns the summary in an answer's last box, or null if there is none. */
export function readSummary(answer: string): string | null {
  const text = lastBox(answer)?.replace(/\s+/g, ' ').trim()
  return text ? text.slice(0, SUMMARY_LENGTH) : null
}
