/** The subscriber in Go, built as it stands in examples/subscriber-go. Its packages are pinned by go.sum. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { NewEvent } from '../../src/events/catalogue.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { readFixtures, sampleOf } from '../events/samples.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'
import { runStarted } from '../support/toy.ts'

/** Returns the built program, or null with a line that says why not. */
function built(folder: string): string | null {
  const program = join(folder, 'subscriber')
  const { status, error, stderr } = spawnSync('go', ['build', '-mod=readonly', '-o', program, '.'], {
    cwd: 'examples/subscriber-go',
    encoding: 'utf8',
    timeout: 240_000,
  })
  if (status === 0) return program
  const isUnfetched = /dial tcp|no such host|timeout|connection refused/i.test(stderr ?? '')
  if (!error && !isUnfetched) throw new Error(stderr)
  console.log(
    `SKIP the subscriber in Go: ${error ? 'go is not there, or slow' : 'its packages are not to be had'}`,
  )
  return null
}

function trajectory(rollout: string, value: number, words = 'look'): NewEvent {
  const fixture = readFixtures().findLast(({ type }) => type === 'TrajectoryCompleted')
  assert.ok(fixture)
  const { data } = sampleOf(fixture) as Extract<NewEvent, { readonly type: 'TrajectoryCompleted' }>
  const outcome = { kind: 'scored', value, success: value === 1, reason: '' } as const
  const { invalidU8, errorsU8, entropiesF32, baseLogprobsF32, roles, reasoning, timing, ...kept } = data
  return {
    type: 'TrajectoryCompleted',
    data: {
      ...kept,
      rollout,
      outcome,
      steps: 1,
      observations: [words, 'ok'],
      actions: ['look'],
      invalid: {},
      trainable: false,
      segments: [],
    },
  }
}

test('it catches up, reads blobs, goes on live, and ends with the run', async () => {
  const root = temporaryFolder()
  const program = built(root)
  if (program === null) return
  const head = await startTestHead()
  const { url, user, password } = head.addressOf('tool')
  mkdirSync(join(root, 'test'))
  const address = { run: 'test', url, user, password, token: null }
  writeFileSync(join(root, 'test', 'connection.json'), JSON.stringify(address))
  head.service.append([runStarted])
  const log = connectLog({ bus: head.bus, run: 'test', actor: 'environment' })
  await log.append([trajectory('early', 1), trajectory('large', 0.5, 'x'.repeat(400_000))])
  const child = spawn(program, ['test'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, RL_RUNS: root },
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  const closed = once(child, 'close')
  await until('it has caught up', () => output.includes(' large 0.500 after '), 60_000)
  await log.append([trajectory('late', 0)])
  await until('it goes on live', () => output.includes(' late 0.000 after '), 60_000)
  head.service.append([{ type: 'RunCompleted', data: { iterations: 0, metrics: {} } }])
  assert.equal(await closed, [0, null])
  assert.match(output, /^2 early 1\.000 after \d+ steps$/m)
  assert.match(output, /^test ended with RunCompleted: 5 events, 3 scores, mean 0\.500$/m)
  log.close()
  await head.close()
})

test.run()
