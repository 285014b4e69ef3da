/** Agents that do not do what they should: each costs its own rollouts, and is told by name. All parts are real. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { writeGuessingModel } from '../support/guessing-model.ts'
import { eventsBelow } from '../support/logged.ts'
import { isAlive, startProcess } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const file = (name: string, text: string) => {
  writeFileSync(join(root, name), text)
  return join(root, name)
}

/** What each task's agent does, and how its failed rollouts are told. */
const KINDS: Readonly<Record<string, RegExp>> = {
  'other-model': /^agent: .*never called the model \(refused: another model 1\)/,
  'other-path': /^agent: .*never called the model \(refused: another path 1\)/,
  nobody: /^agent: .*never called the model$/,
  large: /^agent: .*never called the model \(refused: too large 1\)/,
  late: /^agent: the agent: it gave no result within 3 s and was ended/,
  'old-key': /^agent: .*never called the model/,
  leaves: /^$/,
  claims: /^$/,
}

const AGENT = file(
  'agent.ts',
  `import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
const LEFT = ${JSON.stringify(join(root, 'left'))}
const OLD = ${JSON.stringify(join(root, 'old-key'))}
type Model = { baseURL: string; rolloutURL: string; apiKey: string; model: string }
export async function agent(task: { id: string; kind: string }, { baseURL, rolloutURL, apiKey, model }: Model) {
  const call = (path: string, body: object, key = apiKey, base = baseURL) => fetch(base + path, {
    method: 'POST',
    headers: { authorization: 'Bearer ' + key, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  }).then((answer) => answer.json()).catch(() => null)
  const chat = { model, max_tokens: 2, messages: [{ role: 'user', content: 'Guess a number from 1 to 9.' }] }
  switch (task.kind) {
    case 'other-model': await call('/chat/completions', { ...chat, model: 'gpt-5' }); return 'x'
    case 'other-path': await call('/embeddings', { model, input: 'x' }); return 'x'
    case 'nobody': return 'x'
    case 'large': await call('/chat/completions', { ...chat, user: 'x'.repeat(100_000_000) }); return 'x'
    case 'late': await new Promise((go) => setTimeout(go, 60_000)); return 'x'
    case 'old-key': {
      while (!existsSync(OLD)) await new Promise((go) => setTimeout(go, 20))
      await new Promise((go) => setTimeout(go, 500))
      await call('/chat/completions', chat, readFileSync(OLD, 'utf8'))
      return 'x'
    }
    case 'leaves': appendFileSync(LEFT, spawn('sleep', ['600'], { stdio: 'ignore' }).pid + '\\n')
  }
  await call('/chat/completions', chat)
  if (task.kind === 'claims') await call('/outcome', { success: true }, apiKey, rolloutURL)
  if (task.kind === 'well' && !existsSync(OLD)) writeFileSync(OLD, apiKey)
  return 'x'
}`,
)
const GRADE = file('grade.ts', "export const grade = ({ kind }) => kind !== 'claims' && Math.random() < 0.5")
const kinds = ['well', 'well', 'well', 'well', ...Object.keys(KINDS)]
const TASKS = file(
  'tasks.jsonl',
  kinds.map((kind, i) => JSON.stringify({ id: `${kind}-${i}`, kind, split: 'train' })).join('\n'),
)

test('each bad agent costs its own rollouts, and the line of the iteration and rl status name it', async () => {
  await writeGuessingModel(join(root, 'model'))
  const words = ['--tasks', TASKS, '--grade', GRADE, '--model', join(root, 'model'), '--run', 'bad']
  const settings = [
    'backend=wasm',
    'environment.rolloutsPerTask=2',
    'environment.minGroupSize=2',
    'environment.tasksPerIteration=12',
  ]
  const { process, status, output } = startProcess(
    [
      ...[
        'src/rl.ts',
        'train',
        AGENT,
        ...words,
        '--iterations',
        '50',
        '--deadline',
        '3',
        '--concurrency',
        '4',
      ],
      ...settings.flatMap((setting) => ['--set', setting]),
    ],
    { RL_RUNS: root },
  )
  const told = ['another model', 'another path', 'too large', 'ended rollout', 'outcome of its own']
  await until(
    'rl status names what was refused',
    async () => {
      const seen = startProcess(['src/rl.ts', 'status', 'bad'], { RL_RUNS: root })
      await seen.status
      return told.every((kind) => seen.output().includes(`refused ${kind}`))
    },
    120_000,
  )
  await until('an iteration', () => eventsOf('bad', ['IterationCompleted']).length > 0, 120_000)
  process.kill('SIGINT')
  assert.is(await status, 130, output())
  const failed = eventsOf('bad', ['RolloutFailed'])
  const completed = eventsOf('bad', ['TrajectoryCompleted'])
  for (const [kind, told] of Object.entries(KINDS)) {
    const own = failed.filter(({ data }) => data.task.startsWith(kind))
    const errors = own.map(({ data }) => `${data.cause}: ${data.error}`)
    if (kind === 'leaves' || kind === 'claims') assert.equal(errors, [])
    else
      assert.ok(
        errors.length > 0 && errors.every((error) => told.test(error)),
        `${kind}: ${errors.join('\n')}`,
      )
  }
  const claimed = completed.filter(({ data }) => data.task.startsWith('claims'))
  assert.ok(claimed.length > 0)
  for (const { data } of claimed)
    assert.equal(data.outcome, { kind: 'scored', value: 0, success: false }, 'the grade decides')
  const good = completed.filter(({ data }) => /^(well|leaves)/.test(data.task))
  assert.ok(good.length >= 10, 'the other rollouts are as they should be')
  assert.match(output(), /^\d+ rollouts of iteration 1 failed: .*\n {2}agent \d+, e\.g\. /m)
  assert.match(output(), /refused: (another model|another path|too large) 1/)
  const left = readFileSync(join(root, 'left'), 'utf8').trim().split('\n').map(Number)
  await until('what they left is gone', () => left.every((pid) => !isAlive(pid)))
})

test.run()
