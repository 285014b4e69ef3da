/** The one port through which the loop uses a language model. The model runs in this process or behind HTTP. */
import type { Seed } from '../random.ts'

/**
 * An image, named by the digest of its file. The caller of the model knows the file. Width and height are in pixels.
 */
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
  /** Parts if the message holds images. */
  readonly content: string | readonly ContentPart[]
  /** Tools that an assistant called. Other roles have none. */
  readonly toolCalls?: readonly {
    readonly id?: string
    readonly name: string
    readonly arguments: Readonly<Record<string, unknown>>
  }[]
  /** The call that a tool's message answers, and the name of the tool. */
  readonly toolCallId?: string
  readonly toolName?: string
}

/** A tool as it is described to a model. */
export type ToolSpec = {
  readonly name: string
  readonly description: string
  /** JSON schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>
}

export type TextMessage = ChatMessage & { readonly content: string }

/** Start of the text to generate: token ids, plain text, or a chat that the model's template renders. */
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
  /** Nucleus sampling keeps the smallest set of tokens with at least this share of probability. 1 keeps all. */
  readonly topP?: number
  /** Number of likeliest tokens to keep. 0 keeps all. */
  readonly topK?: number
  /** Keeps tokens with at least this share of the likeliest token's probability (arXiv 2407.01082). 0 keeps all. */
  readonly minP?: number
  /**
   * Penalty for tokens of the prompt and of the text so far. Positive logits are divided by it, others multiplied. 1
   * changes nothing.
   */
  readonly repetitionPenalty?: number
  /**
   * Log-probs are of temperature 1 (`model`) or of the temperature of the draw (`sampling`), before any cut. Local
   * models only.
   */
  readonly logprobs?: 'model' | 'sampling'
  /** Generation ends after one of these token ids and keeps it. The model's own end tokens apply as well. */
  readonly stopTokens?: readonly number[]
  /** Generation ends before one of these texts. The text itself is cut off. */
  readonly stopTexts?: readonly string[]
  /** Seed of this sequence alone. The result does not depend on other sequences of the batch. */
  readonly seed: Seed
  /**
   * The only token sequences that may be generated. Log-probs are renormalised over the allowed tokens. Local models
   * only.
   */
  readonly choices?: readonly (readonly number[])[]
  /**
   * Sequences with the same key share a growing prefix, e.g. an episode. The KV cache of the last call is reused as far
   * as it matches.
   */
  readonly cacheKey?: string
}

/**
 * Why a generation ended.
 * - `stop`: an end token, an end text, or the end of a choice.
 * - `length`: `maxTokens` or the end of the context.
 * - `refused`: an endpoint refused to answer, or a filter cut the answer. There is no text and nothing to learn from.
 */
export type FinishReason = 'stop' | 'length' | 'refused'

export type Generation = {
  readonly text: string
  readonly finish: FinishReason
  /** Sampled token ids, with the end token if one was sampled. Null if the endpoint does not tell them. */
  readonly tokens: Int32Array | null
  /**
   * Log-prob of each sampled token, before any cut. The temperature is 1 unless the request asks otherwise. With
   * `choices`, log-probs are renormalised over the allowed tokens. Null if unknown.
   */
  readonly logprobs: Float32Array | null
  /** Tool calls that the endpoint gave apart from the text. Arguments are as the model wrote them. */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[]
  /**
   * Reasoning that the endpoint gave apart from the text, and its number of tokens. They are the first tokens, or all
   * if no end of the reasoning shows.
   */
  readonly reasoning?: { readonly text: string; readonly tokens: number }
  /**
   * Name of the model in an endpoint's answer, if it differs from the requested name. '' if the answer has no name.
   * Such an answer is not learned from.
   */
  readonly otherModel?: string
  /** Token ids of the rendered prompt. Null if the endpoint does not tell them. */
  readonly promptTokens: Int32Array | null
  readonly usage: {
    readonly promptTokens: number
    readonly cachedTokens: number
    readonly completionTokens: number
  }
}

/**
 * One packed sequence to learn from: a whole trajectory with its sampled tokens marked. Its shared prefix is computed
 * once. All arrays have length T (tokens). Position t describes tokens[t].
 */
export type TrainingSample = {
  readonly id: string
  readonly tokens: Int32Array
  /** 1 if tokens[t] was sampled and is trained, else 0. */
  readonly mask: Uint8Array
  /** Advantage of each sampled token. Read only if mask is 1. For supervised samples it is the token's weight (1). */
  readonly advantages: Float32Array
  /** Behaviour log-probs, from sampling. Read only if mask is 1. */
  readonly logprobs: Float32Array
  /** Log-probs of the KL reference. Default: the behaviour log-probs. */
  readonly referenceLogprobs?: Float32Array
  /**
   * Allowed tokens at each position, for models that act under a trie: `tokens[offsets[t] .. offsets[t+1])`. An empty
   * range allows all.
   */
  readonly allowed?: { readonly offsets: Int32Array; readonly tokens: Int32Array }
}

