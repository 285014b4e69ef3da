/** A shop assistant with the client of Anthropic. */
import Anthropic from '@anthropic-ai/sdk'
import { zodOutputFormat } from '@anthropic-ai/sdk/helpers/zod'
import { z } from 'zod'
import { Answer, Fruit, INSTRUCTIONS, price, stock, type Task } from '../shop.ts'

const client = new Anthropic()
const input_schema = z.toJSONSchema(Fruit) as Anthropic.Tool.InputSchema
const tools: Anthropic.Tool[] = [
  { name: 'price', description: 'Price of a fruit', input_schema },
  { name: 'stock', description: 'Crates of a fruit in stock', input_schema },
]

export async function agent({ question }: Task) {
  const messages: Anthropic.MessageParam[] = [{ role: 'user', content: question }]
  for (let turn = 0; turn < 4; turn++) {
    const { content } = await client.messages
      .stream({
        model: 'claude-haiku-4-5',
        max_tokens: 256,
        system: INSTRUCTIONS,
        messages,
        tools,
        output_config: { format: zodOutputFormat(Answer) },
      })
      .finalMessage()
    const calls = content.filter((block) => block.type === 'tool_use')
    const text = content.flatMap((block) => (block.type === 'text' ? block.text : [])).join('')
    if (calls.length === 0) return JSON.parse(text)
    const results = calls.map(({ id, name, input }) => ({
      type: 'tool_result' as const,
      tool_use_id: id,
      content: (name === 'price' ? price : stock)(Fruit.parse(input)),
    }))
    messages.push({ role: 'assistant', content }, { role: 'user', content: results })
  }
  return null
}
