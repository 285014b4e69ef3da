import { basename, resolve } from 'node:path'
import { parseCommandLine, portNumber, wholeNumber } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { openLocalModel } from '../models/local/model.ts'
import { startModelServer } from '../models/local/server.ts'
import type { Command } from './command.ts'
import { backendFlag, cacheBytes, cacheFlag, required, tokenFlag } from './model-flags.ts'
import { trainedVersion } from './trained-version.ts'

/** Most models beside its own that a server may be asked to load. */
const MOST_LOADED = 8

export const command: Command = {
  summary: 'serve a local model over HTTP, compatible with OpenAI clients',
  serves: true,
  help: `
rl serve RUN[@VERSION] [options]
rl serve --model DIR [--name NAME] [--host 127.0.0.1] [--port 8000] [--token TOKEN] [--backend NAME] [--max-requests N]
         [--threads 1] [--cache-megabytes N] [--allow-loading]

RUN serves what a run has learned: its newest policy version, or the one after @. --model serves a folder.

Serves POST /v1/chat/completions and /v1/completions (streaming, n, seed, stop, logprobs), GET /v1/models and /health.
Every request under /v1 needs the header "Authorization: Bearer TOKEN". The token is RL_SERVE_TOKEN or --token; without
either a random one is printed once. --port 0 takes a free port.

--cache-megabytes bounds keys and values of all requests together (256), and so the longest prompt with its answer.
/v1/models tells this length as max_model_len. rl model info tells the bytes a token.

--allow-loading adds POST /v1/load_lora_adapter {"lora_name", "lora_path"} and /v1/unload_lora_adapter {"lora_name"}, as in
vLLM, for adapters and whole model folders. Anybody with the token can then make the server read any folder as a model.

Supported fields of OpenAI:
  model, messages or prompt, temperature, top_p, max_tokens, max_completion_tokens, stop, seed, n, logprobs, top_logprobs, stream
  best_of            number of samples; the answer has the n with the highest mean log-prob
  tools              functions, also if the chat template knows none; any tool_choice, parallel_tool_calls
  response_format    text, or json_schema: strings and numbers are open, and the rest has at most 4096 texts; also beside tools
  prompt_cache_key   requests with the same key share a growing prefix

Further fields, by vLLM's names if it has one:
  top_k, min_p, repetition_penalty
  stop_token_ids     ids that end a completion
  guided_choice      texts, one of which is the completion
  guided_json        a JSON schema, as in response_format
  choice_token_ids   the same as token sequences; log-probs are over the tokens that they allow
  seed_words         two unsigned 32-bit words instead of seed
  chat_template_kwargs   further variables of the chat template, if it reads them
  given_answer       {"content", "tool_calls"} of an answer that the model need not write; with logprobs it tells how likely it is
  return_token_ids   true: prompt_token_ids and token_ids in the response, as vLLM gives them

Any other field, or an unsupported value, is refused by name.`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          model: { type: 'string' },
          name: { type: 'string' },
          host: { type: 'string', default: '127.0.0.1' },
          port: { type: 'string', default: '8000' },
          token: { type: 'string' },
          backend: { type: 'string', default: 'auto' },
          threads: { type: 'string', default: '1' },
          'max-requests': { type: 'string', default: '256' },
          'allow-loading': { type: 'boolean', default: false },
          ...cacheFlag,
        },
        allowPositionals: true,
      },
      argv,
    )
    const { folder, name } = await servedModel(positionals, values)
    const given = tokenFlag(values.token, 'RL_SERVE_TOKEN')
    const compute = {
      backend: await backendFlag(values.backend),
      threads: wholeNumber('--threads', values.threads, 1),
      cacheBytes: cacheBytes(values),
    }
    const model = await openLocalModel({ folder, ...compute })
    try {
      const server = await startModelServer(model, {
        host: values.host,
        port: portNumber(values.port),
        name,
        maxRequests: wholeNumber('--max-requests', values['max-requests'], 1),
        token: given,
        loading: values['allow-loading']
          ? { open: (path) => openLocalModel({ folder: path, ...compute }), most: MOST_LOADED }
          : undefined,
      })
      process.stdout.write(`${name} on ${model.describe().backend}\n${server.url}\n`)
      if (given === undefined) process.stdout.write(`token ${server.token}\n`)
      await new Promise<void>((stop) => {
        process.once('SIGINT', () => stop())
        process.once('SIGTERM', () => stop())
      })
      await server.close()
    } finally {
      await model.close()
    }
    return 0
  },
}

async function servedModel(
  [text, ...rest]: readonly string[],
  { model, name }: { readonly model?: string; readonly name?: string },
): Promise<{ readonly folder: string; readonly name: string }> {
  if (rest.length > 0 || (text === undefined) === (model === undefined))
    throw new RlError('expected one run, or --model', { code: 'cli.usage', hint: 'rl serve --help' })
  if (text === undefined) {
    const folder = required('--model', model)
    return { folder, name: name ?? basename(resolve(folder)) }
  }
  const { run, version, folder } = await trainedVersion(text)
  return { folder, name: name ?? `${run}@${version}` }
}
