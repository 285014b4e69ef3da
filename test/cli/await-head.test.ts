/** Processes beside a run that were started before its head. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { awaitHead } from '../../src/cli/await-head.ts'
import { explain } from '../../src/errors.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'
import { runStarted } from '../support/toy.ts'

test('they wait for the head and for the first event of its run, and say so once', async () => {
  const root = temporaryFolder()
  process.env.RL_RUNS = root
  const said: string[] = []
  let there = false
  const waiting = awaitHead({
    ...{ run: 'test', nats: null, user: 'environment-worker' as const },
    say: (line) => void said.push(line),
  }).then(() => {
    there = true
  })
  await until('it waits', () => said.length > 0)
  const head = await startTestHead({ root })
  assert.not(there)
  head.service.append([runStarted])
  await waiting
  assert.is(said.length, 1)
  assert.match(said[0], /waiting for the head of run 'test'.*npm start -- --role head --run test/)
  await head.close()
})

test('they wait for a head that has made the file of its log and nothing in it', async () => {
  const root = temporaryFolder()
  process.env.RL_RUNS = root
  const { folder, log } = runFolder('test')
  mkdirSync(folder, { recursive: true })
  writeFileSync(log, '')
  const said: string[] = []
  const waiting = awaitHead({
    ...{ run: 'test', nats: null, user: 'environment-worker' as const },
    say: (line) => void said.push(line),
  })
  await Promise.race([waiting, until('it waits', () => said.length > 0)])
  const head = await startTestHead({ root })
  head.service.append([runStarted])
  await waiting
  await head.close()
})

test('a head that does not come is told with its reason', async () => {
  process.env.RL_RUNS = temporaryFolder()
  const never = { run: 'never', nats: 'nats://127.0.0.1:9', user: 'policy-worker' as const, say() {} }
  const said = await awaitHead({ ...never, waitMs: 0 }).then(() => 'there', explain)
  assert.match(said, /127\.0\.0\.1:9/)
})

test('nobody waits for the head of a run that is over', async () => {
  const root = temporaryFolder()
  process.env.RL_RUNS = root
  const head = await startTestHead({ root })
  head.service.append([runStarted, { type: 'RunCompleted', data: { iterations: 1, metrics: {} } }])
  await head.close()
  const said = await awaitHead({ run: 'test', nats: null, user: 'policy-worker', say() {} }).then(
    () => 'there',
    explain,
  )
  assert.match(said, /run 'test' is complete.*fork test/)
})

test.run()
