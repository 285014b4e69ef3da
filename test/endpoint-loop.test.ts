import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { askHead } from '../src/actors/head/liveness.ts'
import { readPrompt } from '../src/actors/learner/prompts.ts'
import { runFolder } from '../src/broker/connection.ts'
import type { LoggedEvent } from '../src/events/catalogue.ts'
import { digestOf } from '../src/events/digest.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { replay } from '../src/replay/replay.ts'
import { type Spoil, startFaultProxy } from './support/fault-proxy.ts'
import { eventsBelow } from './support/logged.ts'
import { type Started, startHead, startProcess } from './support/processes.ts'
import { temporaryFolder, until } from './support/run.ts'
import { writeTinyChatModel } from './support/tiny-chat-model.ts'

const root = temporaryFolder()
const secret = randomBytes(18).toString('base64url')
const eventsOf = eventsBelow(root)

let server: Started
let address = ''

test.before(async () => {
  const folder = join(root, 'model')
  await writeTinyChatModel(folder, 60)
  const words = ['src/rl.ts', 'serve', '--model', folder, '--name', 'tiny', '--port', '0']
  server = startProcess(words, { RL_SERVE_TOKEN: secret })
  await until('served', () => /http:\S+\s/.test(server.output()), 240_000)
  address = /http:\S+/.exec(server.output())![0]
})

test.after(async () => {
  server.process.kill('SIGTERM')
  await server.status
})

/** What differs from an ordinary run is config alone. */
function startLoop(run: string, baseUrl: string, settings: readonly string[] = []): Started {
  const endpoint = (section: string) => [
    `${section}.provider=openai`,
    `${section}.model=tiny`,
    `${section}.baseUrl=${baseUrl}`,
    `${section}.apiKeyEnv=RL_TEST_WORD`,
  ]
  const all = [
    ...['policy', 'rewardModel', 'adaptation'].flatMap(endpoint),
    ...['policy.acting=numbered', 'policy.maxTokens=12', 'rewardModel.maxTokens=12'],
    ...['rewardModel.mode=fixed', 'rewardModel.samples=2'],
    ...['adaptation.rewriter=language-model', 'adaptation.samples=4', 'adaptation.maxTokens=24'],
    ...['environment.tasks=4', 'environment.tasksPerIteration=2', 'environment.rolloutsPerTask=2'],
    ...['environment.minGroupSize=2', 'environment.maxSteps=3', 'evaluation.splits=[]'],
    ...['run.iterations=2', 'run.heartbeatSeconds=0.5', 'run.deadlines.llmCallSeconds=15'],
    ...settings,
  ]
  return startHead(root, run, all, { RL_TEST_WORD: secret })
}

function withoutCache(event: LoggedEvent): LoggedEvent {
  if (event.type !== 'TrajectoryCompleted') return event
  return { ...event, data: { ...event.data, usage: { ...event.data.usage, cachedTokens: 0 } } }
}

/** How much of a prompt was cached depends on what was asked before; all else must be equal. */
function digest(run: string): string {
  const log = openLogReader(runFolder(run, root).log)
  try {
    const events = [...log.events({})].filter(({ type }) => type !== 'RunStarted')
    return digestOf(events.map(withoutCache))
  } finally {
    log.close()
  }
}

test('the loop closes with policy, judge and rewriter behind one endpoint', async () => {
  const head = startLoop('served', address)
  assert.is(await head.status, 0, head.output())
  const played = eventsOf('served', ['TrajectoryCompleted'])
  assert.ok(played.length >= 8)
  for (const { data } of played) {
    assert.is(data.outcome.kind, 'scored')
    assert.is(data.trainable, true)
    assert.is(data.segments.length, data.steps)
    assert.is(data.promptSha256, readPrompt('alfworld-policy').sha256)
  }
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  const invalid = sum(played.flatMap(({ data }) => Object.values(data.invalid)))
  assert.ok(invalid < sum(played.map(({ data }) => data.steps)), `${invalid} answers cannot be read`)
  const scored = eventsOf('served', ['StepScored'])
  assert.is(scored.length, sum(played.map(({ data }) => data.steps)))
  for (const { data } of scored) {
    assert.is(data.judgements.length, 2)
    assert.is(data.promptSha256, readPrompt('alfworld-judge').sha256)
  }
  assert.ok(scored.some(({ data }) => data.judgements.some(({ score }) => score !== 0)))
  const updates = eventsOf('served', ['PolicyUpdated'])
  assert.equal(
    updates.map(({ data }) => data.stopped),
    [null, 'the weights live at the endpoint', 'the weights live at the endpoint'],
  )
  const proposals = eventsOf('served', ['TaskProposed'])
  const refusals = eventsOf('served', ['TaskRejected']).filter(({ data }) => data.task === null)
  assert.ok(proposals.length + refusals.length > 0, 'tasks were to be rewritten')
  for (const { data } of proposals)
    assert.equal(data.rewriter, {
      kind: 'language-model',
      name: 'tiny',
      promptSha256: readPrompt('alfworld-rewrite').sha256,
    })
  for (const { data } of refusals) assert.match(data.reason, /none of 4 answers/)
  assert.not.match(head.output(), secret)
})

