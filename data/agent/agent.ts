/** An agent that answers a question. Put your own in its place: any code that takes the base URL, the key and the model. */
import OpenAI from 'openai'

type Task = { question: string }
type Model = { baseURL: string; apiKey: string; model: string }

export async function agent({ question }: Task, { baseURL, apiKey, model }: Model) {
  const client = new OpenAI({ baseURL, apiKey })
  const answer = await client.chat.completions.create({
    model,
    max_tokens: 16,
    messages: [
      { role: 'system', content: 'Answer with the number alone.' },
      { role: 'user', content: question },
    ],
  })
  return answer.choices[0].message.content
}
