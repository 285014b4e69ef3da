import OpenAI from 'openai'
import { RlError } from '../../errors.ts'
import { withoutCredentials } from '../../secrets.ts'
import type { ModelOptions } from '../provider.ts'
import { fetchReadably } from './faults.ts'

/**
 * Returns a client of the endpoint, which repeats nothing by itself.
 * @param key of the endpoint, or null if its variable is not set
 * @throws RlError `config.missing-key` without a key for the default endpoint, `model.endpoint` for an address with a password
 */
export function openClient({ model, baseUrl, apiKeyEnv, callMs }: ModelOptions, key: string | null): OpenAI {
  if (key === null && baseUrl === null)
    throw new RlError(`the environment variable ${apiKeyEnv} is not set`, {
      code: 'config.missing-key',
      hint: 'set it to the API key, or set baseUrl to a server that needs none',
    })
  if (baseUrl !== null && withoutCredentials(baseUrl) !== baseUrl)
    throw new RlError(
      `${model}: the address ${withoutCredentials(baseUrl)} has a user or a password, which fetch refuses`,
      {
        code: 'model.endpoint',
        hint: `put a key into ${apiKeyEnv}; it is sent as Authorization: Bearer`,
      },
    )
  return new OpenAI({
    apiKey: key ?? 'none',
    baseURL: baseUrl ?? undefined,
    maxRetries: 0,
    timeout: callMs,
    logLevel: 'off',
    fetch: fetchReadably,
  })
}
