/** Providers of language models by name: ours, and a user's from the module that `models.module` names. */
import { z } from 'zod'
import { RlError } from '../errors.ts'
import { openRegistry, type UserPart } from '../registry.ts'
import { type Check, callWithin, shape, type UserCall } from '../user-code.ts'
import { deadline } from './openai/deadline.ts'
import type { ModelOptions, ModelProvider, PromptedModel } from './provider.ts'

const OURS: readonly ModelProvider[] = [
  { name: 'local', version: 1, trains: true },
  {
    name: 'openai',
    version: 1,
    openAi: true,
    open: async (options) => (await import('./openai.ts')).openEndpoint(options),
  },
  { name: 'simulated', version: 1, simulated: true },
  { name: 'environment', version: 1, measures: true },
]

const LIST = 'modelProviders'

export const MODEL_PROVIDERS = openRegistry<ModelProvider>({
  kind: 'modelProvider',
  noun: 'provider',
  ours: OURS,
  key: 'models.module',
  list: LIST,
  does: 'open',
  types: 'rlanything/models',
  guard: guarded,
})

/** Sections of a config that name a provider. */
const MODEL_SECTIONS = ['policy', 'rewardModel', 'adaptation'] as const

export type ProviderNames = {
  readonly models: { readonly module: string | null }
} & { readonly [S in (typeof MODEL_SECTIONS)[number]]: { readonly provider: string } }

/**
 * Loads the module that a config names.
 * @throws RlError `provider.unknown`, or an error from `load` of a registry
 */
export async function loadProviders(config: ProviderNames): Promise<void> {
  const { module } = config.models
  if ((await MODEL_PROVIDERS.load(module)) === 0 && module !== null)
    throw new RlError(`models.module: ${module} exports no providers`, {
      code: 'module.invalid',
      hint: `export a list: ${LIST}`,
    })
  const { key, message, hint } = wrongProvider(config) ?? {}
  if (message !== undefined) throw new RlError(`${key}: ${message}`, { code: 'provider.unknown', hint })
}

/** Returns what is wrong with the providers that a config names, or null if all of them exist. */
export function wrongProvider(
  config: ProviderNames,
): { readonly key: string; readonly message: string; readonly hint: string } | null {
  const { module } = config.models
  const wrong = MODEL_SECTIONS.find((section) => !MODEL_PROVIDERS.find(config[section].provider, module))
  if (wrong === undefined) return wrongJudge(config)
  const names = MODEL_PROVIDERS.all(module).map(({ name }) => name)
  return {
    key: `${wrong}.provider`,
    message: `there is no provider '${config[wrong].provider}'`,
    hint: `there are ${names.join(', ')}${module === null ? `; models.module can name a module with your own, exported as \`${LIST}\`` : ''}`,
  }
}

/** A provider that measures what a setting knows can judge, and nothing else. */
function wrongJudge(config: ProviderNames): ReturnType<typeof wrongProvider> {
  const others = MODEL_SECTIONS.filter((section) => section !== 'rewardModel')
  const wrong = others.find((section) => providerOf(config[section], config).measures)
  if (wrong === undefined) return null
  return {
    key: `${wrong}.provider`,
    message: `'${config[wrong].provider}' judges steps, and does nothing else`,
    hint: 'use it as rewardModel.provider',
  }
}

/** Returns the provider of a section. A user's module must have been loaded. @throws RlError `provider.unknown` */
export function providerOf(section: { readonly provider: string }, { models }: ProviderNames): ModelProvider {
  const found = MODEL_PROVIDERS.find(section.provider, models.module)
  if (found) return found
  throw new RlError(`there is no provider '${section.provider}'`, { code: 'provider.unknown' })
}

/** Returns the user's providers that a config names. */
export function userProvidersOf(config: ProviderNames): UserPart[] {
  const names = new Set(MODEL_SECTIONS.map((section) => config[section].provider))
  return [...names].flatMap((name) => MODEL_PROVIDERS.userPart(name, config.models.module) ?? [])
}

const column = (type: typeof Int32Array | typeof Float32Array) => z.instanceof(type).nullable()
const generations = z.array(
  z.looseObject({
    text: z.string(),
    finish: z.enum(['stop', 'length', 'refused']),
    tokens: column(Int32Array),
    logprobs: column(Float32Array),
    promptTokens: column(Int32Array),
    usage: z.looseObject({
      promptTokens: z.int().nonnegative(),
      cachedTokens: z.int().nonnegative(),
      completionTokens: z.int().nonnegative(),
    }),
  }),
)

/** Wraps a user's provider: answers are checked, calls are counted, and no answer is waited for longer than the caller's limit. */
function guarded({ name, version, open }: ModelProvider, file: string): ModelProvider {
  const callOf = (part: string): UserCall => ({
    file,
    part: `${LIST}: '${name}': ${part}`,
    code: 'module.invalid',
    hint: 'the types are in rlanything/models',
  })
  const isModel: Check = (model) =>
    typeof (model as Partial<PromptedModel> | undefined)?.generate === 'function'
      ? null
      : ' gave no function `generate`'
  return {
    name,
    version,
    async open(options) {
      const { permit: _, ...told } = options
      const model = await callWithin(callOf('open()'), null, () => open!(told), isModel)
      return boundedModel(model, options, callOf('generate()'))
    },
  }
}

function boundedModel(
  model: PromptedModel,
  { budgetMs, permit }: ModelOptions,
  call: UserCall,
): PromptedModel {
  return {
    async generate(requests, signal) {
      for (const _ of requests) await permit?.()
      const limit = deadline(budgetMs, signal)
      const where = `${call.file}: ${call.part.replace(/: generate\(\)$/, '')}`
      const over = new Promise<never>((_, reject) => {
        const late = () =>
          reject(
            limit.expired()
              ? new RlError(`${where}: no answer within ${budgetMs / 1000} s`, { code: 'model.deadline' })
              : new RlError(`${where}: the call was cancelled`, { code: 'model.aborted' }),
          )
        if (limit.signal.aborted) late()
        limit.signal.addEventListener('abort', late, { once: true })
      })
      const asked = () => model.generate(requests, limit.signal)
      try {
        return await Promise.race([callWithin(call, null, asked, answersTo(requests.length)), over])
      } finally {
        limit.clear()
      }
    },
    counts: () => model.counts?.() ?? {},
    close: async () => model.close?.(),
  }
}

const isGenerations = shape(generations)

function answersTo(count: number): Check {
  return (given) =>
    isGenerations(given) ??
    ((given as readonly unknown[]).length === count
      ? null
      : ` gave ${(given as readonly unknown[]).length} answers to ${count} requests`)
}
