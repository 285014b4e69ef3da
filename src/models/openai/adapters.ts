/**
 * Loading and unloading weights under a name at a running server, as vLLM does it (POST /v1/load_lora_adapter with `lora_name`
 * and `lora_path`, POST /v1/unload_lora_adapter; it needs VLLM_ALLOW_RUNTIME_LORA_UPDATING) and `rl serve --allow-loading` too.
 */
import { RlError } from '../../errors.ts'

export type AdapterServer = {
  /** Base URL with `/v1`. */
  readonly baseUrl: string
  readonly key: string | null
}

/**
 * Loads a folder that the server can see; one that it has under this name already is taken as loaded: names are never used twice.
 * @throws RlError `model.adapter` where the server refuses, or the signal's reason
 */
export async function loadAdapter(
  server: AdapterServer,
  { name, path }: { readonly name: string; readonly path: string },
  signal: AbortSignal,
): Promise<void> {
  const { status, text } = await post(
    server,
    'load_lora_adapter',
    { lora_name: name, lora_path: path },
    signal,
  )
  if (status === 200 || (status === 400 && /already been loaded/.test(text))) return
  throw refused(`${name} was not loaded`, status, text)
}

/** @throws RlError `model.adapter`; that it is not there (404) is no error */
export async function unloadAdapter(server: AdapterServer, name: string, signal: AbortSignal): Promise<void> {
  const { status, text } = await post(server, 'unload_lora_adapter', { lora_name: name }, signal)
  if (status !== 200 && status !== 404) throw refused(`${name} was not unloaded`, status, text)
}

/** One token under the name: a server that has loaded it and cannot use it is found out before anything depends on it. */
export async function tryAdapter(server: AdapterServer, name: string, signal: AbortSignal): Promise<void> {
  const body = { model: name, messages: [{ role: 'user', content: 'Say ok.' }], max_tokens: 1 }
  const { status, text } = await post(server, 'chat/completions', body, signal)
  if (status === 200 && /"choices"\s*:\s*\[\s*\{/.test(text)) return
  throw refused(`${name} does not answer`, status, text)
}

async function post(
  { baseUrl, key }: AdapterServer,
  path: string,
  body: unknown,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const answer = await fetch(`${baseUrl.replace(/\/$/, '')}/${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(key === null ? {} : { authorization: `Bearer ${key}` }),
    },
    body: JSON.stringify(body),
    signal,
  })
  const text = await answer.text()
  return { status: answer.status, text: key === null ? text : text.replaceAll(key, '***') }
}

function refused(what: string, status: number, text: string): RlError {
  const hint = status === 404 ? 'the server must allow loading at run time' : undefined
  return new RlError(`${what}: status ${status}, ${text.slice(0, 300)}`, { code: 'model.adapter', hint })
}
