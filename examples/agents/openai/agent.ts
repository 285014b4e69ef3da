/** A shop assistant with the plain client of OpenAI. */
import OpenAI from 'openai'
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod'
import { Answer, Fruit, INSTRUCTIONS, price, stock, type Task } from '../shop.ts'

export async function agent({ question }: Task, { baseURL, apiKey, model }: Record<string, string>) {
  const client = new OpenAI({ baseURL, apiKey })
  const runner = client.chat.completions.runTools({
    model,
    stream: true,
    messages: [
      { role: 'system', content: INSTRUCTIONS },
      { role: 'user', content: question },
    ],
    tools: [
      zodFunction({ name: 'price', description: 'Price of a fruit', parameters: Fruit, function: price }),
      zodFunction({
        name: 'stock',
        description: 'Crates of a fruit in stock',
        parameters: Fruit,
        function: stock,
      }),
    ],
    response_format: zodResponseFormat(Answer, 'answer'),
  })
  return JSON.parse((await runner.finalContent()) ?? 'null')
}
