import type { Window } from './openai/window.ts'
import type { GenerateRequest, ImageRef, LanguageModel } from './port.ts'

/** A model that answers prompts, wherever it runs. Requests with `tokens` or `choices` are for local models alone. */
export type PromptedModel = Pick<LanguageModel, 'generate' | 'close'> & {
  /** Resolves to whether prompt and answer are expected to fit its context. Absent if that is unknown before the call. */
  fits?(request: GenerateRequest): Promise<boolean>
  /** Tokens, faults and cost so far, for `rl status`. */
  counts?(): Readonly<Record<string, number>>
}

/** A model section of the config (`policy`, `rewardModel`, `adaptation`), and how long its caller waits. */
export type ModelOptions = {
  /** Name of the section, for errors that say which key to change. */
  readonly section?: 'policy' | 'rewardModel' | 'adaptation'
  /** The model's name at the provider. */
  readonly model: string
  /** Base URL of the endpoint. With null the provider's default is used. */
  readonly baseUrl: string | null
  /** Name of the environment variable with the key. */
  readonly apiKeyEnv: string
  /** Context in tokens, prompt and answer together. Null asks the endpoint. */
  readonly windowTokens?: number | null
  /** Known lengths of prompts, for models that share a server. Default: one of its own. */
  readonly window?: Window
  /** Further fields of every request. They override ours. */
  readonly extraBody?: Readonly<Record<string, unknown>>
  /** Further variables of the chat template, e.g. `enable_thinking`. A request's own variables override them. */
  readonly template?: Readonly<Record<string, unknown>>
  readonly reasoningEffort?: string | null
  /** Whether a seed is sent with every request. */
  readonly sendSeed?: boolean
  /** Reports something about the endpoint that people should know, each thing once. */
  readonly report?: (message: string) => void
  /** Most calls at a time. Further calls wait. */
  readonly concurrency: number
  /** Limit of one call in ms, from sending it to the last byte. */
  readonly callMs: number
  /** Limit of one generation in ms, with all its retries and waits. */
  readonly budgetMs: number
  /** Price per million tokens, in any currency. Null if unknown. */
  readonly promptPrice: number | null
  readonly completionPrice: number | null
  /** Reads the file of an image in a prompt. Absent if prompts have no images. */
  readonly readImage?: (image: ImageRef) => Promise<Uint8Array>
  /** Returns whether another server has the same model. Then a connection that is lost twice fails at once with `model.unreachable`. */
  readonly elsewhere?: () => boolean
  /** Called before each call, retries included. If it rejects, no call is made. */
  readonly permit?: () => Promise<void>
}

/** Where the models of a section run. Roles ask for its capabilities, never for its name. */
export interface ModelProvider {
  readonly name: string
  /** Raised if the same request may now get another answer. */
  readonly version: number
  /** Opens a model that answers prompts. Nothing is sent yet. Absent if no model of this provider does. */
  open?(options: ModelOptions): PromptedModel | Promise<PromptedModel>
  /** Its weights are in this process and can be trained. */
  readonly trains?: true
  /** It uses formulas instead of a model. Its figures are no measurements. */
  readonly simulated?: true
  /** The setting's own estimate stands for a model, as a judge alone. */
  readonly measures?: true
  /** `baseUrl` speaks OpenAI's protocol. The gateway forwards calls to it, and new versions are published there. */
  readonly openAi?: true
}

/** A provider from a user's module. It answers prompts. */
export type PromptProvider = Pick<ModelProvider, 'name' | 'version'> & Required<Pick<ModelProvider, 'open'>>
