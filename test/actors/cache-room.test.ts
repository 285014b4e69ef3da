/** Episodes and judgements that a cache cannot hold all at once wait for one another. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { ActReply, ActRequest } from '../../src/actors/rollout/act.ts'
import { createPlayer } from '../../src/actors/rollout/player.ts'
import { createLimit } from '../../src/limit.ts'
import { household, requestFor, task } from '../support/household.ts'

const STEPS = 6
const TOKENS = 10

/** Looks around for ever, in ten tokens a step; keeps as many tokens as it says. */
function forgetful(cacheTokens: number | undefined) {
  const asked: number[][] = []
  async function act(requests: readonly ActRequest[]): Promise<ActReply[]> {
    asked.push(requests.map(({ rollout }) => Number(rollout.split('/')[2])))
    return requests.map(() => ({
      action: 'look',
      invalid: null,
      fits: true,
      continues: true,
      tokens: {
        promptLength: TOKENS - 1,
        tokensI32: new Uint8Array(4 * TOKENS),
        maskU8: new Uint8Array(TOKENS),
        logprobsF32: new Uint8Array(4 * TOKENS),
      },
      cacheTokens,
      usage: { promptTokens: TOKENS, cachedTokens: 0, completionTokens: 1 },
    }))
  }
  return { asked, act }
}

async function playAll(cacheTokens: number | undefined, askers = 1): Promise<readonly number[][]> {
  const { asked, act } = forgetful(cacheTokens)
  const player = createPlayer({ environment: household, act, actDeadlineMs: 10_000, askers })
  const played = await Promise.all(
    Array.from({ length: 8 }, (_, index) => player.play(requestFor(index, STEPS), task)),
  )
  assert.equal(
    played.map(({ steps }) => steps),
    Array(8).fill(STEPS),
  )
  return asked
}

test('without a bound all episodes go on together', async () => {
  const asked = await playAll(undefined)
  assert.is(asked.length, STEPS)
  assert.ok(asked.every(({ length }) => length === 8))
})

test('no more episodes are under way than the cache keeps, the oldest first', async () => {
  for (const [capacity, askers] of [
    [200, 1],
    [400, 2],
  ]) {
    const [first, ...rest] = await playAll(capacity, askers)
    assert.is(first.length, 8, 'nothing is known of the cache before the first answer')
    // An episode has 60 tokens in the end.
    const done = Array(8).fill(1)
    for (const batch of rest) {
      for (const index of batch) done[index]++
      const kept = batch.reduce((sum, index) => sum + TOKENS * done[index], 0)
      assert.ok(kept <= 200, `${kept} tokens`)
    }
    assert.equal(
      rest.flat().filter((index, i, all) => all.indexOf(index) === i),
      [0, 1, 2, 3, 4, 5, 6, 7],
    )
  }
})

test('an episode that is larger than the cache is played by itself', async () => {
  const [, ...rest] = await playAll(5)
  assert.ok(rest.every(({ length }) => length === 1))
})

test('work begins in its order, as much at a time as there is room for', async () => {
  const limited = createLimit(10)
  const log: string[] = []
  const under = new Map<string, number>()
  let most = 0
  const work = (name: string, need: number) =>
    limited(
      undefined,
      async () => {
        log.push(name)
        under.set(name, Math.min(need, 10))
        most = Math.max(
          most,
          [...under.values()].reduce((a, b) => a + b, 0),
        )
        await new Promise(setImmediate)
        under.delete(name)
        if (name === 'c') throw new Error(name)
      },
      need,
    )
  const all = await Promise.allSettled([
    work('a', 6),
    work('b', 4),
    work('c', 5),
    work('d', 99),
    work('e', 1),
  ])
  assert.equal(log, ['a', 'b', 'c', 'd', 'e'])
  assert.is(most, 10)
  assert.equal(
    all.map(({ status }) => status === 'fulfilled'),
    [true, true, false, true, true],
  )
})

test.run()
