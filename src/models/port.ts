/** The one port through which the loop uses a language model, in this process or behind HTTP. */
import type { Seed } from '../random.ts'

/** An image by the SHA-256 (hex) of its file. Width and height are in pixels. The caller of a model reads the file. */
export type ImageRef = {
  readonly sha256: string
  readonly bytes: number
  readonly mediaType: 'image/png' | 'image/webp' | 'image/jpeg'
  readonly width: number
  readonly height: number
}

export type ContentPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly image: ImageRef }

export type ChatMessage = {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  /** A text, or parts if the message has images. */
  readonly content: string | readonly ContentPart[]
  /** Only in messages of an assistant: the tools that it called. */
  readonly toolCalls?: readonly {
    readonly id?: string
    readonly name: string
    readonly arguments: Readonly<Record<string, unknown>>
  }[]
  /** Only in messages of a tool: id and name of the call that it answers. */
  readonly toolCallId?: string
  readonly toolName?: string
}

/** A tool as the model sees it. */
export type ToolSpec = {
  readonly name: string
  readonly description: string
  /** JSON schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>
}

export type TextMessage = ChatMessage & { readonly content: string }

/** The model's input: token ids, a plain text, or a chat that the model's template renders. */
export type Prompt =
  | { readonly tokens: readonly number[] | Int32Array }
  | { readonly text: string }
  | {
      readonly messages: readonly ChatMessage[]
      /** Further variables of the chat template, e.g. `enable_thinking` of Qwen3. */
      readonly template?: Readonly<Record<string, unknown>>
      /** Tools that the model may call. */
      readonly tools?: readonly ToolSpec[]
    }

export type GenerateRequest = {
  readonly prompt: Prompt
  readonly maxTokens: number
  /** 0 is greedy. */
  readonly temperature: number
  /** Nucleus sampling: keeps the smallest set of tokens with at least this share of probability. 1 keeps all. */
  readonly topP?: number
  /** Keeps this number of the likeliest tokens. 0 keeps all. */
  readonly topK?: number
  /** Keeps tokens with at least this share of the likeliest token's probability (arXiv 2407.01082). 0 keeps all. */
  readonly minP?: number
  /**
   * Penalises tokens that are in the prompt or in the text so far: a positive logit is divided by it, others are multiplied. 1 changes
   * nothing.
   */
  readonly repetitionPenalty?: number
  /** Temperature of the log-probs: 1 (`model`) or that of the draw (`sampling`), before any cut. Default: `model`. Local models only. */
  readonly logprobs?: 'model' | 'sampling'
  /** Generation ends after one of these token ids, which is kept. The model's own end tokens also apply. */
  readonly stopTokens?: readonly number[]
  /** Generation ends before one of these texts. The text itself is cut off. */
  readonly stopTexts?: readonly string[]
  /** Seed of this sequence alone. The result depends on no other sequence of the batch. */
  readonly seed: Seed
  /** Only these token sequences may be generated. Log-probs are renormalised over the allowed tokens. Local models only. */
  readonly choices?: readonly (readonly number[])[]
  /**
   * The answer: these tokens are taken in place of draws, and only their log-probs are asked. At most `maxTokens` of them. Local
   * models only.
   */
  readonly given?: readonly number[]
  /** Whether the entropy at the place of each token is told. Local models only. */
  readonly entropies?: boolean
  /** Sequences with the same key share a growing prefix (an episode). The matching part of the last call's KV cache is reused. */
  readonly cacheKey?: string
}

/**
 * Why a generation ended:
 * - `stop`: at an end token, a stop text or the end of a choice
 * - `length`: `maxTokens` or the context was reached
 * - `refused`: an endpoint refused, or a filter cut the answer. There is no text and nothing to learn from
 */
export type FinishReason = 'stop' | 'length' | 'refused'

export type Generation = {
  readonly text: string
  readonly finish: FinishReason
  /** Sampled token ids, with the end token if one was sampled. Null if the endpoint does not report them. */
  readonly tokens: Int32Array | null
  /**
   * Log-prob of each sampled token, before any cut. The temperature is 1 unless `logprobs` asked otherwise. With `choices` it is
   * renormalised over the allowed tokens. Null if unknown.
   */
  readonly logprobs: Float32Array | null
  /** Entropy over the allowed tokens at the place of each sampled one, in nats, at temperature 1. Absent unless it was asked for. */
  readonly entropies?: Float32Array
  /** The tokens that were allowed at the place of each sampled one. Absent if all were, or if the endpoint does not tell. */
  readonly allowed?: readonly (readonly number[])[]
  /** Tool calls that the endpoint returned apart from the text. The arguments are as the model wrote them. */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[]
  /**
   * Reasoning that the endpoint returned apart from the text, and the number of first tokens that belong to it. If that number is unknown,
   * it is all tokens.
   */
  readonly reasoning?: { readonly text: string; readonly tokens: number }
  /** Model name in the endpoint's answer if another model was asked. '' if the answer has no name. Nothing is learned from such an answer. */
  readonly otherModel?: string
  /** Token ids of the rendered prompt. Null if the endpoint does not report them. */
  readonly promptTokens: Int32Array | null
  readonly usage: {
    readonly promptTokens: number
    readonly cachedTokens: number
    readonly completionTokens: number
  }
}

/**
 * One packed sequence to learn from: a whole trajectory with its sampled tokens marked. Its shared prefix is computed once. All
 * arrays have length T (number of tokens), and position t describes tokens[t].
 */
export type TrainingSample = {
  readonly id: string
  readonly tokens: Int32Array
  /** [T] 1 if tokens[t] was sampled and is trained, else 0. mask[0] must be 0. */
  readonly mask: Uint8Array
  /** [T] Advantage of each sampled token, read only if its mask is 1. In supervised samples it is the token's weight (1). */
  readonly advantages: Float32Array
  /** [T] Log-probs at the time of sampling (behaviour policy), read only if the mask is 1. */
  readonly logprobs: Float32Array
  /** [T] Log-probs of the KL reference. Default: the behaviour log-probs. */
  readonly referenceLogprobs?: Float32Array
  /**
   * Tokens allowed at each position, for models that act under a trie. Position t allows `tokens[offsets[t] .. offsets[t+1])`. An empty
   * range allows all. `offsets` has length T + 1.
   */
  readonly allowed?: { readonly offsets: Int32Array; readonly tokens: Int32Array }
  /** First position of each step, ascending, for a loss that averages within steps. Default: each run of trained tokens is a step. */
  readonly stepStarts?: Int32Array
}

/** Importance weight of a token for the difference between the sampling weights and those at the start of an update. */
export type Mismatch = {
  /** A weight above the limit becomes the limit (`truncate`) or 0 (`mask`). */
  readonly kind: 'truncate' | 'mask'
  /** Weight of each token, or of the whole sample: the product over its tokens. */
  readonly level: 'token' | 'sequence'
  /** Null for none. */
  readonly limit: number | null
}

export type LossOptions =
  | { readonly kind: 'supervised' }
  | {
      readonly kind: 'policy'
      /** PPO clip below and above: the ratio is clipped to [1 - clipLow, 1 + clipHigh]. */
      readonly clipLow: number
      readonly clipHigh: number
      /** Dual clip: lower bound of the objective for negative advantages, as a multiple of A. Null for no bound. */
      readonly dualClip: number | null
      /** Weight of the k3 estimate of the KL to the reference. */
      readonly klWeight: number
      /** How the step is bounded. Default: `clip` (PPO). The formulas are in `models/local/loss.ts`. */
      readonly objective?: 'clip' | 'cispo' | 'sapo'
      /** Ratio of each token (default), or of the sample: the geometric mean over its tokens (GSPO, arXiv 2507.18071, equation 7). */
      readonly ratio?: 'token' | 'sequence'
      /** The loss is lowered by this weight times the mean entropy of the trained tokens. Default: 0. */
      readonly entropyWeight?: number
      /** Share of an optimiser step's tokens that enter the objective: those of the highest entropy (arXiv 2506.01939). Default: 1. */
      readonly entropyShare?: number
      /**
       * If a sample's mean log-ratio of behaviour to policy is above this, its negative advantages are left out (DeepSeek-V3.2, section
       * 3.1). Null for no limit.
       */
      readonly offPolicyLimit?: number | null
      /**
       * Corrects for samples of other weights than those at the start of the update. Ratios are then to the weights at its start, and
       * each objective has a weight. The formulas are in `models/local/loss.ts`. It costs one more forward pass. Default: none.
       */
      readonly mismatch?: Mismatch
      /**
       * How token losses are added up:
       * - `sample`: mean over each sample's tokens, then over samples
       * - `step`: mean over each step's tokens, then over steps. `stepStarts` divides a sample (RLAnything, arXiv 2602.02488)
       * - `batch`: mean over all tokens of the batch
       * - `constantTokens`: the sum over samples times a constant, which does not depend on a sample's length (Dr. GRPO, arXiv 2503.20783)
       */
      readonly aggregate: 'sample' | 'step' | 'batch' | { readonly constantTokens: number }
    }

export type UpdateOptions = {
  readonly loss: LossOptions
  /** Logits are divided by this, as when the behaviour log-probs were computed. Default: 1. */
  readonly temperature?: number
  readonly learningRate: number
  readonly weightDecay?: number
  readonly beta1?: number
  readonly beta2?: number
  /** Limit of the global gradient norm. Null for no limit. */
  readonly clipNorm: number | null
  /** Number of optimiser steps. Each step sees its own part of the samples. */
  readonly updates: number
  /** Most tokens in one forward pass. Memory depends on this, not on the batch. */
  readonly tokenBudget: number
  /** Number of topmost layers to train. If lower layers are frozen, so are weights outside any layer. Default: train all. */
  readonly layers?: number
  /** Order of the samples. */
  readonly seed: Seed
  /**
   * If the mean KL from the policy that sampled to the present policy is above this, the remaining updates are skipped. The KL is `drift`
   * of models/local/loss.ts. Null for no limit.
   */
  readonly klLimit: number | null
  /**
   * If a step exceeds `klLimit`, it is halved up to this many times, and so is the rate of later steps. If it is still too long, it is
   * undone. With 0, the default, the step stays and the rest of the update is skipped.
   */
  readonly klHalvings?: number
  /** The optimiser's moments start afresh. */
  readonly resetOptimizer?: boolean
}

/** Sums of the importance weights of a sample's trained tokens, before any limit. */
export type SampleWeights = {
  readonly id: string
  readonly tokens: number
  readonly sum: number
  /** Sum of the squares. */
  readonly squares: number
  readonly most: number
  /** Number of tokens whose weight is above the limit. */
  readonly cut: number
}

export type UpdateMetrics = {
  readonly updates: number
  readonly samples: number
  readonly tokens: number
  readonly loss: number
  /** Mean k3 over the trained tokens. */
  readonly kl: number
  readonly entropy: number
  /** Share of trained tokens whose ratio was clipped. */
  readonly clipShare: number
  readonly gradientNorm: number
  /** Number of times that a step was halved. Absent if `klHalvings` is 0 or absent. */
  readonly klHalvings?: number
  /** Importance weights of each sample with trained tokens. Absent if the loss corrects no mismatch. */
  readonly weights?: readonly SampleWeights[]
  /** Why the update ended early or was refused. The weights are then those of the last good step. Null if all steps were made. */
  readonly stopped: null | {
    readonly reason: 'kl' | 'not-finite'
    readonly sample?: string
    readonly value: number
  }
}

export type ModelDescription = {
  /** The name that the user gave: a folder, a preset, or the endpoint's model name. */
  readonly name: string
  readonly provider: string
  readonly contextTokens: number
  /** Number of token ids. Absent if unknown. */
  readonly vocabulary?: number
  readonly parameters: number | null
  /** For a local model: the tensor backend and why it was chosen. Else null. */
  readonly backend: string | null
}

export interface LanguageModel {
  describe(): ModelDescription
  /** Returns one generation for each request, in the order of the requests. */
  generate(requests: readonly GenerateRequest[], signal?: AbortSignal): Promise<Generation[]>
  /**
   * Returns log-probs of the masked tokens under the present weights: arrays of length T, 0 if the mask is 0. `temperature` divides the
   * logits. Default: 1.
   */
  score(
    samples: readonly Pick<TrainingSample, 'tokens' | 'mask' | 'allowed'>[],
    options?: { readonly temperature?: number },
  ): Promise<Float32Array[]>
  close(): Promise<void>
}

/** A model whose weights can be changed and saved. */
export interface TrainableModel extends LanguageModel {
  encode(text: string): Int32Array
  decode(tokens: Int32Array | readonly number[]): string
  update(samples: readonly TrainingSample[], options: UpdateOptions): Promise<UpdateMetrics>
  /** Writes a Hugging Face folder with optimiser state. Resolves to the SHA-256 (hex) of the weights file. */
  save(folder: string): Promise<string>
  /** Replaces the weights, and the optimiser state if the folder has one. */
  load(folder: string): Promise<void>
}
