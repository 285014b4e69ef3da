/** A shop assistant with LangGraph: it looks something up, and then answers. */
import { tool } from '@langchain/core/tools'
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { ToolNode } from '@langchain/langgraph/prebuilt'
import { ChatOpenAI } from '@langchain/openai'
import { Answer, Fruit, INSTRUCTIONS, price, stock, type Task } from '../shop.ts'

const tools = [
  tool(price, { name: 'price', description: 'Price of a fruit', schema: Fruit }),
  tool(stock, { name: 'stock', description: 'Crates of a fruit in stock', schema: Fruit }),
]

export async function agent({ question }: Task) {
  const llm = new ChatOpenAI({ model: 'gpt-5-mini' })
  const looking = llm.bindTools(tools, { tool_choice: 'any' })
  const answering = llm.withStructuredOutput(Answer)
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('look', async ({ messages }) => ({ messages: [await looking.invoke(messages)] }))
    .addNode('tools', new ToolNode(tools))
    .addNode('answer', async ({ messages }) => ({
      messages: [{ role: 'assistant', content: JSON.stringify(await answering.invoke(messages)) }],
    }))
    .addEdge(START, 'look')
    .addEdge('look', 'tools')
    .addEdge('tools', 'answer')
    .addEdge('answer', END)
    .compile()
  const messages = [
    { role: 'system', content: INSTRUCTIONS },
    { role: 'user', content: question },
  ]
  let answer = ''
  for await (const [mode, state] of await graph.stream({ messages }, { streamMode: ['messages', 'values'] }))
    if (mode === 'values') answer = state.messages.at(-1)?.text ?? ''
  return JSON.parse(answer)
}
