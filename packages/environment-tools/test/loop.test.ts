/**
 * GRPO-TCR as a loop, by config/tools.yaml in small: a policy behind `rl serve` calls tools, a trainer outside makes its versions by
 * clip-higher, overlong shaping and token loss, and the server answers with each of them.
 */

import '../../../test/support/packages.ts'
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readCalls } from 'rlanything/environments'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { decodeBatch } from '../../../src/actors/learner/batch-file.ts'
import { runFolder } from '../../../src/broker/connection.ts'
import { loadConfig } from '../../../src/config.ts'
import type { EventData } from '../../../src/events/catalogue.ts'
import { readInt32 } from '../../../src/events/columns.ts'
import { eventsBelow } from '../../../test/support/logged.ts'
import { type Started, startProcess } from '../../../test/support/processes.ts'
import { temporaryFolder, until } from '../../../test/support/run.ts'
import { writeTinyToolsModel } from '../../../test/support/tiny-tools-model.ts'

const root = temporaryFolder()
const folder = join(root, 'model')
const eventsOf = eventsBelow(root)
const FILE = 'config/tools.yaml'
const RUN = 'tools'
const WORD = 'word-of-the-server'
const OVERLONG = { maxTokens: 24, bufferTokens: 20 }
/** Tokens that cost nothing: a search and an answer. */
const FREE = OVERLONG.maxTokens - OVERLONG.bufferTokens

let server: Started
let address = ''

/** What makes it small, and what leads to the server of this test. */
const settings = () => [
  ...['environment.difficulty=easy', 'environment.tasks=2', 'environment.tasksPerIteration=2'],
  ...['environment.rolloutsPerTask=6', 'environment.minGroupSize=2', 'environment.maxSteps=4'],
  ...['environment.splits={"train": "train", "in-domain": "train"}', 'evaluation.splits=["in-domain"]'],
  ...['evaluation.tasks=2', 'evaluation.rollouts=4', 'run.iterations=2', 'run.evaluateEvery=2'],
  ...['policy.model=tiny', `policy.baseUrl=${address}`, 'policy.apiKeyEnv=RL_TEST_WORD'],
  ...['policy.publish.as=model', 'policy.maxTokens=40', 'policy.training.updates=2'],
  ...['policy.training.learningRate=1e-3', `learning.overlong=${JSON.stringify(OVERLONG)}`],
  'backend=wasm',
]

test.before(async () => {
  await writeTinyToolsModel(
    folder,
    loadConfig({ file: FILE, set: settings().filter((one) => !one.includes('baseUrl')) }),
    40,
  )
  const words = ['serve', '--model', folder, '--name', 'tiny', '--port', '0', '--allow-loading']
  server = startProcess(['src/rl.ts', ...words], { RL_SERVE_TOKEN: WORD })
  await until('served', () => /http:\S+\s/.test(server.output()), 240_000)
  address = /http:\S+/.exec(server.output())![0]
})

test.after(async () => {
  server.process.kill('SIGTERM')
  await server.status
})

