/** A shop assistant with the plain client of OpenAI. */
import OpenAI from 'openai'
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod'
import { Answer, Fruit, INSTRUCTIONS, price, stock, type Task } from '../shop.ts'

const client = new OpenAI()

export async function agent({ question }: Task) {
  const runner = client.chat.completions.runTools({
    model: 'gpt-5-mini',
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
