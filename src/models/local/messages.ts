/** Messages between a local model's object and its worker thread. */
import { explain, RlError } from '../../errors.ts'
import type { GenerateRequest, Generation, TrainingSample, UpdateMetrics, UpdateOptions } from '../port.ts'
import type { BackendChoice } from './backend/backend.ts'
import type { ModelConfig } from './config.ts'
import type { LoraConfig } from './lora.ts'
import type { Draw } from './sampling.ts'
import type { TokenizerFiles } from './tokenizer.ts'

export type WorkerOptions = {
  readonly source:
    | { readonly kind: 'folder'; readonly folder: string }
    | {
        readonly kind: 'fresh'
        readonly config: ModelConfig
        readonly tokenizer: TokenizerFiles
        readonly seed: number
      }
  readonly backend: BackendChoice
  readonly threads: number
  readonly lora: (LoraConfig & { readonly seed: number }) | null
  readonly cacheBytes: number
  /** Null takes the most that the model and the cache allow. */
  readonly contextTokens: number | null
  readonly trains: boolean
  readonly maxSequences: number
}

/** Sent once, after the model was loaded. */
export type Ready = {
  readonly config: ModelConfig
  readonly tokenizer: TokenizerFiles
  readonly parameters: number
  readonly trainable: number
  readonly backend: string
  readonly cacheTokens: number
}

/** A generation request with options of local models. */
export type LocalRequest = GenerateRequest & {
  readonly topLogprobs?: number
  /**
   * Number of tokens that must fit behind the prompt, else the request is refused. With 0, the default, `maxTokens` is cut to the room
   * left.
   */
  readonly roomFor?: number
}

export type LocalGeneration = Generation & {
  readonly tokens: Int32Array
  readonly logprobs: Float32Array
  readonly promptTokens: Int32Array
  /** The stop text that ended the generation. Null if none did. */
  readonly stopText: string | null
  /** For each sampled token the likeliest tokens at its position, likeliest first. Empty unless requested. */
  readonly top: readonly (readonly Draw[])[]
}

/** One new token of request `index`. The first event of a request also has its prompt. */
export type TokenEvent = {
  readonly index: number
  readonly draw: Draw
  readonly top: readonly Draw[]
  readonly promptTokens?: Int32Array
}

export type ScoreSample = Pick<TrainingSample, 'tokens' | 'mask' | 'allowed'>

/** Every call with its argument and result. */
export type Calls = {
  generate: [
    { readonly requests: readonly LocalRequest[]; readonly streaming: boolean },
    readonly LocalGeneration[],
  ]
  score: [{ readonly samples: readonly ScoreSample[]; readonly temperature: number }, readonly Float32Array[]]
  update: [{ readonly samples: readonly TrainingSample[]; readonly options: UpdateOptions }, UpdateMetrics]
  save: [string, string]
  load: [string, null]
  close: [null, null]
}

export type CallName = keyof Calls

export type ToWorker =
  | { readonly id: number; readonly call: CallName; readonly argument: Calls[CallName][0] }
  | { readonly abort: number }

export type FromWorker =
  | { readonly ready: Ready }
  | { readonly id: number; readonly value: Calls[CallName][1] }
  | { readonly id: number; readonly token: TokenEvent }
  /** Id 0 means that the model could not be opened. */
  | { readonly id: number; readonly error: PlainError }

export type PlainError = { readonly message: string; readonly code: string; readonly hint?: string }

export function toPlain(error: unknown): PlainError {
  if (error instanceof RlError) return { message: error.message, code: error.code, hint: error.hint }
  return { message: explain(error), code: 'model.failed' }
}

export function fromPlain({ message, code, hint }: PlainError): RlError {
  return new RlError(message, { code, hint })
}
