import { randomBytes } from 'node:crypto'
import { listen } from '../../platform/listen.ts'
import type { LocalModelFace } from './model.ts'
import { createApp } from './server/app.ts'
import { type LoadingOptions, servedModels } from './server/served.ts'

export type ModelServerOptions = {
  /** Default: loopback. */
  readonly host?: string
  /** Default: 0, which takes a free port. */
  readonly port?: number
  /** Default: a random token. */
  readonly token?: string
  /** Name of the model for clients. */
  readonly name: string
  readonly maxBodyBytes?: number
  /** Most requests in progress. Further ones are answered with 429. */
  readonly maxRequests?: number
  /** Lets clients load further models and adapters (vLLM's endpoints). They may name any folder that this process can read. */
  readonly loading?: LoadingOptions
}

export type ModelServer = {
  /** Base URL for OpenAI clients, e.g. `http://127.0.0.1:8000/v1`. */
  readonly url: string
  readonly token: string
  /** Closes the connections and the models that clients loaded. The served model stays open. */
  close(): Promise<void>
}

/**
 * Serves a local model over HTTP with the OpenAI API: /v1/chat/completions, /v1/completions, /v1/models, and /health. With `loading`
 * also /v1/load_lora_adapter and /v1/unload_lora_adapter. Requests that arrive together are sampled as one batch.
 * @throws RlError `server.listen` if the address is not available
 */
export async function startModelServer(
  model: LocalModelFace,
  {
    host = '127.0.0.1',
    port = 0,
    token = randomBytes(24).toString('base64url'),
    name,
    maxBodyBytes = 4_000_000,
    maxRequests = 256,
    loading,
  }: ModelServerOptions,
): Promise<ModelServer> {
  const served = servedModels(name, model, loading ?? null)
  const app = createApp(served, { token, maxBodyBytes, maxRequests })
  const { url, close } = await listen(app, { host, port, unread: 'end' })
  return {
    url: `${url}/v1`,
    token,
    async close() {
      await close()
      await served.close()
    },
  }
}
