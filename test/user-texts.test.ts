/** A user's environment of texts, judged by tests of its own: taught and trained from scratch, or asked by prompts. */
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../src/broker/connection.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { replay } from '../src/replay/replay.ts'
import { testEnvironment } from '../src/testing/environment.ts'
import { setting } from './environments/spell.ts'
import { eventsBelow } from './support/logged.ts'
import { startHead } from './support/processes.ts'
import { temporaryFolder } from './support/run.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const file = join(root, 'spell.ts')
copyFileSync('test/environments/spell.ts', file)

const SETTINGS = [
  `environment.module=${file}`,
  ...['environment.tasks=8', 'environment.tasksPerIteration=4', 'environment.rolloutsPerTask=4'],
  ...['environment.minGroupSize=2', 'environment.maxSteps=1', 'learning.mixedOutcomes=false'],
  ...['policy.acting=free', 'policy.maxTokens=8'],
  ...['rewardModel.judging=group', 'rewardModel.samples=4', 'rewardModel.accuracyRange=[0, 1]'],
  ...['adaptation.enabled=false', 'evaluation.splits=[]', 'run.iterations=2', 'run.heartbeatSeconds=0.5'],
]

/** Of models that are trained from scratch. */
const SMALL = [
  ...['policy.contextTokens=64', 'policy.coldStart.demonstrations=64', 'policy.coldStart.updates=30'],
  ...['rewardModel.coldStart.rollouts=64', 'rewardModel.coldStart.updates=20'],
]

function replays(run: string): void {
  const log = openLogReader(runFolder(run, root).log)
  try {
    assert.is(replay(log).difference, null)
  } finally {
    log.close()
  }
}

test('it keeps the contract', async () => {
  const answer = async (task: { readonly goal: string }) => task.goal
  const { episodes } = await testEnvironment(setting, { answer, maxSteps: 1 })
  assert.ok(episodes > 0)
})

test('small models are taught by its lessons, and both learn from what its tests and theirs show', async () => {
  const head = startHead(root, 'small', [...SETTINGS, ...SMALL])
  assert.is(await head.status, 0, head.output())
  const played = eventsOf('small', ['TrajectoryCompleted'])
  const values = played.map(({ data }) => (data.outcome.kind === 'scored' ? data.outcome.value : null))
  assert.ok(values.includes(0.5) || values.includes(1), `outcomes ${values}`)
  assert.is(eventsOf('small', ['ProgramTested']).length, played.length)
  const written = eventsOf('small', ['UnitTestWritten'])
  assert.ok(written.some(({ data }) => data.test !== null))
  const votes = eventsOf('small', ['StepScored']).flatMap(({ data }) => data.judgements)
  assert.ok(votes.some(({ score }) => score === -1) && votes.some(({ score }) => score === 1))
  assert.ok(votes.some(({ critique }) => /^place [12] is not/.test(critique)))
  assert.ok(eventsOf('small', ['PolicyUpdated']).some(({ data }) => data.version > 0 && data.samples > 0))
  replays('small')
})

test('models that read prompts answer with the text, and write the tests', async () => {
  const provider = join(root, 'provider.ts')
  writeFileSync(
    provider,
    `const answer = ({ prompt, seed }) => {
  const text = prompt.messages.at(-1).content
  const [, word] = /(?:Task: |spell backwards: )([a-d] [a-d])/.exec(text) ?? []
  if (text.includes('Test Input')) return 'place 1 is ' + word?.split(' ')[1]
  return seed[0] % 2 === 0 ? word : word?.split(' ').reverse().join(' ')
}
const usage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 }
export const modelProviders = [{ name: 'speller', version: 1, open: () => ({
  generate: async (requests) => requests.map((request) => ({
    text: answer(request) ?? 'ok', finish: 'stop', tokens: null, logprobs: null, promptTokens: null, usage })),
  close: async () => {},
}) }]
`,
  )
  const head = startHead(root, 'asked', [
    ...SETTINGS,
    `models.module=${provider}`,
    ...['policy.provider=speller', 'rewardModel.provider=speller'],
  ])
  assert.is(await head.status, 0, head.output())
  const played = eventsOf('asked', ['TrajectoryCompleted'])
  assert.ok(played.some(({ data }) => data.outcome.kind === 'scored' && data.outcome.success))
  const written = eventsOf('asked', ['UnitTestWritten'])
  assert.ok(written.length > 0 && written.every(({ data }) => data.test?.input === '1'))
  replays('asked')
})

test('tests are of groups: judging each trajectory alone is refused by its key', async () => {
  const head = startHead(root, 'alone', [...SETTINGS, 'rewardModel.judging=trajectory'])
  assert.is(await head.status, 1)
  assert.match(
    head.output(),
    /rewardModel\.judging: 'trajectory' is not for a setting that is judged by tests/,
  )
})

test.run()
