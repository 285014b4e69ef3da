import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startDecider } from '../../src/actors/decider/decider.ts'
import type { HeadContext } from '../../src/actors/head/iterations.ts'
import { headDecider } from '../../src/actors/head/machine.ts'
import { awaitedBy } from '../../src/actors/head/waits.ts'
import { playLoop, smallConfig } from './loop.ts'

const config = smallConfig()
const { log } = playLoop({ config })

test('at every moment before the end the head can say what it waits for, from whom and until when', () => {
  const head = startDecider(headDecider(config))
  for (const event of log) {
    head.handle(event)
    const waits = awaitedBy(head.context() as HeadContext, config)
    // Between the head's own decision and its event nothing is awaited but the log itself.
    const own =
      head.state() === 'open.iterating.playing' ||
      event.type === 'RunCompleted' ||
      head.state() === 'finished'
    assert.ok(waits.length > 0 || own, `${event.type} at ${event.position}: ${head.state()}`)
    for (const { since, deadline } of waits) assert.ok(since >= 1000 && deadline > since)
  }
  assert.equal(awaitedBy(head.context() as HeadContext, config), [])
})

test('what is missing is named', () => {
  const head = startDecider(headDecider(config))
  const names = () =>
    awaitedBy(head.context() as HeadContext, config).map(({ from, waitingFor }) => `${from}: ${waitingFor}`)
  head.handle(log[0])
  assert.equal(names(), ['environment: the tasks', 'policy: policy version 0'])
  const planned = log.findIndex(({ type }) => type === 'IterationPlanned')
  for (const event of log.slice(1, planned + 1)) head.handle(event)
  assert.equal(names(), ['environment: 12 of 12 rollouts of iteration 1'])
})

test('no wait is older than the moment at which the run went on', () => {
  const head = startDecider(headDecider(config))
  for (const event of log.slice(0, log.findIndex(({ type }) => type === 'IterationPlanned') + 1))
    head.handle(event)
  const [before] = awaitedBy(head.context() as HeadContext, config)
  const resumedMs = before.deadline + 1
  const [after] = awaitedBy(head.context() as HeadContext, config, resumedMs)
  assert.is(after.since, resumedMs)
  assert.is(after.deadline - after.since, before.deadline - before.since)
})

test.run()
