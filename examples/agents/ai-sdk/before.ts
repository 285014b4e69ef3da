/** A shop assistant with the AI SDK. */
import { openai } from '@ai-sdk/openai'
import { isStepCount, Output, streamText, tool } from 'ai'
import { Answer, Fruit, INSTRUCTIONS, price, stock, type Task } from '../shop.ts'

export async function agent({ question }: Task) {
  const result = streamText({
    model: openai('gpt-5-mini'),
    instructions: INSTRUCTIONS,
    prompt: question,
    tools: {
      price: tool({ description: 'Price of a fruit', inputSchema: Fruit, execute: price }),
      stock: tool({ description: 'Crates of a fruit in stock', inputSchema: Fruit, execute: stock }),
    },
    output: Output.object({ schema: Answer }),
    // Two looks at most, and then the answer.
    prepareStep: ({ stepNumber }) => (stepNumber < 2 ? {} : { activeTools: [] }),
    stopWhen: isStepCount(3),
  })
  return await result.output
}
