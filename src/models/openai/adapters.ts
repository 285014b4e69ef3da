/**
 * Loads weights into a running server and unloads them. Each kind of server has its own routes.
 * - vllm: `POST /v1/load_lora_adapter` with `lora_name` and `lora_path`, `POST /v1/unload_lora_adapter`. vLLM needs
 * VLLM_ALLOW_RUNTIME_LORA_UPDATING. `rl serve --allow-loading` takes whole models by these routes too.
 * - sglang: the same two without `/v1`, with answers in JSON. A call names the model as `<base>:<adapter>`.
 * - sglang with whole weights: `POST /update_weights_from_disk` with `model_path` replaces the server's weights.
 */
import { RlError } from '../../errors.ts'
import { withoutKey } from '../../openai-api/key.ts'
import { httpFetch } from '../../platform/http.ts'

export type AdapterServer = {
  /** Base URL with `/v1`. */
  readonly baseUrl: string
  readonly key: string | null
}

type NamedWeights = { readonly name: string; readonly path: string }

export type WeightRoutes = {
  /**
   * Loads a folder that the server can see. Names are never used twice, so a name that the server already has counts as
   * loaded.
   * Rejects with RlError `model.adapter` if the server refuses, or with the signal's reason.
   */
  readonly load: (server: AdapterServer, weights: NamedWeights, signal: AbortSignal) => Promise<void>
  /** Unloads the weights. A missing name is no error. Rejects with RlError `model.adapter`. */
  readonly unload: (server: AdapterServer, name: string, signal: AbortSignal) => Promise<void>
  /** Maps a name of weights to the model name of a call. */
  readonly calledBy: (base: string) => (name: string) => string
}

/** How the config says that weights are published. */
export type PublishedAs = { readonly as: 'none' | 'lora' | 'model'; readonly routes: 'vllm' | 'sglang' }

export function weightRoutes({ as, routes }: PublishedAs): WeightRoutes {
  if (routes === 'vllm') return VLLM
  return as === 'model' ? SGLANG_WEIGHTS : SGLANG_ADAPTERS
}

const itself = () => (name: string) => name

const VLLM: WeightRoutes = {
  async load(server, { name, path }, signal) {
    const body = { lora_name: name, lora_path: path }
    const { status, text } = await post(server, 'v1/load_lora_adapter', body, signal)
    if (status === 200 || (status === 400 && /already been loaded/.test(text))) return
    throw refused(`${name} was not loaded`, status, text)
  },
  async unload(server, name, signal) {
    const { status, text } = await post(server, 'v1/unload_lora_adapter', { lora_name: name }, signal)
    if (status !== 200 && status !== 404) throw refused(`${name} was not unloaded`, status, text)
  },
  calledBy: itself,
}

const SGLANG_ADAPTERS: WeightRoutes = {
  async load(server, { name, path }, signal) {
    const body = { lora_name: name, lora_path: path }
    const { status, text } = await post(server, 'load_lora_adapter', body, signal)
    if (succeeded(status, text) || /already (?:been )?loaded/.test(text)) return
    throw refused(`${name} was not loaded`, status, text)
  },
  async unload(server, name, signal) {
    const { status, text } = await post(server, 'unload_lora_adapter', { lora_name: name }, signal)
    if (!succeeded(status, text) && !/not (?:found|loaded|registered)/.test(text))
      throw refused(`${name} was not unloaded`, status, text)
  },
  calledBy: (base) => (name) => `${base}:${name}`,
}

/** SGLang has one set of weights, so nothing is named and nothing is unloaded. */
const SGLANG_WEIGHTS: WeightRoutes = {
  async load(server, { name, path }, signal) {
    const { status, text } = await post(server, 'update_weights_from_disk', { model_path: path }, signal)
    if (!succeeded(status, text)) throw refused(`${name} was not loaded`, status, text)
  },
  async unload() {},
  calledBy: (base) => () => base,
}

/** SGLang answers some failures with 200 and `success: false`. */
function succeeded(status: number, text: string): boolean {
  return status === 200 && !/"success"\s*:\s*false/.test(text)
}

/** Generates one token. So a server that cannot use loaded weights fails before anything depends on it. */
export async function tryAdapter(server: AdapterServer, model: string, signal: AbortSignal): Promise<void> {
  const body = { model, messages: [{ role: 'user', content: 'Say ok.' }], max_tokens: 1 }
  const { status, text } = await post(server, 'v1/chat/completions', body, signal)
  if (status === 200 && /"choices"\s*:\s*\[\s*\{/.test(text)) return
  throw refused(`${model} does not answer`, status, text)
}

/** @param path from the server's root, which is the base URL without `/v1` */
async function post(
  { baseUrl, key }: AdapterServer,
  path: string,
  body: unknown,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await httpFetch(`${baseUrl.replace(/\/(?:v1\/?)?$/, '')}/${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify(body),
    signal,
  })
  const text = await answer.text()
  return { status: answer.status, text: withoutKey(text, key) }
}

function refused(what: string, status: number, text: string): RlError {
  // A server without the route knows no adapters. A server with the route names what it does not find.
  const hint =
    status === 404 && !/adapter|lora|model/i.test(text)
      ? 'the server must allow loading at run time'
      : undefined
  return new RlError(`${what}: status ${status}, ${text.slice(0, 300)}`, { code: 'model.adapter', hint })
}
