/** The commands that ask a run, as a user calls them, on the committed run. */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { copyRun, unpackFixture } from '../replay/fixture.ts'
import { giveWeights } from '../replay/weights.ts'
import { temporaryFolder, until } from '../support/run.ts'

const root = temporaryFolder()
const folder = unpackFixture(root)

type Result = { readonly status: number | null; readonly out: string; readonly err: string }

function rl(...args: readonly string[]): Promise<Result> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, ['src/rl.ts', ...args], {
      env: { ...process.env, RL_RUNS: root },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk) => (out += chunk))
    child.stderr.on('data', (chunk) => (err += chunk))
    child.on('close', (status) => resolve({ status, out, err }))
  })
}

/** The committed run under another name, with events changed. */
function copyOfRun(run: string, change: (event: LoggedEvent) => LoggedEvent): string {
  return copyRun(folder, runFolder(run, root), { change }).run
}

async function json(...args: readonly string[]) {
  const { status, out, err } = await rl(...args, '--json')
  assert.is(status, 0, err)
  return JSON.parse(out)
}

test('rl replay says that the run is decided as recorded, and --step walks it', async () => {
  const replayed = await json('replay', 'run')
  assert.is(replayed.difference, null)
  assert.is(replayed.completed, true)
  const { out } = await rl('replay', 'run', '--step', '--until', '2')
  assert.match(out, /RunStarted[\s\S]*environment +idle -> loading/)
})

test('a difference that was accepted is none in a part of the run, and no part is recorded in place of the whole', async () => {
  const run = copyOfRun('meant', (event) =>
    event.type === 'IterationCompleted' && event.data.iteration === 1
      ? { ...event, data: { ...event.data, accuracy: { successes: 0, n: 1 } } }
      : event,
  )
  const statusOf = async (...part: readonly string[]) => (await rl('replay', run, ...part)).status
  assert.is(await statusOf(), 1)
  assert.is(await statusOf('--accept'), 0)
  const file = join(runFolder(run, root).folder, 'replay.json')
  const recorded = readFileSync(file, 'utf8')
  const { position } = JSON.parse(recorded).difference
  for (const part of [
    ['--from', position + 1],
    ['--until', position],
    ['--until', position - 1],
  ])
    assert.is(await statusOf(...part.map(String)), 0, part.join(' '))
  for (const part of [
    ['--from', '5'],
    ['--until', '50'],
  ])
    assert.is(await statusOf('--accept', ...part), 2, part.join(' '))
  assert.is(readFileSync(file, 'utf8'), recorded)
})

test('rl fork makes a run that rl diff finds the same up to the fork', async () => {
  const fork = await json(
    'fork',
    'run',
    '--at',
    'IterationCompleted/1',
    '--set',
    'learning.lambda=0.5',
    '--as',
    'half',
  )
  assert.equal([fork.run, fork.parent], ['half', 'run'])
  assert.ok((await json('diff', 'run', 'half')) !== null)
  assert.match((await rl('fork', 'run', '--at', '100000')).err, /^rl: /)
})

test('rl why answers for steps and versions, as tree, DOT and JSON', async () => {
  assert.match((await rl('why', 'run', 'version', 'policy/1')).out, /policy version 1/)
  assert.match((await rl('why', 'run', 'version', 'policy/1', '--dot')).out, /^digraph/)
  const [{ rollout }] = await scored()
  const step = await json('why', 'run', 'step', `${rollout}#0`)
  assert.match(JSON.stringify(step), /judged by reward model version/)
})

async function scored(): Promise<{ rollout: string; step: number }[]> {
  const { out } = await rl('log', 'run', 'export', '--jsonl', '--type', 'StepScored')
  return out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).data)
}

test('rl rescore lists what other rules change', async () => {
  const { before, after, trajectories } = await json('rescore', 'run', '--set', 'learning.lambda=0')
  assert.ok(trajectories > 0)
  assert.ok(before && after)
  assert.is((await rl('rescore', 'run')).status, 2)
})

test('rl export writes every form', async () => {
  for (const form of ['jsonl', 'parquet', 'tensorboard', 'metrics']) {
    const { status, err } = await rl('export', 'run', '--format', form, '-o', join(root, form))
    assert.is(status, 0, err)
    assert.ok(existsSync(join(root, form)), form)
  }
})

test('rl export ends an exporter of a user that never ends', async () => {
  const module = join(root, 'endless.mjs')
  writeFileSync(
    module,
    `const write = () => new Promise(() => setInterval(() => {}, 100))
export const exporters = [{ name: 'endless', summary: 'never ends', write }]`,
  )
  const words = ['export', 'run', '--module', module, '--format', 'endless', '-o', join(root, 'endless')]
  const { status, err } = await rl(...words, '--timeout', '0.2')
  assert.is(status, 1)
  assert.match(err, /endless\.mjs: exporters: 'endless': write\(\): no answer within 0\.2 s/)
  const odd = await rl(...words, '--timeout', 'soon')
  assert.is(odd.status, 2)
  assert.match(odd.err, /--timeout is a number of seconds up to 1000000, and 'soon' is none/)
})

