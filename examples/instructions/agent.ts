type Task = { readonly id: string; readonly question: string }
type Model = { readonly baseURL: string; readonly apiKey: string; readonly model: string }

export async function agent({ question }: Task, { baseURL, apiKey, model }: Model) {
  const answer = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: question }] }),
  })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
  const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] }
  return choices[0].message.content
}
