/** Errors of an endpoint: each names the model, and none tells a key or a password. */
import { RlError } from '../../errors.ts'
import { withoutKey } from '../../openai-api/key.ts'
import { withoutCredentials } from '../../secrets.ts'
import type { Fault } from './faults.ts'
import type { Refusals } from './refusals.ts'
import type { Wire } from './wire.ts'

/** A call without an answer, and the body that it sent. */
export type Failed = {
  readonly fault: Fault
  readonly error: unknown
  readonly sent: Wire['body']
}

export type EndpointErrors = {
  /** Returns a text without the key and without passwords of addresses, at most 500 characters. */
  readonly clean: (text: string) => string
  /** Returns the error for a prompt that is known not to fit; both sizes are in tokens. */
  readonly tooLong: (
    prompt: { readonly tokens: number; readonly context: number },
    maxTokens: number,
  ) => RlError
  /** Returns the error for an endpoint whose model another server has. */
  readonly unreachable: (last: Fault) => RlError
  readonly aborted: () => RlError
  readonly unsupported: () => RlError
  /** Returns the error for a fault that no retry helps. */
  readonly terminal: (failed: Failed, advice: Refusals['advice']) => RlError
  /** Returns the error for a budget that ran out. `called` says whether a call was made at all. */
  readonly outOfTime: (last: Fault | null, called: boolean) => RlError
}

/** @param key that requests are sent with, or null */
export function endpointErrors({
  model,
  key,
  apiKeyEnv,
  budgetMs,
}: {
  readonly model: string
  readonly key: string | null
  readonly apiKeyEnv: string
  readonly budgetMs: number
}): EndpointErrors {
  const clean = (text: string) => withoutCredentials(withoutKey(text, key)).slice(0, 500)
  const fail = (code: string, text: string, hint?: string) =>
    new RlError(`${model}: ${clean(text)}`, { code, hint })

  function terminal({ fault: { kind, message }, error, sent }: Failed, advice: Refusals['advice']): RlError {
    if (kind === 'context') return fail('model.context', message)
    const hint =
      kind === 'unauthorised'
        ? `check the key in ${apiKeyEnv}`
        : kind === 'not-found'
          ? 'check the model name and baseUrl'
          : (advice(error, sent) ?? 'the endpoint does not accept such a request')
    return fail(kind === 'not-found' ? 'model.not-found' : 'model.endpoint', `${kind}: ${message}`, hint)
  }

  function outOfTime(last: Fault | null, called: boolean): RlError {
    const waited = called ? 'the call was not answered' : 'it waited for other calls'
    const why = last ? `the last fault was ${last.kind}: ${last.message}` : waited
    return fail('model.deadline', `no answer within ${budgetMs / 1000} s; ${why}`)
  }

  return {
    clean,
    terminal,
    outOfTime,
    tooLong: ({ tokens, context }, maxTokens) =>
      fail(
        'model.context',
        `a prompt of some ${tokens} tokens, with an answer of up to ${maxTokens}, does not fit a context of ${context}, and was not sent`,
        'a shorter answer (maxTokens), fewer steps in prompts (policy.historySteps), or a longer context (windowTokens)',
      ),
    unreachable: ({ kind, message }) => fail('model.unreachable', `${kind}: ${message}`),
    aborted: () => fail('model.aborted', 'the call was cancelled'),
    unsupported: () => fail('model.unsupported', 'an endpoint returns no log-probs of given tokens'),
  }
}
