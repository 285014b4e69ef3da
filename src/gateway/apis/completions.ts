/** OpenAI's chat completions and completions. Bodies and answers pass unchanged. */
import { z } from 'zod'
import { apiError } from '../../openai-api/errors.ts'
import { type Api, checked, one } from './api.ts'

const chatSchema = z.looseObject({
  model: z.string().nullish(),
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
  n: one,
  stream: z.boolean().nullish(),
  tools: z.array(z.unknown()).nullish(),
})

export const chatCompletions: Api = {
  read(json) {
    const body = checked(chatSchema, json)
    const { model = null, messages, tools } = body
    return {
      path: '/chat/completions',
      body,
      model,
      messages,
      tools,
      wording: null,
      stream: body.stream ?? false,
    }
  },
}

const completionSchema = z.looseObject({
  model: z.string().nullish(),
  prompt: z.union([
    z.string(),
    z.array(z.string()).length(1),
    z.array(z.int()).min(1),
    z.array(z.array(z.int()).min(1)).length(1),
  ]),
  n: one,
  best_of: one,
  echo: z.literal(false).nullish(),
  stream: z.boolean().nullish(),
})

export const completions: Api = {
  read(json) {
    const body = checked(completionSchema, json)
    const { model = null, prompt } = body
    const [first] = [prompt].flat()
    if (first === undefined)
      throw apiError(400, 'prompt is empty', { param: 'prompt', code: 'invalid_value' })
    const text = typeof first === 'string' ? first : `[${[prompt].flat(2).length} tokens]`
    return {
      path: '/completions',
      body,
      model,
      wording: null,
      tools: null,
      messages: [{ role: 'user', content: text }],
      stream: body.stream ?? false,
    }
  },
}
