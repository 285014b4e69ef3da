/**
 * Judging by prompt. Each judgement of a step is one question. The verdict stands in a box at the end of the answer.
 */
import { itemAt } from '../../item-at.ts'
import { lastBox, parseScore } from '../../learning/parse-score.ts'
import type { Score } from '../../learning/terms.ts'
import type { GenerateRequest, Generation, ImageRef } from '../../models/port.ts'
import { type Seed, seedOf } from '../../random.ts'
import { doneText, episodeText, type PromptFile } from '../learner/prompts.ts'
import type { EpisodeText } from '../rollout/packing.ts'

export type PromptedJudging = {
  readonly prompt: PromptFile
  readonly temperature: number
  readonly topP: number
  readonly maxTokens: number
  /** Number of earlier steps that are shown. Null for all. */
  readonly historySteps: number | null
  /**
   * Returns an action in a line, if the judge sees the screens. Without it the history holds the texts that were read.
   */
  readonly brief?: (action: string) => string
}

export type Judged = {
  /** Text before the verdict. */
  readonly critique: string
  readonly score: Score
  /** Kind of fault in the answer. Null if it has a verdict. */
  readonly invalid: string | null
} & Pick<Generation, 'tokens' | 'logprobs' | 'promptTokens' | 'reasoning'>

/** An episode as a judge gets it: with screens [steps + 1] if it sees. */
export type JudgedLines = EpisodeText & { readonly frames?: readonly ImageRef[] }

/** Returns the request for one judgement of a step. It depends only on the episode, its seed and the shown steps. */
export function judgeRequest(
  { goal, observations, actions, frames }: JudgedLines,
  seed: Seed,
  { prompt, temperature, topP, maxTokens, brief }: PromptedJudging,
  { step, index, shown }: { readonly step: number; readonly index: number; readonly shown: number },
): GenerateRequest {
  const before = { observations: observations.slice(0, step + 1), actions: actions.slice(0, step) }
  const messages = prompt.render({
    goal,
    history: brief ? doneText(before, brief, shown) : episodeText(before, { steps: shown }),
    action: itemAt(actions, step),
    observation: itemAt(observations, step + 1),
    ...(frames ? { before: [itemAt(frames, step)], after: [itemAt(frames, step + 1)] } : {}),
  })
  const sampling = { maxTokens, temperature, topP }
  return { prompt: { messages }, ...sampling, seed: seedOf(seed, 'judge', step, index) }
}

/** Asks for a judgement by one criterion alone. */
export function about(criterion: string | null, request: GenerateRequest): GenerateRequest {
  if (criterion === null || !('messages' in request.prompt)) return request
  const { messages } = request.prompt
  const asked = { role: 'user' as const, content: `Judge the step by this alone: ${criterion}` }
  return { ...request, prompt: { ...request.prompt, messages: [...messages, asked] } }
}

/** Returns the number of earlier steps that the prompt of a step shows if all of them fit. */
export function shownSteps(step: number, { historySteps }: PromptedJudging): number {
  return Math.min(step, historySteps ?? step)
}

/** Most characters of a critique. Its end is kept, because conclusions stand there. */
const CRITIQUE_LENGTH = 4_000

export function readJudgement(generation: Generation): Judged {
  const { text, finish, tokens, logprobs, promptTokens, reasoning } = generation
  const score = parseScore(text)
  const box = text.lastIndexOf('\\boxed{')
  const critique = (box < 0 ? text : text.slice(0, box)).trim() || (reasoning?.text.trim() ?? '')
  return {
    critique: critique.slice(-CRITIQUE_LENGTH),
    score,
    invalid: score === 0 ? whyUnreadable(text, finish) : null,
    tokens,
    logprobs,
    promptTokens,
    reasoning,
  }
}

function whyUnreadable(text: string, finish: Generation['finish']): string {
  if (finish === 'refused') return 'the answer was refused'
  if (lastBox(text) !== undefined) return 'the box holds no verdict'
  return finish === 'length' ? 'the answer was cut off' : 'there is no box'
}
