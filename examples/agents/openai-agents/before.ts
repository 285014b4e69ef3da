/** A shop assistant with the OpenAI Agents SDK. */
import { Agent, Runner, tool } from '@openai/agents'
import { Answer, Fruit, INSTRUCTIONS, price, stock, type Task } from '../shop.ts'

const runner = new Runner()

export async function agent({ question }: Task) {
  const assistant = new Agent({
    name: 'shop',
    instructions: INSTRUCTIONS,
    model: 'gpt-5-mini',
    tools: [
      tool({ name: 'price', description: 'Price of a fruit', parameters: Fruit, execute: price }),
      tool({ name: 'stock', description: 'Crates of a fruit in stock', parameters: Fruit, execute: stock }),
    ],
    outputType: Answer,
  })
  const result = await runner.run(assistant, question, { stream: true, maxTurns: 4 })
  await result.completed
  return result.finalOutput
}
