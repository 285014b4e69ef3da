/** Gives an input to a reader, and finds out how long it holds the event loop. */
import { setTimeout } from 'node:timers/promises'
import { RlError } from '../../src/errors.ts'
import type { OpenTarget } from './target.ts'

export type Verdict =
  | { readonly kind: 'right' }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'crash' | 'hang' | 'silent'; readonly why: string }

/** A turn of the event loop may hold it for so long (processor time in ms). */
const HOLD_MS = 50
/**
 * An input that seems to hold the loop is tried again, after a pause of so many ms for each try before: a collection of garbage or a
 * compilation strikes once, and a busy machine is slow for a while.
 */
const TRIES = 5
const PAUSE_MS = 200
/** An error that names more than this is no message any more. */
const MESSAGE_CHARACTERS = 8_000

/** Processor time of this thread (ms); of the process where Node cannot tell a thread's. */
function cpuMs(): number {
  const { user, system } = process.threadCpuUsage?.() ?? process.cpuUsage()
  return (user + system) / 1000
}

async function verdictOf(target: OpenTarget, input: Uint8Array): Promise<Verdict> {
  try {
    const why = await target.take(input)
    return why === null ? { kind: 'right' } : { kind: 'silent', why }
  } catch (error) {
    if (!(error instanceof RlError))
      return { kind: 'crash', why: `no named error: ${String((error as Error)?.stack ?? error)}` }
    if (error.message.length > MESSAGE_CHARACTERS)
      return { kind: 'crash', why: `${error.code}: a message of ${error.message.length} characters` }
    return { kind: 'refused', code: error.code }
  }
}

/** The verdict, and the longest turn of the event loop while it was found. */
async function timed(
  target: OpenTarget,
  input: Uint8Array,
): Promise<{ verdict: Verdict; longestMs: number }> {
  let longestMs = 0
  let before = cpuMs()
  let over = false
  const turn = () => {
    const now = cpuMs()
    longestMs = Math.max(longestMs, now - before)
    before = now
    if (!over) setImmediate(turn)
  }
  setImmediate(turn)
  const verdict = await verdictOf(target, input)
  over = true
  turn()
  return { verdict, longestMs }
}

export async function judge(target: OpenTarget, input: Uint8Array): Promise<Verdict> {
  const first = await timed(target, input)
  let longest = first.longestMs
  for (let time = 1; time < TRIES && longest > HOLD_MS; time++) {
    await setTimeout(time * PAUSE_MS)
    longest = Math.min(longest, (await timed(target, input)).longestMs)
  }
  if (longest <= HOLD_MS || (first.verdict.kind !== 'right' && first.verdict.kind !== 'refused'))
    return first.verdict
  return { kind: 'hang', why: `it holds the event loop for ${Math.round(longest)} ms` }
}
