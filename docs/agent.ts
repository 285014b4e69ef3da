/** An agent of your own behind `rl gateway`: any program, any OpenAI client. This one guesses a number. docs/gateway.md tells how to run it. */
import OpenAI from 'openai'

const { GATEWAY_URL = 'http://127.0.0.1:8100', GATEWAY_TOKEN = '' } = process.env

async function post(url: string, key: string, body: unknown) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  return answer.status === 204 ? null : answer.json()
}

async function play(client: OpenAI, model: string, goal: string, secret: number): Promise<boolean> {
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: goal }]
  for (let turn = 0; turn < 3; turn++) {
    const { choices } = await client.chat.completions.create({ model, messages, max_tokens: 16 })
    const guess = Number.parseInt(choices[0].message.content ?? '', 10)
    if (guess === secret) return true
    messages.push(choices[0].message, { role: 'user', content: guess > secret ? 'Lower.' : 'Higher.' })
  }
  return false
}

for (;;) {
  const rollout = await post(`${GATEWAY_URL}/rollouts`, GATEWAY_TOKEN, { agent: 'guesser', wait: 20 })
  if (rollout === null) continue // None is asked for now.
  const client = new OpenAI({ baseURL: rollout.url, apiKey: rollout.key })
  const { goal, recipe } = rollout.task
  const success = await play(client, rollout.model, goal, recipe.number)
  await post(rollout.outcome_url, rollout.key, { success })
}
