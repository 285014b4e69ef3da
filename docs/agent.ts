/** An agent of your own behind `rl gateway`: any program, any OpenAI client. This one guesses a number. docs/gateway.md tells how to run it. */
import OpenAI from 'openai'

const { GATEWAY_URL = 'http://127.0.0.1:8100', GATEWAY_TOKEN = '', TASK } = process.env

async function post(url: string, key: string, body: unknown) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`)
  return answer.status === 204 ? null : answer.json()
}

async function play(rollout: {
  url: string
  key: string
  model: string
  task: { goal: string; recipe: { number: number } }
}) {
  const client = new OpenAI({ baseURL: rollout.url, apiKey: rollout.key })
  const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: rollout.task.goal }]
  for (let turn = 0; turn < 3; turn++) {
    const { choices } = await client.chat.completions.create({
      model: rollout.model,
      messages,
      max_tokens: 16,
    })
    const guess = Number(/\d+/.exec(choices[0].message.content ?? '')?.[0])
    if (guess === rollout.task.recipe.number) return { success: true, observation: 'Right.' }
    const hint =
      guess > rollout.task.recipe.number
        ? 'Lower.'
        : guess < rollout.task.recipe.number
          ? 'Higher.'
          : 'Say a number.'
    messages.push(choices[0].message, { role: 'user', content: hint })
  }
  return { success: false, observation: 'No more guesses.' }
}

for (;;) {
  const rollout = await post(`${GATEWAY_URL}/rollouts`, GATEWAY_TOKEN, {
    agent: 'guesser',
    wait: TASK ? 0 : 20,
    ...(TASK ? { task: JSON.parse(TASK) } : {}),
  })
  if (rollout === null) break
  await post(rollout.outcome_url, rollout.key, await play(rollout))
  if (TASK) break
}
