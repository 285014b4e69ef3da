import { rng, type Task } from 'rlanything/environments'
import { installHint } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { lookForBrowser } from '../src/browser/find.ts'
import { type WebEnvironment, webEnvironment } from '../src/environment.ts'
import { createMemo } from '../src/memo.ts'
import { ownSite } from '../src/own/site.ts'

test('an answer is made once, also while it is open; the oldest is forgotten, and a failure at once', async () => {
  const memo = createMemo<string>(10, (answer) => answer.length)
  let made = 0
  const make = (answer: string) => async () => {
    made++
    await Promise.resolve()
    if (answer === '') throw new Error('no answer')
    return answer
  }
  assert.equal(await Promise.all([memo.of('a', make('12')), memo.of('a', make('34'))]), ['12', '12'])
  assert.is(await memo.of('a', make('56')), '12')
  assert.is(made, 1)
  await memo.of('b', make('12345678'))
  assert.is(memo.known('a'), undefined)
  assert.is(memo.known('b'), '12345678')
  await memo.of('c', make('longer than all')).then((answer) => assert.is(answer, 'longer than all'))
  assert.is(memo.known('c'), undefined)
  for (let i = 0; i < 2; i++) {
    const failed = await memo.of('d', make('')).then(
      () => null,
      (error: Error) => error.message,
    )
    assert.is(failed, 'no answer')
  }
  assert.is(made, 5)
})

const site = () => ownSite({ seed: 3, counts: { train: 40, 'in-domain': 1, ood: 1 }, difficulty: 'medium' })

/** Half of the oracle's actions and half at random: what it showed, and the true progress of its steps. */
async function wander(environment: WebEnvironment, task: Task, seed: number): Promise<unknown> {
  const random = rng([seed, 1])
  let episode = await environment.reset(task, { seed: [0, 0], maxSteps: 6 })
  const observations = [episode.turn.observation]
  const actions: string[] = []
  while (!episode.turn.done) {
    const { turn } = episode
    const action = random.below(2) === 0 ? environment.expert.advise(turn) : random.pick(turn.admissible)
    actions.push(action)
    episode = await episode.step(action)
    observations.push(episode.turn.observation)
  }
  const progress = await environment.progress(task, actions)
  return { observations, actions, outcome: episode.outcome(), progress: progress && [...progress] }
}

if (lookForBrowser() === null)
  process.stdout.write(`SKIP pages: there is no Chromium; ${installHint('chromium')}\n`)
else
  test('episodes and true progress are the same with what is remembered and without', async () => {
    const [plain, remembering] = [0, 1e6].map((remembered) =>
      webEnvironment({ site: site(), browser: null, pages: 2, remembered }),
    )
    try {
      for (const task of (await plain.tasks('train')).slice(0, 40)) {
        const expected = [await wander(plain, task, 1), await wander(plain, task, 2)]
        const seen = await Promise.all([1, 2, 1, 2].map((seed) => wander(remembering, task, seed)))
        assert.equal(seen, [...expected, ...expected], task.goal)
      }
    } finally {
      await plain.close()
      await remembering.close()
    }
  })

test.run()
