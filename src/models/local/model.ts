import { RlError } from '../../errors.ts'
import type { ModelDescription, TrainableModel, TrainingSample } from '../port.ts'
import type { BackendChoice } from './backend/backend.ts'
import type { ModelConfig } from './config.ts'
import type { LoraConfig } from './lora.ts'
import type {
  LocalGeneration,
  LocalRequest,
  Ready,
  ScoreSample,
  TokenEvent,
  WorkerOptions,
} from './messages.ts'
import { startModelThread } from './model-thread.ts'
import { createTokenizer, type Tokenizer, type TokenizerFiles } from './tokenizer.ts'

export type { LocalGeneration, LocalRequest, TokenEvent } from './messages.ts'

/** The means of a local model's computation. */
export type Compute = {
  readonly backend?: BackendChoice
  /** Threads of the native BLAS. With 1, the default, the other cores stay free for rollouts and actors. */
  readonly threads?: number
}

/** Returns that part of a run's config. */
export function computeOf({ backend, threads }: Compute): Compute {
  return { backend, threads }
}

export type LocalModelOptions = (
  | {
      /** A Hugging Face folder, or one with a PEFT adapter whose base model is a local folder. */
      readonly folder: string
    }
  | {
      /** A new model. `presetConfig` has shapes, `trainWordTokenizer` trains a tokenizer. */
      readonly config: ModelConfig
      readonly tokenizer: TokenizerFiles
      /** Seed of the initial weights. */
      readonly seed: number
      /** The name that `describe` returns. Default: `new model`. */
      readonly name?: string
    }
) &
  Compute & {
    /** A fresh low-rank adapter. Only the adapter is trained and saved. For folders only. */
    readonly lora?: LoraConfig & { readonly seed: number }
    /** Limit of the key-value cache of all sequences together, in bytes. It also limits the length of one sequence. Default: 256e6. */
    readonly cacheBytes?: number
    /** Longest sequence in tokens, if it is to be shorter than the model's context. */
    readonly contextTokens?: number
    /** Whether the model will be trained. Then memory for training is checked at the opening, not at the first update. */
    readonly trains?: boolean
    /** Most sequences that are sampled together. Further ones wait. Default: 256. */
    readonly maxSequences?: number
  }

/**
 * A local model for the server and the command line. It has more than the port: tokenizer, likeliest tokens, and a call for each new token.
 */
export type LocalModelFace = TrainableModel & {
  readonly ready: Ready
  readonly tokenizer: Tokenizer
  /** As `generate`, with the likeliest tokens if requested, and a call of `onToken` for each new token. */
  sample(
    requests: readonly LocalRequest[],
    options?: { readonly signal?: AbortSignal; readonly onToken?: (event: TokenEvent) => void },
  ): Promise<LocalGeneration[]>
}

const CACHE_BYTES = 256e6

/**
 * Opens a local model in its own thread. Calls of `generate` that arrive together, or while others run, are sampled as one batch.
 * `score`, `update`, `save` and `load` run alone, in order of arrival.
 * @throws RlError `model.folder`, `model.config`, `model.weights`, `model.tokenizer`, `model.memory`, `backend.missing`
 * @example
 * const model = await openLocalModel({ folder: 'Qwen/Qwen3-0.6B' })
 * const [{ text }] = await model.generate([{ prompt: { text: 'Hello' }, maxTokens: 16, temperature: 1, seed: [7, 0] }])
 * await model.close()
 */
export async function openLocalModel(options: LocalModelOptions): Promise<LocalModelFace> {
  const isFolder = 'folder' in options
  if (options.lora && !isFolder)
    throw new RlError('a new model cannot have an adapter', {
      code: 'model.lora',
      hint: 'train all of its weights, or save it and open the folder with an adapter',
    })
  const workerData: WorkerOptions = {
    source: isFolder
      ? { kind: 'folder', folder: options.folder }
      : { kind: 'fresh', config: options.config, tokenizer: options.tokenizer, seed: options.seed },
    backend: options.backend ?? 'auto',
    threads: options.threads ?? 1,
    lora: options.lora ?? null,
    cacheBytes: options.cacheBytes ?? CACHE_BYTES,
    contextTokens: options.contextTokens ?? null,
    trains: options.trains ?? false,
    maxSequences: options.maxSequences ?? 256,
  }
  const { ready, call, close } = await startModelThread(workerData)

  const name = isFolder ? options.folder : (options.name ?? 'new model')
  const description: ModelDescription = {
    name,
    provider: 'local',
    contextTokens: ready.config.contextTokens,
    vocabulary: ready.config.vocabSize,
    parameters: ready.parameters,
    backend: ready.backend,
  }
  const tokenizer = createTokenizer(ready.tokenizer, name)
  const sample: LocalModelFace['sample'] = async (requests, { signal, onToken } = {}) =>
    requests.length === 0
      ? []
      : [
          ...(await call(
            'generate',
            { requests: requests.map(compactRequest), streaming: onToken !== undefined },
            { signal, onToken },
          )),
        ]

  return {
    ready,
    tokenizer,
    describe: () => description,
    encode: (text) => tokenizer.encode(text),
    decode: (tokens) => tokenizer.decode(tokens),
    generate: (requests, signal) => sample(requests, { signal }),
    sample,
    score: async (samples, { temperature = 1 } = {}) => [
      ...(await call('score', { samples: samples.map(compactSample), temperature })),
    ],
    update: (samples, updateOptions) =>
      call('update', { samples: samples.map(compactSample), options: updateOptions }),
    save: (folder) => call('save', folder),
    async load(folder) {
      await call('load', folder)
    },
    close,
  }
}

/** A message copies the whole buffer behind a view. So views become arrays of their own. */
function compact<T extends Int32Array | Uint8Array | Float32Array>(array: T): T {
  return (array.byteLength === array.buffer.byteLength ? array : array.slice()) as T
}

/** Parts of a request that the worker reads beside its prompt. */
const SENT = [
  'maxTokens',
  'temperature',
  'topP',
  'topK',
  'minP',
  'repetitionPenalty',
  'logprobs',
  'stopTokens',
  'stopTexts',
  'seed',
  'choices',
  'given',
  'entropies',
  'cacheKey',
  'topLogprobs',
  'roomFor',
] as const satisfies readonly (keyof LocalRequest)[]

/** Copies only what the worker reads: a request may contain values that cannot be sent. */
function compactRequest(request: LocalRequest): LocalRequest {
  const { prompt } = request
  const given = 'tokens' in prompt ? { tokens: compact(Int32Array.from(prompt.tokens)) } : prompt
  const sent = Object.fromEntries(SENT.map((name) => [name, request[name]])) as Omit<LocalRequest, 'prompt'>
  return { prompt: given, ...sent }
}

function compactSample<T extends ScoreSample & Partial<TrainingSample>>(sample: T): T {
  const { advantages, logprobs, referenceLogprobs, allowed } = sample
  return {
    ...sample,
    tokens: compact(sample.tokens),
    mask: compact(sample.mask),
    ...(advantages && { advantages: compact(advantages) }),
    ...(logprobs && { logprobs: compact(logprobs) }),
    ...(referenceLogprobs && { referenceLogprobs: compact(referenceLogprobs) }),
    ...(allowed && {
      allowed: { offsets: compact(allowed.offsets), tokens: compact(allowed.tokens) },
    }),
  }
}
