/**
 * Rewriting a problem by a language model: the text for the model, and the task in its answer (rlanything
 * 4.4).
 */

import { createHash } from 'node:crypto'
import type { Evidence, Rewrite, RewriteRequest, Task } from 'rlanything/environments'
import { parseCandidate } from './candidate.ts'
import type { CodingProblem, TestCase } from './problem.ts'

/** Tests that are longer than this, in characters of input or output, are not shown. */
const SHOWN_CHARACTERS = 100

const HINTS = {
  harder:
    'Ask for one step more, a further condition, or wider inputs; do not only make the statement longer.',
  easier: 'Leave out one step or condition, or narrow the inputs.',
} as const

/** Returns values for the placeholders of config/prompts/coding-rewrite.md. */
export function briefingOf(
  { direction, tested }: RewriteRequest & Evidence,
  { tests }: CodingProblem,
  root: string,
): Readonly<Record<string, string>> {
  return {
    root,
    tests: listed(tests.map((test, i) => ({ ...test, share: tested?.own[i] ?? null }))),
    generated: listed(tested?.written ?? []),
    hint: HINTS[direction],
  }
}

/** Each test keeps its own share, whichever are left out. */
function listed(tests: readonly (TestCase & { readonly share: number | null })[]): string {
  const shown = tests.filter(
    ({ input, output }) => input.length <= SHOWN_CHARACTERS && output.length <= SHOWN_CHARACTERS,
  )
  if (shown.length === 0) return 'none'
  return shown
    .map(({ input, output, share }) => {
      const passed = share === null ? 'nobody ran it' : `${Math.round(100 * share)} % pass`
      return `- input ${JSON.stringify(input)}, output ${JSON.stringify(output)}: ${passed}`
    })
    .join('\n')
}

/**
 * Reads a candidate. It needs four tests with input and output, and must be new. Its trial tells later
 * whether it is good.
 */
export function writtenTask({ task, taken }: RewriteRequest, answer: string): Rewrite {
  const parsed = parseCandidate(answer)
  if ('reason' in parsed) return { refused: parsed.reason }
  const { candidate } = parsed
  const id = `written/${createHash('sha256').update(JSON.stringify(candidate)).digest('hex').slice(0, 24)}`
  if (taken.includes(id) || sameText(candidate.question, task.goal))
    return { refused: 'it is the present problem, or one that was tried before' }
  const written: Task = {
    id,
    environment: task.environment,
    kind: 'written',
    goal: candidate.question,
    recipe: { kind: 'written', problem: candidate },
  }
  return { task: written }
}

const sameText = (a: string, b: string) =>
  a.trim().replace(/\s+/g, ' ').toLowerCase() === b.trim().replace(/\s+/g, ' ').toLowerCase()
