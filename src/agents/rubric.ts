/** Grades by a rubric: a model reads the task, the transcript and the result. */
import { readPrompt } from '../actors/learner/prompts.ts'
import { explain } from '../errors.ts'
import { isRecord } from '../is-record.ts'
import { lastBox } from '../learning/parse-score.ts'
import { openEndpoint } from '../models/openai.ts'
import type { UserWorker } from './worker.ts'

/** The model that grades. */
export type Judge = {
  readonly baseUrl: string
  readonly model: string
  /** Environment variable with its key. */
  readonly apiKeyEnv: string
}

/** Characters of a transcript that are shown. Its end is kept, for conclusions stand there. */
const MOST_TRANSCRIPT = 24_000
const MOST_TEXT = 8_000
const MOST_REASON = 4_000
const ANSWER_TOKENS = 400
const CALL_MS = 120_000
/** Commands and signs of LaTeX change how a number looks, not its value. */
const TYPESETTING = /\\[a-z]+|[{}$\s]/gi

/**
 * Opens a grade that asks a model. Its value is `{ score, reason, unsure }`, or `{ abstained }` if the model gave no number from
 * 0 to 1: that is never a reward of 0.
 *
 * @param rubric text of the rubric
 */
export function openRubric(rubric: string, judge: Judge): UserWorker {
  const prompt = readPrompt('rubric')
  const model = openEndpoint({
    ...judge,
    concurrency: 8,
    callMs: CALL_MS,
    budgetMs: 2 * CALL_MS,
    promptPrice: null,
    completionPrice: null,
  })
  return {
    async call([task, result, transcript], _, other) {
      // A rubric says nothing of agents that failed.
      if (other !== undefined) return { kind: 'value', value: null }
      const messages = prompt.render({
        rubric,
        task: textOf(task),
        transcript: transcriptText(transcript as readonly unknown[]),
        result: textOf(result),
      })
      try {
        const [generation] = await model.generate([
          { prompt: { messages }, maxTokens: ANSWER_TOKENS, temperature: 0, seed: [0, 0] },
        ])
        return { kind: 'value', value: readGrade(generation?.text ?? '') }
      } catch (error) {
        return { kind: 'fault', error: explain(error) }
      }
    },
    close: () => void model.close(),
  }
}

/** Reads the grade in an answer: the number in its last box, and the text before. */
export function readGrade(
  text: string,
): { score: number; reason: string; unsure: true } | { abstained: string } {
  const number = lastBox(text)?.replace(TYPESETTING, '')
  const score = number !== undefined && /^(\d+(\.\d*)?|\.\d+)$/.test(number) ? Number(number) : null
  if (score === null || score > 1)
    return { abstained: `the judge gave no grade from 0 to 1: ${text.slice(-200).trim()}` }
  const reason = text.slice(0, text.lastIndexOf('\\boxed{')).trim()
  return { score, reason: reason.slice(-MOST_REASON), unsure: true }
}

function transcriptText(messages: readonly unknown[]): string {
  const text = messages
    .filter(isRecord)
    .map(({ role, content, tool_calls: calls }) => {
      const said = [textOf(content), ...(Array.isArray(calls) ? [JSON.stringify(calls)] : [])]
      return `${String(role)}: ${said.filter((part) => part !== '').join('\n')}`
    })
    .join('\n\n')
  return text.length > MOST_TRANSCRIPT ? `...${text.slice(-MOST_TRANSCRIPT)}` : text
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value)
  return text.slice(0, MOST_TEXT)
}
