import { RlError } from '../../errors.ts'
import type { createLimit } from '../../limit.ts'
import type { GenerateRequest, Generation } from '../port.ts'
import type { ModelOptions } from '../provider.ts'
import { backoffMs, deadline, pauseOrThrow } from './deadline.ts'
import type { EndpointErrors, Failed } from './endpoint-errors.ts'
import type { Fault } from './faults.ts'
import type { Refusals } from './refusals.ts'
import type { UseCounter } from './use.ts'
import type { Window } from './window.ts'

type Parts = Pick<ModelOptions, 'budgetMs' | 'elsewhere'> & {
  /** One call. It throws an RlError, or a value of `Failed`. */
  readonly call: (request: GenerateRequest, budget: AbortSignal) => Promise<Generation>
  readonly limited: ReturnType<typeof createLimit>
  readonly errors: EndpointErrors
  readonly refusals: Refusals
  readonly counter: UseCounter
  readonly window: Window
}

/** Returns a function that repeats a call after passing faults as long as its budget lasts. */
export function createAttempts({
  call,
  limited,
  errors,
  refusals,
  counter,
  window,
  budgetMs,
  elsewhere,
}: Parts) {
  return async function generateOne(request: GenerateRequest, signal: AbortSignal): Promise<Generation> {
    const excess = window.excess(request)
    if (excess) {
      counter.add('unsent')
      throw errors.tooLong(excess, request.maxTokens)
    }
    const budget = deadline(budgetMs, signal)
    const startedMs = performance.now()
    let last: Fault | null = null
    let called = false
    const calling = () => {
      called = true
      return call(request, budget.signal)
    }
    try {
      for (let attempt = 0; ; attempt++) {
        let failed: Failed
        try {
          return await limited(budget.signal, calling)
        } catch (error) {
          if (budget.signal.aborted || error instanceof RlError) throw error
          failed = error as Failed
        }
        // vLLM names fields in its refusal if a prompt leaves no room for the answer.
        if (failed.fault.kind !== 'context' && refusals.adapts(failed.error, failed.sent)) continue
        last = failed.fault
        counter.addFault(last.kind)
        if (last.kind === 'context') window.refused(request, last.message)
        if (!last.passing) throw errors.terminal(failed, refusals.advice)
        if (last.kind === 'connection' && attempt > 0 && elsewhere?.()) throw errors.unreachable(last)
        const waitMs = backoffMs(attempt, last.retryAfterMs)
        if (performance.now() - startedMs + waitMs >= budgetMs) throw errors.outOfTime(last, called)
        counter.add('retries')
        await pauseOrThrow(waitMs, budget.signal)
      }
    } catch (error) {
      if (error instanceof RlError) throw error
      if (budget.expired()) throw errors.outOfTime(last, called)
      throw errors.aborted()
    } finally {
      budget.clear()
    }
  }
}
