import type { Window } from './openai/window.ts'
import type { GenerateRequest, ImageRef, LanguageModel } from './port.ts'

/** A model that answers prompts, wherever it runs. Requests with `tokens` or `choices` are for local models alone. */
export type PromptedModel = Pick<LanguageModel, 'generate' | 'close'> & {
  /** Returns whether prompt and answer are expected to fit the context. Absent if only a call can tell. */
  fits?(request: GenerateRequest): Promise<boolean>
  /** Counts of tokens, faults and cost so far, for `rl status`. */
  counts?(): Readonly<Record<string, number>>
}

/**
 * Options of a model from its section of the config (`policy`, `rewardModel`, `adaptation`), with the caller's time
 * limits.
 */
export type ModelOptions = {
  /** Name of the section. Errors then say which key to change. */
  readonly section?: 'policy' | 'rewardModel' | 'adaptation'
  /** Name of the model at the provider. */
  readonly model: string
  /** Base URL of the server. Null stands for the provider's own. */
  readonly baseUrl: string | null
  /** Name of the environment variable that holds the key. */
  readonly apiKeyEnv: string
  /** Tokens of the context, for prompt and answer. If it is null, the endpoint is asked. */
  readonly windowTokens?: number | null
  /** Estimate of prompt lengths, for models that share a server. Default: each model learns its own. */
  readonly window?: Window
  /** Further fields of every request. They replace fields of the same name. */
  readonly extraBody?: Readonly<Record<string, unknown>>
  /** Further variables of the chat template, e.g. `enable_thinking`. Variables of a request replace them. */
  readonly template?: Readonly<Record<string, unknown>>
  readonly reasoningEffort?: string | null
  /** Whether a seed is sent with every request. */
  readonly sendSeed?: boolean
  /** Tells people a remarkable fact about the endpoint, once. */
  readonly report?: (message: string) => void
  /** Most calls at a time. Further calls wait. */
  readonly concurrency: number
  /** Limit of one call, from the send to the last byte, in ms. */
  readonly callMs: number
  /** Limit of one generation with all its retries and waits, in ms. */
  readonly budgetMs: number
  /** Price of a million prompt tokens, in any currency. Null if unknown. */
  readonly promptPrice: number | null
  readonly completionPrice: number | null
  /** Reads the file of an image in a prompt. Absent if prompts hold no images. */
  readonly readImage?: (image: ImageRef) => Promise<Uint8Array>
  /**
   * Returns whether another server has the same model. A connection that is lost twice then fails at once, as
   * `model.unreachable`.
   */
  readonly elsewhere?: () => boolean
  /** Awaited before each call and retry. If it rejects, no call is made. */
  readonly permit?: () => Promise<void>
}

/** A provider of the models of a section. Roles ask for its abilities, never for its name. */
export interface ModelProvider {
  readonly name: string
  /** Number to raise if the same request may get another answer. */
  readonly version: number
  /** Opens a model that answers prompts. Sends nothing yet. Absent if the provider's models answer no prompts. */
  open?(options: ModelOptions): PromptedModel | Promise<PromptedModel>
  /** Set if the weights are in this process and learn. */
  readonly trains?: true
  /** Set if formulas stand in place of a model. Then no figure is a measurement. */
  readonly simulated?: true
  /**
   * Set if `baseUrl` speaks OpenAI's protocol. The gateway then passes calls on to it, and new versions are published
   * there.
   */
  readonly openAi?: true
}

/** A provider from a user's module. It answers prompts. */
export type PromptProvider = Pick<ModelProvider, 'name' | 'version'> & Required<Pick<ModelProvider, 'open'>>
