/** An agent learns from what is said next, without a grade. The judge is a real HTTP endpoint, and all else is real. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { writeGuessingModel } from '../support/guessing-model.ts'
import { eventsBelow } from '../support/logged.ts'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder } from '../support/run.ts'
import { completion, startScriptedEndpoint } from '../support/scripted-endpoint.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const file = (name: string, text: string) => {
  writeFileSync(join(root, name), text)
  return join(root, name)
}

/** Its user says whether the guess was right, and never grades it. */
const AGENT = file(
  'agent.ts',
  `type Model = { baseURL: string; apiKey: string; model: string }
export async function agent(task: { question: string }, { baseURL, apiKey, model }: Model) {
  const messages: object[] = [{ role: 'user', content: task.question }]
  for (let turn = 0; turn < 2; turn++) {
    const answer = await fetch(baseURL + '/chat/completions', {
      method: 'POST',
      headers: { authorization: 'Bearer ' + apiKey, 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 4, messages }),
    })
    const { message } = (await answer.json()).choices[0]
    messages.push(message, { role: 'user', content: message.content.includes('7') ? 'Right.' : 'Lower.' })
  }
}`,
)
const TASKS = file(
  'tasks.jsonl',
  Array.from({ length: 20 }, (_, i) =>
    JSON.stringify({
      id: `t${i}`,
      question: 'Guess a number from 1 to 9.',
      ...(i > 13 ? { split: 'held-out' } : {}),
    }),
  ).join('\n'),
)

test('what is said next is the verdict, the reward and the measure', async () => {
  await writeGuessingModel(join(root, 'model'))
  const judge = await startScriptedEndpoint(({ body }) => {
    const prompt = JSON.stringify(body.messages)
    const next = prompt.slice(prompt.indexOf('said next:'))
    const score = next.includes('Right.') ? 1 : -1
    return completion(
      { content: `It was ${score > 0 ? 'accepted' : 'refused'}. \\boxed{${score}}` },
      { prompt: [1], tokens: [2] },
    )
  })
  try {
    const settings = ['backend=wasm', 'policy.training.klLimit=null', 'policy.training.learningRate=0.003']
    const { status, output } = startProcess(
      [
        ...['src/rl.ts', 'train', AGENT, '--tasks', TASKS, '--model', join(root, 'model'), '--run', 'next'],
        ...['--next-message', '--judge', 'reader', '--judge-url', judge.url, '--iterations', '12'],
        ...settings.flatMap((setting) => ['--set', setting]),
      ],
      { RL_RUNS: root },
    )
    assert.is(await status, 0, output())
    assert.match(output(), /^better: held-out 0\.\d\d -> \d\.\d\d/m)
    const outcomes = eventsOf('next', ['TrajectoryCompleted']).map(({ data }) => data.outcome)
    assert.ok(outcomes.every((one) => one.kind === 'scored' && one.value === 0.5 && !one.success))
    const scored = eventsOf('next', ['StepScored'])
    const of = (step: number) =>
      scored.filter(({ data }) => data.step === step).map(({ data }) => data.judgements[0]?.score)
    assert.ok(of(0).includes(1) && of(0).includes(-1) && !of(0).includes(0))
    assert.ok(
      of(1).every((score) => score === 0),
      'nothing was said after the last call',
    )
  } finally {
    await judge.close()
  }
})

test.run()
