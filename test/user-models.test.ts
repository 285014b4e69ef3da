/** A provider of language models that is not ours, from a file outside of this project: it acts and judges; mistakes are told by file and field. */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../src/broker/connection.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { loadProviders, providerOf } from '../src/models/registry.ts'
import { replay } from '../src/replay/replay.ts'
import { smallConfig } from './actors/loop.ts'
import { eventsBelow } from './support/logged.ts'
import { startHead } from './support/processes.ts'
import { temporaryFolder } from './support/run.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const file = join(root, 'provider.ts')
copyFileSync('examples/model-provider/provider.ts', file)

const settings = (module: string) => [
  `models.module=${module}`,
  ...['policy.provider=by-chance', 'policy.acting=numbered', 'rewardModel.provider=by-chance'],
  ...['environment.tasks=4', 'environment.tasksPerIteration=2', 'environment.rolloutsPerTask=2'],
  ...['environment.minGroupSize=2', 'environment.maxSteps=3', 'evaluation.splits=[]'],
  ...['adaptation.enabled=false', 'run.iterations=2', 'run.heartbeatSeconds=0.5'],
]

test('it acts and judges, the log names it, and the run replays', async () => {
  const head = startHead(root, 'asked', settings(file))
  assert.is(await head.status, 0, head.output())
  assert.ok(eventsOf('asked', ['TrajectoryCompleted']).length >= 8)
  const votes = eventsOf('asked', ['StepScored']).flatMap(({ data }) => data.judgements)
  assert.ok(votes.length > 0 && votes.every(({ score }) => score !== 0))
  const [{ data }] = eventsOf('asked', ['RunStarted'])
  assert.equal(
    data.rules?.map(({ kind, name, version }) => ({ kind, name, version })),
    [{ kind: 'modelProvider', name: 'by-chance', version: 1 }],
  )
  const log = openLogReader(runFolder('asked', root).log)
  try {
    assert.is(replay(log).difference, null)
  } finally {
    log.close()
  }
})

test('an answer that is none pauses the run with file and field', async () => {
  const broken = join(root, 'broken.ts')
  writeFileSync(broken, readFileSync(file, 'utf8').replace("finish: 'stop'", "finish: 'done'"))
  const head = startHead(root, 'broken', settings(broken))
  assert.is(await head.status, 1)
  assert.match(
    head.output(),
    /broken\.ts: modelProviders: 'by-chance': generate\(\)\[0\]\.finish: Invalid option/,
  )
})

async function refusal(changes: Record<string, Record<string, unknown>>): Promise<string> {
  try {
    await loadProviders(smallConfig(changes))
  } catch (error) {
    return `${(error as Error).message} - ${(error as { hint?: string }).hint}`
  }
  throw new Error('it was taken')
}

test('a provider that there is not, and a module without one, are refused by name', async () => {
  assert.match(
    await refusal({ policy: { provider: 'opanai' } }),
    /policy\.provider: there is no provider 'opanai' - there are local, openai, simulated, environment; models\.module can/,
  )
  assert.match(
    await refusal({ models: { module: file }, policy: { provider: 'by-chanse' } }),
    /policy\.provider: there is no provider 'by-chanse' - there are local, openai, simulated, environment, by-chance/,
  )
  const empty = join(root, 'empty.mjs')
  writeFileSync(empty, 'export const modelProviders = [{ name: "mine", version: 1 }]')
  assert.match(
    await refusal({ models: { module: empty } }),
    /empty\.mjs: modelProviders: 'mine' has no function `open`/,
  )
})

test('a provider that throws is named with file and line', async () => {
  const failing = join(root, 'failing.mjs')
  writeFileSync(
    failing,
    `export const modelProviders = [{ name: 'failing', version: 1, open: ({ model }) => {
  if (model === 'closed') throw new Error('no key')
  return { generate: async () => { throw new Error('429 quota') } }
} }]`,
  )
  const config = smallConfig({ models: { module: failing }, policy: { provider: 'failing' } })
  await loadProviders(config)
  const options = (model: string) => ({
    ...{ model, baseUrl: null, apiKeyEnv: 'X', concurrency: 1 },
    ...{ promptPrice: null, completionPrice: null, callMs: 1000, budgetMs: 1000 },
  })
  const provider = providerOf(config.policy, config)
  const told = (work: Promise<unknown>) => work.catch((error: Error) => error.message)
  assert.match(
    String(await told(Promise.resolve(provider.open?.(options('closed'))))),
    /failing\.mjs:2:\d+: modelProviders: 'failing': open\(\) failed: no key/,
  )
  const model = await provider.open?.(options('x'))
  const request = { prompt: { text: '?' }, maxTokens: 1, temperature: 0, seed: [0, 0] } as const
  assert.match(
    String(await told(model!.generate([request]))),
    /failing\.mjs:3:\d+: modelProviders: 'failing': generate\(\) failed: 429 quota/,
  )
})

test('an answer that does not come is waited for no longer than its asker does, and each is taken from the budget', async () => {
  const silent = join(root, 'silent.mjs')
  writeFileSync(
    silent,
    `export const modelProviders = [{ name: 'silent', version: 1, open: () => ({ generate: () => new Promise(() => {}) }) }]`,
  )
  const config = smallConfig({ models: { module: silent }, policy: { provider: 'silent' } })
  await loadProviders(config)
  const options = {
    ...{ model: 'x', baseUrl: null, apiKeyEnv: 'X', concurrency: 1 },
    ...{ promptPrice: null, completionPrice: null, callMs: 20, budgetMs: 20 },
  }
  const provider = providerOf(config.policy, config)
  const model = await provider.open?.(options)
  const request = { prompt: { text: '?' }, maxTokens: 1, temperature: 0, seed: [0, 0] } as const
  const error = await model!.generate([request]).catch((caught: unknown) => caught)
  assert.match(String(error), /'silent': no answer within 0\.02 s/)
  const left = await model!.generate([request], AbortSignal.abort()).catch((caught: unknown) => caught)
  assert.match(String(left), /cancelled/)
  let permits = 0
  const permit = async () => {
    if (++permits > 2) throw new Error('the budget is spent')
  }
  const bounded = await provider.open?.({ ...options, permit })
  const third = await bounded!.generate([request, request, request]).catch((caught: unknown) => caught)
  assert.match(String(third), /the budget is spent/)
  await model!.close()
})

test.run()
