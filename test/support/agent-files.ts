/** An agent as users write it: a module that asks the question of its task by fetch. */

/** @param more further lines of TypeScript between the call and the result */
export function askingAgent({
  body = "max_tokens: 4, messages: [{ role: 'user', content: task.question }]",
  more = '',
}: {
  readonly body?: string
  readonly more?: string
} = {}): string {
  return `type Model = { baseURL: string; apiKey: string; model: string }
export async function agent(task: { id: string; question: string }, { baseURL, apiKey, model }: Model) {
  const answer = await fetch(baseURL + '/chat/completions', {
    method: 'POST',
    headers: { authorization: 'Bearer ' + apiKey, 'content-type': 'application/json' },
    body: JSON.stringify({ model, ${body} }),
  })
  ${more}
  return (await answer.json()).choices[0].message.content
}`
}
