/** The head tells how full its work queues are, and never waits for the broker to say so. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { askHead } from '../../src/actors/head/liveness.ts'
import { queueDepths } from '../../src/actors/head/queue-depths.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { subjectsOf } from '../../src/events/subjects.ts'
import { startTestHead, until } from '../support/run.ts'

test('work in a queue is told as pending', async () => {
  const head = await startTestHead({ run: 'depths' })
  try {
    const bus = await connectBus(head.addressOf('head'))
    await bus.publishWork(subjectsOf('depths').work('policy'), new Uint8Array([1]), 'a-job')
    await bus.close()
    await until('the job is counted', async () => {
      const live = await askHead(head.folder)
      if ('unreachable' in live) return false
      return live.queues?.find(({ name }) => name === 'work-policy')?.pending === 1
    })
  } finally {
    await head.close()
  }
})

test('a broker that does not say leaves the last answer out, and is asked again', async () => {
  let now = 10_000
  let asked = 0
  const answers = [{ pending: 2, inHand: 1, again: 0 }, null]
  const told = queueDepths({
    bus: {
      async queueDepth() {
        const answer = answers[Math.floor(asked++ / 5)]
        if (answer) return answer
        throw new Error('no answer')
      },
    },
    run: 'depths',
    work: [],
    queues: [],
    now: () => now,
  })
  const settled = () => new Promise((resolve) => setTimeout(resolve, 5))
  assert.is(told(), null)
  await settled()
  assert.equal(told()?.[0], { name: 'work-head', pending: 2, inHand: 1, again: 0 })
  assert.is(asked, 5, 'a fresh answer is not asked for again')
  now += 2_000
  told()
  await settled()
  assert.is(told(), null)
})

test.run()
