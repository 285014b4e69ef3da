/** Trajectories that workers read from the log, for jobs of several iterations at once. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { trajectoryBook } from '../../../src/actors/rollout/log-queries.ts'
import { connectLog, type LogClient } from '../../../src/events/log-client.ts'
import { startTestHead, type TestHead } from '../../support/run.ts'
import { trajectory } from '../../support/toy.ts'

let head: TestHead
let log: LogClient
/** Where readings began. */
let begun: number[] = []

const idOf = (iteration: number, index: number) => `${iteration}/slot/${index}`

function play(iteration: number, index: number): void {
  const purpose = 'train' as const
  const seed = [iteration, index] as const
  const rollout = { rollout: idOf(iteration, index), iteration, index, purpose, seed }
  const rest = { split: 'train', slot: 'slot', task: 'task', policyVersion: 0, maxSteps: 3 }
  head.service.append([trajectory({ ...rollout, ...rest })])
}

test.before(async () => {
  head = await startTestHead()
  for (let iteration = 1; iteration <= 5; iteration++) {
    const data = { iteration, policyVersion: 0, rewardModelVersion: 0 }
    head.service.append([{ type: 'IterationStarted', data }])
    for (let index = 0; index < 3; index++) play(iteration, index)
  }
  const connected = connectLog({ bus: head.bus, run: 'test', actor: 'reward-model' })
  log = {
    ...connected,
    read(request) {
      begun.push(request.from)
      return connected.read(request)
    },
  }
})
test.before.each(() => {
  begun = []
})
test.after(async () => {
  log.close()
  await head.close()
})

test('jobs of several iterations at once get the trajectories of their own', async () => {
  const book = trajectoryBook(log)
  const jobs = [5, 4, 3, 2, 1, 5, 3].flatMap((iteration) =>
    [0, 1, 2].map((index) => [iteration, idOf(iteration, index)] as const),
  )
  const found = await Promise.all(jobs.map(([iteration, rollout]) => book.find(iteration, [rollout])))
  assert.equal(
    found.map((some) => some.map(({ rollout }) => rollout)),
    jobs.map(([, rollout]) => [rollout]),
  )
})

test('jobs of two iterations in turn read the log of each once, and on from there', async () => {
  const book = trajectoryBook(log)
  for (const index of [0, 1, 2])
    for (const iteration of [4, 5])
      assert.is((await book.find(iteration, [idOf(iteration, index)]))[0].rollout, idOf(iteration, index))
  assert.is(begun.length, 2)
  play(4, 3)
  assert.is((await book.find(4, [idOf(4, 0), idOf(4, 3)])).length, 2)
  assert.is(begun.length, 3)
  assert.ok(begun[2] > Math.max(begun[0], begun[1]))
})

test('rollouts that the log does not hold are left out', async () => {
  const found = await trajectoryBook(log).find(2, [idOf(2, 2), 'none', idOf(2, 0)])
  assert.equal(
    found.map(({ rollout }) => rollout),
    [idOf(2, 2), idOf(2, 0)],
  )
})

test.run()
