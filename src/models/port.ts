/** The one port through which the loop uses a language model, whether it runs in this process or behind HTTP. */
import type { Seed } from '../random.ts'

/** An image by the digest of its file: who asks a model says where the file is. Width and height in pixels. */
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
  /** Parts where images stand among the text. */
  readonly content: string | readonly ContentPart[]
  /** Of an assistant: the tools that it called. */
  readonly toolCalls?: readonly {
    readonly id?: string
    readonly name: string
    readonly arguments: Readonly<Record<string, unknown>>
  }[]
  /** Of a tool: the call that it answers, and its name. */
  readonly toolCallId?: string
  readonly toolName?: string
}

/** A tool as a model is told of it. */
export type ToolSpec = {
  readonly name: string
  readonly description: string
  /** JSON schema of the arguments. */
  readonly parameters: Readonly<Record<string, unknown>>
}

export type TextMessage = ChatMessage & { readonly content: string }

/** What stands before the text to generate: token ids as they are, plain text, or a chat that the model's template renders. */
export type Prompt =
  | { readonly tokens: readonly number[] | Int32Array }
  | { readonly text: string }
  | {
      readonly messages: readonly ChatMessage[]
      /** Further variables of the chat template, e.g. `enable_thinking` of Qwen3. */
      readonly template?: Readonly<Record<string, unknown>>
      /** What the model may call. */
      readonly tools?: readonly ToolSpec[]
    }

export type GenerateRequest = {
  readonly prompt: Prompt
  readonly maxTokens: number
  /** 0 is greedy. */
  readonly temperature: number
  /** Nucleus sampling: the smallest set of tokens with at least this share of probability; 1 keeps all. */
  readonly topP?: number
  /** Only so many of the likeliest tokens; 0 keeps all. */
  readonly topK?: number
  /** Only tokens with at least this share of the likeliest one's probability (arXiv 2407.01082); 0 keeps all. */
  readonly minP?: number
  /** Logits of tokens that stand in the prompt or the text so far are divided by it where positive, else multiplied; 1 is none. */
  readonly repetitionPenalty?: number
  /** Log-probs are of temperature 1 (`model`) or of the temperature of the draw, before any cut. Local models only. */
  readonly logprobs?: 'model' | 'sampling'
  /** Generation ends after (and keeps) one of these token ids; the model's own end tokens apply besides. */
  readonly stopTokens?: readonly number[]
  /** Generation ends before one of these texts, which is cut off. */
  readonly stopTexts?: readonly string[]
  /** Seed of this sequence alone: the result depends on no other sequence of the batch. */
  readonly seed: Seed
  /** Only these token sequences may be generated; log-probs are renormalised over the tokens that they allow. Local models only. */
  readonly choices?: readonly (readonly number[])[]
  /** Sequences with the same key share a growing prefix (an episode): the KV cache of the last call is reused as far as it matches. */
  readonly cacheKey?: string
}

/**
 * `stop`: an end token or text, or the end of a choice; `length`: maxTokens or the context was reached; `refused`: an endpoint gave
 * a refusal in place of an answer, or a filter cut it: there is no text, and nothing to learn from.
 */
export type FinishReason = 'stop' | 'length' | 'refused'

export type Generation = {
  readonly text: string
  readonly finish: FinishReason
  /** Sampled token ids with the end token where one was sampled; null where the endpoint does not tell. */
  readonly tokens: Int32Array | null
  /**
   * Log-prob of each sampled token, at temperature 1 unless asked otherwise, before any cut (renormalised over `choices` where
   * given); null where unknown.
   */
  readonly logprobs: Float32Array | null
  /** Calls of tools that the endpoint told apart from the text; arguments as the model wrote them. */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: string }[]
  /** What the endpoint told apart from the text as reasoning, and how many of the first tokens are that: all of them where it cannot be seen. */
  readonly reasoning?: { readonly text: string; readonly tokens: number }
  /** The name that an endpoint's answer bears if it is not that of the model that was asked, '' if it bears none; then nothing is learned from it. */
  readonly otherModel?: string
  /** Token ids of the rendered prompt; null where the endpoint does not tell. */
  readonly promptTokens: Int32Array | null
  readonly usage: {
    readonly promptTokens: number
    readonly cachedTokens: number
    readonly completionTokens: number
  }
}

/**
 * One packed sequence to learn from: a whole trajectory, its sampled tokens marked, its shared prefix computed once.
 * All arrays have length T (tokens); position t describes tokens[t].
 */
export type TrainingSample = {
  readonly id: string
  readonly tokens: Int32Array
  /** 1 where tokens[t] was sampled and is trained, else 0. */
  readonly mask: Uint8Array
  /** Advantage of each sampled token; read where mask is 1. For supervised samples the token's weight (1). */
  readonly advantages: Float32Array
  /** Behaviour log-probs (from sampling); read where mask is 1. */
  readonly logprobs: Float32Array
  /** Log-probs of the KL reference; the behaviour log-probs where absent. */
  readonly referenceLogprobs?: Float32Array
  /** Tokens allowed at each position, for models that act under a trie: `tokens[offsets[t] .. offsets[t+1])`; an empty range allows all. */
  readonly allowed?: { readonly offsets: Int32Array; readonly tokens: Int32Array }
}