test('a run without a reward model goes on after its head was ended', async () => {
  const settings = [
    'rewardModel.mode=off',
    'learning.reward=outcome',
    'adaptation.enabled=false',
    'run.iterations=4',
  ]
  const first = startLoop('unjudged', address, settings)
  await until('an iteration is over', () => eventsOf('unjudged', ['IterationCompleted']).length > 0, 120_000)
  first.process.kill('SIGINT')
  await first.status
  assert.ok(eventsOf('unjudged', ['RewardModelUpdated']).length > 0)
  assert.equal(eventsOf('unjudged', ['RunCompleted']), [])
  const second = startHead(root, 'unjudged', [], { RL_TEST_WORD: secret })
  assert.is(await second.status, 0, second.output())
  assert.is(eventsOf('unjudged', ['RunCompleted']).length, 1)
})

const SPOILS: readonly Spoil[] = [
  ...[{ status: 429 }, { status: 429, retryAfter: 0.2 }, { status: 500 }, { status: 500 }, { status: 503 }],
  ...(['reset', 'truncated', 'empty-choices'] as const),
]

test('figures of an update that nobody makes count the pool of successes, and the curves of tasks', async () => {
  const words = ['rewardModel.mode=off', 'learning.reward=outcome', 'adaptation.enabled=false']
  const head = startLoop('pooled', address, [...words, 'learning.successPool=true', 'learning.filter=trend'])
  assert.is(await head.status, 0, head.output())
  const updates = eventsOf('pooled', ['PolicyUpdated']).filter(({ data }) => data.version > 0)
  assert.ok(updates.every(({ data }) => data.metrics.groupsPooled !== undefined))
  const log = openLogReader(runFolder('pooled', root).log)
  try {
    assert.is(replay(log).difference, null)
  } finally {
    log.close()
  }
})

test('spoiled answers lose no rollout and change none: the events are those of the undisturbed run', async () => {
  const slow: Readonly<Record<number, Spoil>> = { 6: 'hang', 9: 'drip' }
  const proxy = await startFaultProxy(
    address,
    (index) => slow[index] ?? (index % 3 === 1 ? SPOILS[Math.floor(index / 3) % SPOILS.length] : null),
  )
  try {
    const head = startLoop('spoiled', proxy.url, ['run.deadlines.llmCallSeconds=10'])
    const counted = new Set<string>()
    let over = false
    void head.status.then(() => {
      over = true
    })
    await until(
      'over',
      async () => {
        const live = await askHead(runFolder('spoiled', root))
        if ('unreachable' in live) return over
        for (const { role, counters } of live.actors)
          for (const name of Object.keys(counters))
            if (name.startsWith('fault ')) counted.add(`${role}: ${name.slice(6)}`)
        return over
      },
      400_000,
    )
    assert.is(await head.status, 0, head.output())
    assert.equal(eventsOf('spoiled', ['RolloutFailed']), [])
    assert.is(digest('spoiled'), digest('served'))
    for (const kind of ['policy: rate-limit', 'policy: server', 'reward-model: server'])
      assert.ok(counted.has(kind), `${kind} is not among ${[...counted].sort().join(', ')}`)
    assert.not.match(head.output(), secret)
  } finally {
    await proxy.close()
  }
})

test('a wrong model name ends the run before any rollout, and says so', async () => {
  const head = startLoop('misnamed', address, ['policy.model=huge', 'run.attempts=1'])
  await until('told', () => eventsOf('misnamed', ['ActorFailed']).length > 0, 240_000)
  const [{ data }] = eventsOf('misnamed', ['ActorFailed'])
  assert.is(data.code, 'model.not-found')
  assert.match(data.error, /not-found.*'huge' does not exist/)
  head.process.kill('SIGINT')
  await head.status
  assert.equal(eventsOf('misnamed', ['RolloutRequested']), [])
})

test('the key stands in no file of any run', () => {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
    .map((name) => join(root, name))
    .filter((path) => statSync(path).isFile() && !path.startsWith(join(root, 'model')))
  assert.ok(files.length > 3)
  for (const path of files) assert.not.ok(readFileSync(path).includes(secret), path)
})

test('a judge that is asked too much is shown less, or gives no verdict on that step, and the run goes on', async () => {
  let shortened = 0
  const proxy = await startFaultProxy(address, (_, body) => {
    // The judge alone may say so much. Steps before which others were are shown without these; first steps stay as they are.
    const { max_tokens, messages } = JSON.parse(body) as { max_tokens: number; messages: unknown[] }
    const text = JSON.stringify(messages)
    const isShort = text.includes('earlier steps are left out')
    if (max_tokens !== 13 || isShort) {
      if (max_tokens === 13) shortened++
      return null
    }
    const message = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."
    return { status: 400, body: { error: { message } } }
  })
  try {
    const head = startLoop('too-long', proxy.url, [
      ...['run.iterations=1', 'rewardModel.maxTokens=13', 'adaptation.rewriter=symbolic'],
    ])
    assert.is(await head.status, 0, head.output())
    const judgements = eventsOf('too-long', ['StepScored']).flatMap(({ data }) => data.judgements)
    const without = judgements.filter(({ tokensI32 }) => tokensI32.byteLength === 0)
    assert.ok(without.length > 0 && without.length < judgements.length)
    assert.ok(without.every(({ score }) => score === 0))
    assert.ok(shortened > 0)
  } finally {
    await proxy.close()
  }
})

test.run()
