import type { Window } from './openai/window.ts'
import type { GenerateRequest, ImageRef, LanguageModel } from './port.ts'

/** A model that answers prompts, wherever it lives. Of its requests those with `tokens` or `choices` are for local models alone. */
export type PromptedModel = Pick<LanguageModel, 'generate' | 'close'> & {
  /** Whether prompt and answer are expected to fit its context; absent where nothing can be said before it is asked. */
  fits?(request: GenerateRequest): Promise<boolean>
  /** Tokens, faults, cost so far, for `rl status`. */
  counts?(): Readonly<Record<string, number>>
}

/** What a section of the config says of a model (`policy`, `rewardModel`, `adaptation`), and how long its asker waits. */
export type ModelOptions = {
  /** The section's name, for errors that say which key to change. */
  readonly section?: 'policy' | 'rewardModel' | 'adaptation'
  /** The name that the provider knows. */
  readonly model: string
  /** Null for the provider's own. */
  readonly baseUrl: string | null
  /** Environment variable with the key. */
  readonly apiKeyEnv: string
  /** Tokens of its context, prompt and answer; null where the endpoint is to be asked. */
  readonly windowTokens?: number | null
  /** What is known of the lengths of prompts, for models that share a server; each has its own where absent. */
  readonly window?: Window
  /** Further fields of every request; they stand over those of ours. */
  readonly extraBody?: Readonly<Record<string, unknown>>
  /** Further variables of the chat template, e.g. `enable_thinking`; a request's own stand over them. */
  readonly template?: Readonly<Record<string, unknown>>
  readonly reasoningEffort?: string | null
  /** Whether a seed is sent with every request. */
  readonly sendSeed?: boolean
  /** Tells people something that they should know of the endpoint, once. */
  readonly report?: (message: string) => void
  /** Calls at a time; more wait. */
  readonly concurrency: number
  /** Limit of one call, from sending it to the last byte. */
  readonly callMs: number
  /** Limit of one generation with all its retries and waits. */
  readonly budgetMs: number
  /** Per million tokens, in whatever currency; null where unknown. */
  readonly promptPrice: number | null
  readonly completionPrice: number | null
  /** The file of an image in a prompt; absent where prompts hold none. */
  readonly readImage?: (image: ImageRef) => Promise<Uint8Array>
  /** Whether another server has the same model: a connection that is lost twice is then told at once, as `model.unreachable`. */
  readonly elsewhere?: () => boolean
  /** To be waited for before each call, retries included; where it fails, no call may be made. */
  readonly permit?: () => Promise<void>
}

/** Where the models of a section live. Roles ask for what it can do, never for its name. */
export interface ModelProvider {
  readonly name: string
  /** Raised when the same request may be answered otherwise. */
  readonly version: number
  /** Opens a model that answers prompts; nothing is sent yet. Absent where none does. */
  open?(options: ModelOptions): PromptedModel | Promise<PromptedModel>
  /** Its weights are in this process and learn. */
  readonly trains?: true
  /** Formulas in place of a model: no figure of it is a measurement. */
  readonly simulated?: true
  /** `baseUrl` speaks OpenAI's protocol: the gateway passes calls on to it, new versions are published there. */
  readonly openAi?: true
}

/** One of a user's: it answers prompts. */
export type PromptProvider = Pick<ModelProvider, 'name' | 'version'> & Required<Pick<ModelProvider, 'open'>>