export type LossOptions =
  | { readonly kind: 'supervised' }
  | {
      readonly kind: 'policy'
      /** PPO clip below and above: the ratio is clipped to [1 - clipLow, 1 + clipHigh]. */
      readonly clipLow: number
      readonly clipHigh: number
      /** Lower bound of the objective for negative advantages A, as a multiple of A (dual clip). Null sets no bound. */
      readonly dualClip: number | null
      /** Weight of the k3 estimate of the KL divergence from the reference. */
      readonly klWeight: number
      /** Bound of the step. Default: `clip`, PPO's clip. The formulas stand at `policyLoss`. */
      readonly objective?: 'clip' | 'cispo' | 'sapo'
      /**
       * Ratio of each token (the default), or of the sample. The latter is the geometric mean over its tokens (GSPO,
       * arXiv 2507.18071, equation 7).
       */
      readonly ratio?: 'token' | 'sequence'
      /** Weight of the mean entropy of the trained tokens. The weighted entropy lowers the loss. Default: 0. */
      readonly entropyWeight?: number
      /**
       * Share of an optimiser step's tokens that the objective counts: those of the highest entropy (arXiv 2506.01939).
       * Default: 1.
       */
      readonly entropyShare?: number
      /**
       * Limit of the mean log-ratio of behaviour to policy over a sample's tokens. Above it the sample's negative
       * advantages do not count. Null sets no limit (DeepSeek-V3.2, section 3.1).
       */
      readonly offPolicyLimit?: number | null
      /**
       * How token losses are averaged.
       * - `sample`: mean over the tokens of each sample, then over samples.
       * - `batch`: mean over all tokens of the batch.
       * - `constantTokens`: each token weighs 1 / (samples x constantTokens), whatever the length of its sample (Dr.
       * GRPO, arXiv 2503.20783).
       */
      readonly aggregate: 'sample' | 'batch' | { readonly constantTokens: number }
    }

export type UpdateOptions = {
  readonly loss: LossOptions
  /** Logits are divided by this temperature, as they were for the behaviour log-probs. Default: 1. */
  readonly temperature?: number
  readonly learningRate: number
  readonly weightDecay?: number
  readonly beta1?: number
  readonly beta2?: number
  /** Limit of the global gradient norm. Null sets no limit. */
  readonly clipNorm: number | null
  /** Number of optimiser steps over the samples. Each step sees its own part of the samples. */
  readonly updates: number
  /** Most tokens in one forward pass. Memory depends on this number, not on the batch. */
  readonly tokenBudget: number
  /** Number of upper layers to train. Default: all trainable weights. */
  readonly layers?: number
  /** Order of the samples. */
  readonly seed: Seed
  /**
   * Limit of the mean KL from the sampling policy to the present policy: the mean `drift` of models/local/loss.ts.
   * Above it the remaining optimiser steps are skipped. Null sets no limit.
   */
  readonly klLimit: number | null
  /**
   * If a step exceeds `klLimit`, it is halved up to this many times in an update. The rate of later steps is halved as
   * often. If the step is still too long, it is undone. With 0, the default, the step stays and the remaining steps are
   * skipped.
   */
  readonly klHalvings?: number
  /** Optimiser moments start afresh. The weights stay. */
  readonly resetOptimizer?: boolean
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
  /** Number of times that a step was halved. Absent if no halving is allowed. */
  readonly klHalvings?: number
  /**
   * Why the update ended early or was refused. A step with values that are not finite is never made. Null if all steps
   * were made and kept.
   */
  readonly stopped: null | {
    readonly reason: 'kl' | 'not-finite'
    readonly sample?: string
    readonly value: number
  }
}

export type ModelDescription = {
  /** Name that the user gave: a folder, a preset, or the endpoint's model name. */
  readonly name: string
  readonly provider: string
  readonly contextTokens: number
  /** Number of token ids. Absent if unknown. */
  readonly vocabulary?: number
  readonly parameters: number | null
  /** Tensor backend of a local model, and why it was chosen. Null for others. */
  readonly backend: string | null
}

export interface LanguageModel {
  describe(): ModelDescription
  /** Returns one generation for each request, in order. */
  generate(requests: readonly GenerateRequest[], signal?: AbortSignal): Promise<Generation[]>
  /** Returns log-probs of the masked tokens under the present weights. Arrays have length T and hold 0 if mask is 0. */
  score(
    samples: readonly Pick<TrainingSample, 'tokens' | 'mask' | 'allowed'>[],
    options?: { readonly temperature?: number },
  ): Promise<Float32Array[]>
  close(): Promise<void>
}

/** A model whose weights can be trained and saved. */
export interface TrainableModel extends LanguageModel {
  encode(text: string): Int32Array
  decode(tokens: Int32Array | readonly number[]): string
  update(samples: readonly TrainingSample[], options: UpdateOptions): Promise<UpdateMetrics>
  /** Writes a Hugging Face folder with optimiser state. Resolves to the SHA-256 of the weights file. */
  save(folder: string): Promise<string>
  /** Replaces the weights, and the optimiser state if the folder has one. */
  load(folder: string): Promise<void>
}
