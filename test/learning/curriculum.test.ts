/** Tests of samplers on simulated students: what they show, and that they follow from their seed. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../src/errors.ts'
import { CHALLENGE_NAMES, masteryUnder } from '../../src/learning/curriculum.ts'
import { meanT, pairedDifference } from '../../src/learning/interval.ts'
import { TASK_SAMPLERS } from '../../src/learning/playing-rules.ts'
import { hardFocus } from '../../src/learning/published/hard-focus.ts'
import { learnability } from '../../src/learning/published/learnability.ts'
import { window } from '../../src/learning/published/window.ts'
import type { TaskSampler } from '../../src/learning/rules.ts'
import { uniform } from '../../src/learning/selection.ts'

const own = (name: string, choose: TaskSampler['choose']): TaskSampler => ({ name, version: 1, choose })

test('equal seeds give equal figures, and each is a share', () => {
  fc.assert(
    fc.property(fc.nat(), fc.constantFrom(...CHALLENGE_NAMES), (seed, challenge) => {
      const once = masteryUnder(uniform, challenge, [3, seed])
      assert.is(masteryUnder(uniform, challenge, [3, seed]), once)
      assert.ok(once > 0 && once < 1)
    }),
    { numRuns: 20 },
  )
  for (const sampler of TASK_SAMPLERS) assert.ok(masteryUnder(sampler, 'plain', [1, 1]) > 0, sampler.name)
})

test('a sampler that plays nothing teaches nothing, and what is not played is forgotten', () => {
  const none = own('none', () => [])
  const still = masteryUnder(none, 'plain', [1, 1])
  assert.ok(still < masteryUnder(uniform, 'plain', [1, 1]))
  assert.ok(masteryUnder(none, 'forgetting', [1, 1]) < still)
})

const differences = (sampler: TaskSampler, challenge: (typeof CHALLENGE_NAMES)[number]) =>
  pairedDifference(
    Array.from({ length: 6 }, (_, i) => [
      masteryUnder(uniform, challenge, [5, i]),
      masteryUnder(sampler, challenge, [5, i]),
    ]),
  )

test('the tests tell samplers apart by what they cannot stand', () => {
  assert.ok(differences(learnability, 'unfeasible').low > 0, 'learnability leaves tasks that nobody solves')
  assert.ok(differences(hardFocus, 'unfeasible').high < 0, 'hard-focus plays them for ever')
  assert.ok(differences(window, 'rugged').high < 0, 'a window trusts the levels')
  assert.ok(differences(window, 'trivial').low > 0)
  const trivial = Array.from({ length: 4 }, (_, i) => masteryUnder(uniform, 'trivial', [5, i]))
  assert.ok(meanT(trivial).value > 0.8)
})

test('a sampler that breaks its contract is refused by name', () => {
  for (const choose of [() => ['nowhere'], () => ['train-000', 'train-000']])
    assert.throws(
      () => masteryUnder(own('broken', choose), 'plain', [1, 1]),
      (error: unknown) => error instanceof RlError && /broken/.test(error.message),
    )
})

test.run()
