/** Judges an episode at its end. */
import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '../../is-record.ts'
import { broken } from '../sessions/fault.ts'
import type { Rewards } from '../sessions/rewards.ts'
import { textOf } from './results.ts'
import type { Checker } from './section.ts'
import type { CallToolResult } from './server.ts'

const ANSWER = '{answer}'

/** Resolves to the result of a tool. Rejects if there is none. */
export type MakeCall = (tool: string, values: Readonly<Record<string, unknown>>) => Promise<CallToolResult>

/** Resolves to the output of a checker's program, which is told the answer. Rejects if it fails. */
export type RunProgram = (command: readonly string[], answer: string) => Promise<string>

/**
 * Resolves to the reward of an episode.
 *
 * @param answer last words of the model
 * @param ask calls a tool, or runs the checker's program
 */
export async function judge(
  checker: Checker | null,
  answer: string,
  { low, high }: Rewards,
  { call, run }: { readonly call: MakeCall; readonly run: RunProgram },
): Promise<number> {
  if (!checker) return low
  const { tool, command, equals, contains, number } = checker
  const result =
    tool === undefined
      ? textResult(command === undefined ? answer : await run(command, answer))
      : await call(tool, filled(checker, answer))
  const text = textOf(result).trim()
  if (number !== undefined && number !== false) return rewardIn(result, text, number)
  const right = contains !== undefined ? text.includes(contains) : isEqual(result, text, equals)
  return right ? high : low
}

const textResult = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] })

function filled({ arguments: values }: Checker, answer: string): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, value === ANSWER ? answer : value]),
  )
}

function isEqual(result: CallToolResult, text: string, wanted: unknown): boolean {
  if (typeof wanted === 'string') return text === wanted.trim()
  return isDeepStrictEqual(jsonOf(result, text), wanted)
}

function jsonOf({ structuredContent }: CallToolResult, text: string): unknown {
  if (structuredContent !== undefined) return structuredContent
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns the field of a result, or the last number in its text. */
function rewardIn(result: CallToolResult, text: string, field: true | string): number {
  const json = jsonOf(result, text)
  const value =
    typeof field === 'string'
      ? isRecord(json)
        ? json[field]
        : undefined
      : Number(/-?\d+(?:\.\d+)?(?:e-?\d+)?(?!.*\d)/is.exec(text.slice(-1_000))?.[0] ?? Number.NaN)
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw broken(`the checker finds no number in its result: ${text.slice(0, 200)}`)
  return value
}