test('rl attest and rl verify agree, and a flipped byte is named', async () => {
  const file = join(root, 'attest.json')
  writeFileSync(file, (await rl('attest', 'run')).out)
  assert.is((await rl('verify', file, '--log', folder.log)).status, 0)
  const spoiled = join(temporaryFolder(), 'events.db')
  writeFileSync(spoiled, readFileSync(folder.log))
  const db = new Database(spoiled)
  db.exec('DROP TRIGGER events_are_final')
  const body = db.prepare('SELECT body FROM events WHERE position = 77').pluck().get() as Buffer
  body[body.length >> 1] ^= 1
  db.prepare('UPDATE events SET body = ? WHERE position = 77').run(body)
  db.close()
  const { status, out } = await rl('verify', file, '--log', spoiled)
  assert.is(status, 1)
  assert.match(out, /\b77\b/)
})

test('rl whatif and rl rm ask the models of the run', async () => {
  await giveWeights(folder, [
    ['policy', 1],
    ['reward-model', 0],
    ['reward-model', 1],
  ])
  const [{ rollout, step }] = await scored()
  const { credits, child } = await json(
    'whatif',
    `run/${rollout}`,
    '--from',
    String(step),
    '--policy',
    '1',
    '-n',
    '2',
  )
  assert.equal([credits[0].rollout, credits[0].step, credits[0].open.n], [rollout, step, 2])
  assert.ok(existsSync(runFolder(child, root).log))
  const { steps, matrix } = await json('compare-judges', 'run', '--a', '0', '--b', '1', '--rollouts', '2')
  assert.is(
    matrix.flat().reduce((sum: number, count: number) => sum + count, 0),
    steps,
  )
  assert.is((await rl('compare-judges', 'run', '--a', '0')).status, 2)
  assert.match((await rl('rm', '--help')).out, /^rl compare-judges RUN/)
})

test('rl whatif that is refused makes no child run', async () => {
  const refused = await rl('whatif', 'run/1/train-99999/0', '--from', '0', '--as', 'stray')
  assert.is(refused.status, 1)
  assert.match(refused.err, /no trajectory/)
  assert.not(existsSync(runFolder('stray', root).folder))
})

test('rl eval --logged counts rollouts that failed, and names the splits where it has none of one', async () => {
  const [sound] = (await json('eval', '--logged', 'run', '--split', 'ood')).evaluations
  assert.equal([sound.version, sound.rollouts, sound.failed], [0, 1, 0])
  const lost = copyOfRun('lost', (event) => {
    if (event.type !== 'TrajectoryCompleted' || event.data.purpose !== 'evaluation') return event
    const { rollout, iteration, purpose, slot, task } = event.data
    const data = { rollout, iteration, purpose, slot, task, cause: 'infra', error: 'gone', attempts: 3 }
    return { ...event, type: 'RolloutFailed', data } as LoggedEvent
  })
  const [first] = (await json('eval', '--logged', lost, '--split', 'ood')).evaluations
  assert.equal([first.version, first.rollouts, first.failed], [0, 0, 1])
  assert.match((await rl('eval', '--logged', lost, '--split', 'ood')).out, /0 rollouts, 1 failed/)
  const none = await rl('eval', '--logged', 'run', '--split', 'test')
  assert.is(none.status, 1)
  assert.match(none.err, /in-domain, ood/)
})

test('a run of two iterations has two: the measurement of its cold start is none', async () => {
  assert.is((await json('status', 'run')).completedIterations, 2)
  assert.match((await rl('status', 'run')).out, /completed, 2 iterations done/)
})

test('an event whose clock is beyond any calendar stops no command', async () => {
  const far = copyOfRun('far', (event) => (event.position < 7 ? { ...event, time: 1e300 } : event))
  assert.match((await rl('runs')).out, /^far +completed/m)
  assert.match((await rl('log', far, 'tail', '-n', '1000')).out, /RunCompleted/)
  assert.match((await rl('why', far, 'task', 'train-00004')).out, /at: \+275760-09-13/)
  const { status, err } = await rl('export', far, '--format', 'otlp-json', '-o', join(root, 'far.json'))
  assert.is(status, 0, err)
})

test('rl replay --publish that is killed leaves no folder', async () => {
  const place = temporaryFolder()
  const child = spawn(process.execPath, ['src/rl.ts', 'replay', 'run', '--publish'], {
    env: { ...process.env, RL_RUNS: root, TMPDIR: place },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let out = ''
  child.stdout.on('data', (chunk) => (out += chunk))
  await until('all is sent', () => /events sent|on nats/.test(out))
  assert.is(readdirSync(place).filter((name) => name.startsWith('rl-publish-')).length, 1)
  child.kill('SIGKILL')
  await until('the folder is gone', () => !readdirSync(place).some((name) => name.startsWith('rl-publish-')))
})

test.run()
