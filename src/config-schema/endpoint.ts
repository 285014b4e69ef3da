/** Keys of three sections that name a model and its endpoint. */

import { z } from 'zod'
import { readBy } from './readers.ts'
import { positive } from './values.ts'

export const DEFAULT_MODEL = 'nano'

export const endpoint = {
  provider: z
    .string()
    .min(1)
    .default('local')
    .describe(
      'Who runs the model: this process (`local`), an OpenAI-compatible endpoint (`openai`), nobody (`simulated`), an estimate of the setting, which judges alone (`environment`), or a provider of `models.module`.',
    ),
  model: z
    .string()
    .min(1)
    .default(DEFAULT_MODEL)
    .describe('Preset (`nano`, `nano4`, `tiny`), Hugging Face folder, or the name that the endpoint knows.'),
  baseUrl: readBy(
    'endpoint',
    z
      .url()
      .nullable()
      .default(null)
      .describe('Base URL of the OpenAI-compatible endpoint, e.g. http://localhost:8000/v1.'),
  ),
}

/** Fine points of how an endpoint is asked. */
export const endpointExpert = {
  apiKeyEnv: z
    .string()
    .min(1)
    .default('OPENAI_API_KEY')
    .describe('Environment variable that holds the API key. Keys never stand in a config.'),
  concurrency: readBy(
    'endpoint',
    positive.default(32).describe('Largest number of calls of the endpoint at a time. More calls wait.'),
  ),
  windowTokens: readBy(
    'endpoint',
    positive
      .nullable()
      .default(null)
      .describe(
        'Context of the endpoint in tokens, prompt and answer. Null asks the endpoint. Prompts that would not fit lose their oldest steps.',
      ),
  ),
  extraBody: readBy(
    'endpoint',
    z
      .record(z.string(), z.unknown())
      .default({})
      .describe(
        'Further fields of every request to the endpoint. They replace ours, except what a key or the call itself sets.',
      ),
  ),
  template: readBy(
    'template',
    z
      .record(z.string(), z.unknown())
      .default({})
      .describe('`chat_template_kwargs` of every request, e.g. `enable_thinking: false`.'),
  ),
  reasoningEffort: readBy(
    'endpoint',
    z
      .string()
      .min(1)
      .nullable()
      .default(null)
      .describe('`reasoning_effort` of every request. Null sends none.'),
  ),
  sendSeed: readBy(
    'endpoint',
    z.boolean().default(true).describe('Whether every request has a seed. Some servers slow down with one.'),
  ),
  maxCalls: readBy(
    'endpoint',
    positive
      .nullable()
      .default(null)
      .describe(
        'Number of calls of the endpoint in the whole run, retries included. When they are spent, the run pauses. Null for any number.',
      ),
  ),
  promptPrice: readBy(
    'endpoint',
    z
      .number()
      .nonnegative()
      .nullable()
      .default(null)
      .describe('Price of a million prompt tokens, for counting cost. Null if unknown.'),
  ),
  completionPrice: readBy(
    'endpoint',
    z
      .number()
      .nonnegative()
      .nullable()
      .default(null)
      .describe('Price of a million completion tokens. Null if unknown.'),
  ),
}
