/** Checks a config's settings for calls to endpoints: addresses, and additional fields of requests. */

import type { Config } from '../config-schema/schema.ts'
import type { PolicyConfig, RewardModelConfig } from '../config-schema/sections.ts'
import type { Refuse } from '../environments/setting.ts'
import { MODEL_PROVIDERS } from '../models/registry.ts'
import { presentPath } from './renamed.ts'

export function checkCalls(config: Config, refuse: Refuse): void {
  const called = calledSections(config)
  checkAddresses(called, refuse)
  checkExtraBody(called, refuse)
  checkUnrestricted(config.policy, config.rewardModel, refuse)
}

/** The sections whose models are asked over HTTP by our own client. */
function calledSections(config: Config) {
  const { policy, rewardModel, adaptation, models } = config
  return Object.entries({ policy, rewardModel, adaptation }).filter(
    ([, { provider }]) => MODEL_PROVIDERS.find(provider, models.module)?.openAi === true,
  )
}

type CalledSections = ReturnType<typeof calledSections>

/** Fields of a request that decide how an answer is read, or which answer was asked for. */
const OF_CALLS: ReadonlySet<string> = new Set([
  ...['messages', 'prompt', 'input', 'stream', 'stream_options', 'n', 'best_of', 'echo'],
  ...['tools', 'return_token_ids', 'logprobs', 'seed_words'],
])

/** Fields that have a key, in the sections that have it. */
const OF_KEYS: Readonly<Record<string, string>> = {
  model: 'model',
  temperature: 'temperature',
  top_p: 'topP',
  seed: 'sendSeed',
  max_tokens: 'maxTokens',
  max_completion_tokens: 'maxTokens',
  reasoning_effort: 'reasoningEffort',
  chat_template_kwargs: 'template',
}

function checkExtraBody(called: CalledSections, refuse: Refuse): void {
  for (const [name, section] of called) {
    const keyOf = (field: string) => {
      const key = OF_KEYS[field]
      return key !== undefined && key in { ...section, ...section.expert } ? key : undefined
    }
    const field = Object.keys(section.expert.extraBody).find(
      (one) => OF_CALLS.has(one) || keyOf(one) !== undefined,
    )
    if (field === undefined) continue
    const key = keyOf(field)
    const hint = key ? `use ${presentPath([name, key]).join('.')}` : `leave ${field} out`
    refuse(`${name}.extraBody`, `'${field}' is set by the call itself`, hint)
  }
}

/**
 * Fields of a request by which servers restrict sampling. Log-probs are then over another set of tokens than a
 * trainer's.
 */
const RESTRICTING =
  /^(guided_(choice|json|regex|grammar)|structured_outputs|response_format|choice_token_ids|regex|json_schema|ebnf|grammar)$/

function checkUnrestricted(policy: PolicyConfig, rewardModel: RewardModelConfig, refuse: Refuse): void {
  const trained = { policy, ...(rewardModel.mode === 'co-trained' ? { rewardModel } : {}) }
  for (const [name, { trainer, expert }] of Object.entries(trained)) {
    const field = Object.keys(expert.extraBody).find((key) => RESTRICTING.test(key))
    if (trainer !== 'external' || field === undefined) continue
    refuse(
      `${name}.extraBody`,
      `'${field}' restricts what is sampled, and a trainer outside takes log-probs over all tokens`,
      `leave ${field} out, or train nothing: ${name}.trainer own`,
    )
  }
}

/** `localhost:8000/v1` is a URL too, whose scheme is `localhost`. The address is not shown: it may hold a password. */
function checkAddresses(called: CalledSections, refuse: Refuse): void {
  for (const [name, section] of called) {
    const replicas = 'publish' in section ? section.publish.replicas : []
    const wrong = [
      ...(section.baseUrl === null ? [] : [{ key: 'baseUrl', url: section.baseUrl }]),
      ...replicas.map((url, index) => ({ key: `publish.replicas.${index}`, url })),
    ].find(({ url }) => !/^https?:\/\//i.test(url))
    if (!wrong) continue
    refuse(
      `${name}.${wrong.key}`,
      'is no address with http:// or https://',
      'write it as http://localhost:8000/v1',
    )
  }
}
