/** Calls functions of the page's driver, and does for the page what only the browser can do. */
import { safeParse } from 'rlanything/kit'
import { z } from 'zod'
import type { Input } from './input.ts'
import { chordOf } from './keys.ts'
import type { Loads } from './loads.ts'
import { pageError } from './page-error.ts'
import type { Send } from './page-session.ts'
import type { Standing } from './page-standing.ts'

/** Characters that are typed at a time. */
const MOST_WRITTEN = 4_000
/** Characters of a page's own error. */
const MOST_TOLD = 500

/** Calls a function of `__rl` in the page, and returns its answer. */
export type Call = (name: string, argument: unknown, deadlineMs: number) => Promise<unknown>

export function pageCalls(
  send: Send,
  standing: Pick<Standing, 'check' | 'left'>,
  loads: Pick<Loads, 'begin' | 'settled'>,
  input: Pick<Input, 'perform'>,
): Call {
  async function evaluate(name: string, argument: unknown, deadlineMs: number): Promise<unknown> {
    standing.check()
    const expression = `Promise.resolve(__rl.${name}(${JSON.stringify(argument ?? null)})).then(JSON.stringify)`
    const { result, exceptionDetails } = (await send(
      'Runtime.evaluate',
      { expression, awaitPromise: true, returnByValue: true, allowUnsafeEvalBlockedByCSP: false },
      deadlineMs,
    ).catch((error: unknown) => {
      const left = standing.left()
      throw left === null ? error : pageError(left)
    })) as {
      result?: { value?: unknown }
      exceptionDetails?: { text: string; exception?: { description?: string } }
    }
    if (exceptionDetails)
      throw pageError(
        (exceptionDetails.exception?.description ?? exceptionDetails.text)
          .slice(0, MOST_TOLD)
          .split('\n')
          .slice(0, 3)
          .join(' '),
      )
    standing.check()
    if (typeof result?.value !== 'string') throw pageError('it gave no answer')
    try {
      return JSON.parse(result.value)
    } catch {
      throw pageError('its answer is no JSON')
    }
  }

  /** Calls a function. Meanwhile does for the page what only the browser can do. */
  async function call(name: string, argument: unknown, deadlineMs: number): Promise<unknown> {
    const until = performance.now() + deadlineMs
    const left = () => Math.max(1, until - performance.now())
    loads.begin()
    let told = await evaluate(name, argument, deadlineMs)
    for (let asks = asksOf(told); asks !== null; asks = asksOf(told))
      told = await evaluate('goOn', await help(asks, left()), left())
    return told
  }

  async function help({ write, press, loads: waits }: Asks, deadlineMs: number): Promise<boolean> {
    if (waits === true) return loads.settled()
    const keys = press === undefined ? null : chordOf(press)
    if (write !== undefined) await input.perform({ type: 'type', text: write }, deadlineMs)
    else if (keys) await input.perform({ type: 'hotkey', keys }, deadlineMs)
    return true
  }

  return call
}

/** Requests of a page: keys to type or press, or to wait for its loads. */
type Asks = { readonly write?: string; readonly press?: string; readonly loads?: boolean }

const asksSchema = z.object({
  asks: z.object({
    write: z.string().max(MOST_WRITTEN).optional(),
    press: z.string().max(40).optional(),
    loads: z.boolean().optional(),
  }),
})

const asksOf = (told: unknown): Asks | null => safeParse(asksSchema, told).data?.asks ?? null
