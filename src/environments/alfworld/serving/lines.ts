/** Questions in lines of JSON, and their answers in the same order. A line is bounded before it is parsed. */
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { explain } from '../../../errors.ts'
import type { Answer } from './table.ts'

/** Longest line, in bytes. */
const MOST_BYTES = 8 * 1024 * 1024
/** Most questions in a line. */
const MOST_QUESTIONS = 10_000
const LINE_FEED = 0x0a

export type Answerer = (question: unknown) => Answer | Promise<Answer>

/**
 * Answers until the input ends or its reader has gone. A line with a list of questions gets a line with a list of
 * answers.
 */
export async function serveLines(input: Readable, output: Writable, answer: Answerer): Promise<void> {
  let gone = false
  const leave = () => {
    gone = true
    input.destroy()
  }
  output.on('error', leave)
  output.on('close', leave)
  try {
    for await (const line of linesOf(input)) {
      if (gone) return
      const text = written(
        line === null ? fault('a line is longer than 8 MiB') : await answerOf(line, answer),
      )
      if (!output.write(`${text}\n`) && !gone)
        await Promise.race([once(output, 'drain'), once(output, 'close')])
      if (line === null) return
    }
  } catch (error) {
    if (!gone) throw error
  }
}

async function answerOf(line: string, answer: Answerer): Promise<Answer | readonly Answer[]> {
  let question: unknown
  try {
    question = JSON.parse(line)
  } catch (error) {
    return fault(`no JSON: ${error instanceof Error ? error.message : error}`)
  }
  if (!Array.isArray(question)) return answer(question)
  if (question.length > MOST_QUESTIONS)
    return fault(`${question.length} questions, at most ${MOST_QUESTIONS}`)
  const answers: Answer[] = []
  for (const one of question) {
    const found = answer(one)
    answers.push(found instanceof Promise ? await found : found)
  }
  return answers
}

/** An id that is nested too deep comes back in its answer, and many answers may be longer than a text can be. */
function written(answer: Answer | readonly Answer[]): string {
  try {
    return JSON.stringify(answer)
  } catch (error) {
    return JSON.stringify(fault(`the answer cannot be written: ${explain(error)}`))
  }
}

const fault = (message: string): Answer => ({ error: { code: 'alfworld.question', message } })

/** Yields lines that are not empty. Yields null for a line that is too long, and ends. */
async function* linesOf(input: Readable): AsyncGenerator<string | null> {
  let parts: Buffer[] = []
  let size = 0
  for await (const part of input) {
    for (let rest: Buffer = part; rest.length > 0; ) {
      const end = rest.indexOf(LINE_FEED)
      const piece = end < 0 ? rest : rest.subarray(0, end)
      size += piece.length
      if (size > MOST_BYTES) return yield null
      parts.push(piece)
      if (end < 0) break
      const line = Buffer.concat(parts).toString('utf8')
      if (line.trim() !== '') yield line
      parts = []
      size = 0
      rest = rest.subarray(end + 1)
    }
  }
  const last = Buffer.concat(parts).toString('utf8')
  if (last.trim() !== '') yield last
}