export type LossOptions =
  | { readonly kind: 'supervised' }
  | {
      readonly kind: 'policy'
      /** PPO clip below and above: ratio in [1 - clipLow, 1 + clipHigh]. */
      readonly clipLow: number
      readonly clipHigh: number
      /** Lower bound of the objective for negative advantages, as a multiple of A (dual clip); null for none. */
      readonly dualClip: number | null
      /** Weight of the k3 KL estimate to the reference. */
      readonly klWeight: number
      /** What bounds the step: PPO's clip where absent; `loss.ts` has the formulas. */
      readonly objective?: 'clip' | 'cispo' | 'sapo'
      /** Of each token where absent, or of the sample: the geometric mean over its tokens (GSPO, arXiv 2507.18071, equation 7). */
      readonly ratio?: 'token' | 'sequence'
      /** Weight of the mean entropy of the trained tokens, which the loss is lowered by; 0 where absent. */
      readonly entropyWeight?: number
      /** Share of an optimiser step's tokens, those of the highest entropy, that the objective is about; 1 where absent (arXiv 2506.01939). */
      readonly entropyShare?: number
      /** Mean log-ratio of behaviour to policy over a sample's tokens above which its negative advantages are left out; null for none (DeepSeek-V3.2, section 3.1). */
      readonly offPolicyLimit?: number | null
      /**
       * Token-mean within each sample and then over samples, over all tokens of the batch, or the sum over samples times a constant,
       * which no sample's length changes (Dr. GRPO, arXiv 2503.20783).
       */
      readonly aggregate: 'sample' | 'batch' | { readonly constantTokens: number }
    }

export type UpdateOptions = {
  readonly loss: LossOptions
  /** Logits are divided by it, as when the behaviour log-probs were told; 1 where absent. */
  readonly temperature?: number
  readonly learningRate: number
  readonly weightDecay?: number
  readonly beta1?: number
  readonly beta2?: number
  /** Global gradient norm limit; null for none. */
  readonly clipNorm: number | null
  /** Optimiser steps over the samples; each sees its own part of them. */
  readonly updates: number
  /** Most tokens in one forward pass: memory depends on this, not on the batch. */
  readonly tokenBudget: number
  /** So many of the upper layers alone are trained; all weights that can be where absent. */
  readonly layers?: number
  /** Order of the samples. */
  readonly seed: Seed
  /** Mean KL of the policy that sampled to the present one above which the remaining updates are left out: `drift` of models/local/loss.ts. */
  readonly klLimit: number | null
  /**
   * How often an update may halve a step that took the KL beyond `klLimit`, and the rate of the steps behind it; a step that is
   * too long all the same is taken back. 0 where absent: such a step stays, and the rest is left out.
   */
  readonly klHalvings?: number
  /** Weights start from fresh optimiser moments. */
  readonly resetOptimizer?: boolean
}

export type UpdateMetrics = {
  readonly updates: number
  readonly samples: number
  readonly tokens: number
  readonly loss: number
  /** Mean k3 over trained tokens. */
  readonly kl: number
  readonly entropy: number
  /** Share of trained tokens whose ratio was clipped. */
  readonly clipShare: number
  readonly gradientNorm: number
  /** How often a step was halved; absent where none may be. */
  readonly klHalvings?: number
  /** Why the update ended early or was refused: weights are then those of the last good update. */
  readonly stopped: null | {
    readonly reason: 'kl' | 'not-finite'
    readonly sample?: string
    readonly value: number
  }
}

export type ModelDescription = {
  /** What the user named: a folder, a preset, or the endpoint's model name. */
  readonly name: string
  readonly provider: string
  readonly contextTokens: number
  /** How many token ids it has; absent if that is not known. */
  readonly vocabulary?: number
  readonly parameters: number | null
  /** For a local model: the tensor backend and why it was chosen. */
  readonly backend: string | null
}

export interface LanguageModel {
  describe(): ModelDescription
  /** One generation for each request, in order. */
  generate(requests: readonly GenerateRequest[], signal?: AbortSignal): Promise<Generation[]>
  /** Log-probs of the masked tokens under the present weights: arrays of length T, 0 where mask is 0. */
  score(
    samples: readonly Pick<TrainingSample, 'tokens' | 'mask' | 'allowed'>[],
    options?: { readonly temperature?: number },
  ): Promise<Float32Array[]>
  close(): Promise<void>
}

/** A model whose weights can be changed and kept. */
export interface TrainableModel extends LanguageModel {
  encode(text: string): Int32Array
  decode(tokens: Int32Array | readonly number[]): string
  update(samples: readonly TrainingSample[], options: UpdateOptions): Promise<UpdateMetrics>
  /** Writes a Hugging Face folder with optimiser state; resolves to the SHA-256 of the weights file. */
  save(folder: string): Promise<string>
  /** Replaces weights (and optimiser state where the folder has it). */
  load(folder: string): Promise<void>
}