test('the policy calls tools, is paid by GRPO-TCR and answers with each version of the trainer', async () => {
  const sets = settings().flatMap((setting) => ['--set', setting])
  const head = startProcess(['src/main.ts', '--role', 'head', '--run', RUN, '--config', FILE, ...sets], {
    ...{ RL_RUNS: root, RL_TEST_WORD: WORD },
  })
  await until(
    'a run',
    () => existsSync(runFolder(RUN, root).connection) || head.process.exitCode !== null,
    240_000,
  )
  const trainer = startProcess(['src/rl.ts', 'trainer', '--run', RUN, '--model', folder], { RL_RUNS: root })
  assert.is(await head.status, 0, head.output())
  await trainer.status

  const versions = [0, 1, 2]
  const updates = eventsOf(RUN, ['PolicyUpdated']).map(({ data, actor }) => ({ ...data, actor }))
  assert.equal(
    updates.map(({ version, stopped, actor }) => [version, stopped, actor]),
    versions.map((version) => [version, null, version === 0 ? updates[0].actor : 'policy/trainer']),
    trainer.output(),
  )
  const published = eventsOf(RUN, ['PolicyPublished'])
  assert.equal(
    published.map(({ data }) => [data.version, data.serving, data.replicas[0].state]),
    [1, 2].map((version) => [version, version, 'done']),
  )

  const played = eventsOf(RUN, ['TrajectoryCompleted']).map(({ data }) => data)
  for (const purpose of ['train', 'evaluation'] as const)
    assert.equal(
      [...new Set(played.filter((one) => one.purpose === purpose).map((one) => one.policyVersion))].sort(),
      purpose === 'train' ? [0, 1] : [0, 2],
    )
  const training = played.filter(({ purpose }) => purpose === 'train')
  for (const { actions, observations } of training)
    for (const [step, action] of actions.entries())
      for (const call of readCalls(action)) {
        assert.ok('name' in call, action)
        if (call.name === 'calculator') assert.is(observations[step + 1], '2')
        else assert.match(observations[step + 1], `${call.arguments.query} is a town`)
      }
  const searched = training.filter(({ actions }) => actions.some((action) => action.includes('"search"')))
  assert.ok(searched.some(({ outcome }) => outcome.kind === 'scored' && outcome.success))
  // What a tool answered stands in the same segment as the call and the answer, and is not trained.
  for (const { segments, steps } of training) {
    assert.is(segments.length, 1, `${steps} steps`)
    const [{ maskU8, stepStartI32 }] = segments
    const starts = readInt32(stepStartI32)
    assert.is(starts.length, steps)
    for (const start of starts) assert.equal([maskU8[start - 1], maskU8[start]], [0, 1])
  }

  const advantages = grpoAdvantages(training)
  const ready = eventsOf(RUN, ['BatchReady']).map(({ data }) => data)
  assert.is(ready.length, 2)
  let batched = 0
  for (const { file, iteration, options } of ready) {
    const { clipLow, clipHigh, dualClip, klWeight, aggregate } = options
    assert.equal([clipLow, clipHigh, dualClip, klWeight, aggregate], [0.2, 0.28, 10, 0, 'batch'])
    const { blobs } = runFolder(RUN, root)
    const { samples } = decodeBatch(readFileSync(join(blobs, file.sha256.slice(0, 2), file.sha256)))
    assert.equal(
      samples.map(({ id }) => id.split('#')[0]).sort(),
      training
        .filter((one) => one.iteration === iteration && advantages.get(one.rollout) !== 0)
        .map(({ rollout }) => rollout)
        .sort(),
    )
    for (const { id, mask, advantages: own } of samples)
      for (const [t, value] of own.entries())
        if (mask[t]) assert.ok(Math.abs(value - advantages.get(id.split('#')[0])!) < 1e-5, id)
    batched += samples.length
  }
  assert.ok(batched > 0)
  const failures = training.filter(({ outcome }) => outcome.kind === 'scored' && !outcome.success)
  const ofLength = (tokens: (value: number) => boolean) =>
    failures.filter(({ usage }) => tokens(usage.completionTokens)).length
  assert.ok(ofLength((tokens) => tokens <= FREE) > 0 && ofLength((tokens) => tokens > FREE) > 0)

  const told = spawnSync(process.execPath, ['src/rl.ts', 'eval', '--logged', RUN], {
    ...{ encoding: 'utf8', env: { ...process.env, RL_RUNS: root } },
  })
  assert.is(told.status, 0, told.stderr)
  assert.match(told.stdout, /policy 0 on in-domain: 2 tasks, 8 rollouts.*policy 2 on in-domain/s)
  for (const figure of ['avg@4', 'maj@4', 'pass@1', 'pass@2', 'pass@4'])
    assert.is(told.stdout.match(new RegExp(`^${figure} +[01]\\.\\d{3}`, 'gm'))?.length, 2, figure)
})

/** By rollout: the outcome with its penalty, standardised over the group by the sample deviation. Tool text has no length. */
function grpoAdvantages(training: readonly EventData<'TrajectoryCompleted'>[]): Map<string, number> {
  const groups = new Map<string, { readonly rollout: string; readonly score: number }[]>()
  for (const { rollout, iteration, task, outcome, usage } of training) {
    assert.ok(outcome.kind === 'scored')
    const excess = Math.max(0, usage.completionTokens - FREE) / OVERLONG.bufferTokens
    const score = (outcome.success ? 1 : -1) - Math.min(1, excess)
    const key = `${iteration} ${task}`
    groups.set(key, [...(groups.get(key) ?? []), { rollout, score }])
  }
  const values = [...groups.values()].flatMap((group) => {
    const mean = group.reduce((sum, { score }) => sum + score, 0) / group.length
    const squares = group.reduce((sum, { score }) => sum + (score - mean) ** 2, 0)
    const deviation = Math.sqrt(squares / (group.length - 1))
    return group.map(({ rollout, score }): [string, number] => [
      rollout,
      deviation < 1e-9 ? 0 : (score - mean) / deviation,
    ])
  })
  return new Map(values)
}

test.run()
