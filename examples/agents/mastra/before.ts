/** A shop assistant with Mastra. */
import { Agent } from '@mastra/core/agent'
import { createTool } from '@mastra/core/tools'
import { Answer, Fruit, INSTRUCTIONS, price, stock, type Task } from '../shop.ts'

const tools = {
  price: createTool({
    id: 'price',
    description: 'Price of a fruit',
    inputSchema: Fruit,
    execute: async (fruit) => price(fruit),
  }),
  stock: createTool({
    id: 'stock',
    description: 'Crates of a fruit in stock',
    inputSchema: Fruit,
    execute: async (fruit) => stock(fruit),
  }),
}

export async function agent({ question }: Task) {
  const assistant = new Agent({
    id: 'shop',
    name: 'shop',
    instructions: INSTRUCTIONS,
    model: 'openai/gpt-5-mini',
    tools,
  })
  const stream = await assistant.stream(question, { structuredOutput: { schema: Answer }, maxSteps: 4 })
  return await stream.object
}
