/** Guesses a number with a model behind the gateway. Any OpenAI client does the same with `rollout.url` and `rollout.key`. */
const gateway = process.argv[2] ?? 'http://127.0.0.1:8100'

async function post<Answer>(url: string, key: string, body: unknown): Promise<Answer | null> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  return answer.status === 204 ? null : ((await answer.json()) as Answer)
}

type Message = { role: string; content: string }
type Completion = { choices: [{ message: Message }] }
type Rollout = {
  url: string
  outcome_url: string
  key: string
  model: string
  task: { id: string; goal: string; recipe: { number: number } }
}

async function play({ url, key, model, task }: Rollout): Promise<boolean> {
  const messages: Message[] = [{ role: 'user', content: task.goal }]
  for (let turn = 0; turn < 3; turn++) {
    const answer = await post<Completion>(`${url}/chat/completions`, key, { model, messages, max_tokens: 16 })
    if (answer === null) return false
    const { message } = answer.choices[0]
    const guess = Number.parseInt(message.content, 10)
    if (guess === task.recipe.number) return true
    messages.push(message, {
      role: 'user',
      content: guess > task.recipe.number ? 'Lower.' : 'Higher.',
    })
  }
  return false
}

while (!(await fetch(`${gateway}/health`).catch(() => null))?.ok)
  await new Promise((resolve) => setTimeout(resolve, 200)) // The gateway is on its way.
for (;;) {
  const rollout = await post<Rollout>(`${gateway}/rollouts`, process.env.RL_GATEWAY_TOKEN ?? '', {
    agent: 'guesser',
    wait: 20,
  })
  if (rollout === null) continue // None is asked for now.
  const success = await play(rollout)
  console.log(`${rollout.task.id}: ${success ? 'found' : 'not found'}`)
  await post(rollout.outcome_url, rollout.key, { success })
}
