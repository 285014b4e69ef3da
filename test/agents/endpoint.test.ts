/** `rl train --learn weights`: the model is behind an endpoint, and a program outside makes its new versions. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLocalModel } from '../../src/models/local/model.ts'
import { startModelServer } from '../../src/models/local/server.ts'
import { askingAgent } from '../support/agent-files.ts'
import { GUESS, writeGuessingModel } from '../support/guessing-model.ts'
import { eventsBelow } from '../support/logged.ts'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder } from '../support/run.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const KEY = 'key-of-the-endpoint'
function file(name: string, text: string): string {
  writeFileSync(join(root, name), text)
  return join(root, name)
}

const AGENT = file('agent.ts', askingAgent())
const GRADE = file('grade.ts', 'export const grade = (_: unknown, result: string) => result.includes("7")')
const TASKS = file(
  'tasks.jsonl',
  Array.from({ length: 10 }, (_, i) => JSON.stringify({ id: `t${i}`, question: GUESS })).join('\n'),
)
const WORDS = ['train', AGENT, '--tasks', TASKS, '--grade', GRADE, '--model', 'tiny']

test('an agent plays with each version that a trainer outside makes and the endpoint loads', async () => {
  const folder = join(root, 'model')
  await writeGuessingModel(folder)
  const model = await openLocalModel({ folder, backend: 'wasm' })
  const server = await startModelServer(model, {
    name: 'tiny',
    token: KEY,
    loading: { open: (path) => openLocalModel({ folder: path, backend: 'wasm' }), most: 4 },
  })
  const environment = { RL_RUNS: root, OPENAI_API_KEY: KEY }
  const run = startProcess(
    [
      ...['src/rl.ts', ...WORDS, '--run', 'outside', '--base-url', server.url, '--learn', 'weights'],
      ...['--iterations', '2', '--set', 'policy.publish.as=model', '--set', 'policy.training.klLimit=null'],
    ],
    environment,
  )
  const trainer = startProcess(['src/rl.ts', 'trainer', '--run', 'outside', '--model', folder], environment)
  try {
    assert.is(await run.status, 0, `${run.output()}\n${trainer.output()}`)
    assert.is(await trainer.status, 0, trainer.output())
  } finally {
    run.process.kill('SIGKILL')
    trainer.process.kill('SIGKILL')
    await server.close()
    await model.close()
  }
  assert.match(run.output(), /a trainer must answer/)
  assert.match(run.output(), /^(better|no difference shown|worse): held-out/m)
  assert.not.match(run.output(), new RegExp(KEY))
  const updates = eventsOf('outside', ['PolicyUpdated'])
  assert.equal(
    updates.map(({ data }) => [data.version, data.checkpoint !== null]),
    [
      [0, false],
      [1, true],
      [2, true],
    ],
  )
  const played = eventsOf('outside', ['TrajectoryCompleted'])
  assert.equal([...new Set(played.map(({ data }) => data.policyVersion))].sort(), [0, 1, 2])
  assert.ok(played.every(({ data }) => data.trainable))
})

test('who trains a model behind an endpoint must be said', async () => {
  const { status, output } = startProcess(['src/rl.ts', ...WORDS, '--base-url', 'http://127.0.0.1:9/v1'], {
    RL_RUNS: root,
  })
  assert.ok(![0, null].includes(await status))
  assert.match(output(), /--learn instructions, or --learn weights/)
})

test('an endpoint that nobody serves is told before the run waits for it', async () => {
  const words = ['--base-url', 'http://127.0.0.1:9/v1', '--learn', 'weights', '--dry-run']
  const { status, output } = startProcess(['src/rl.ts', ...WORDS, ...words], { RL_RUNS: root })
  await status
  assert.match(
    output(),
    /the endpoint http:\/\/127\.0\.0\.1:9\/v1 does not answer \(.+\): the run waits for it/,
  )
})

test.run()
