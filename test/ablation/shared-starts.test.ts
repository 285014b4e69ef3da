import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { isPlaying } from '../../src/ablation/head-lines.ts'
import { newResults } from '../../src/ablation/results.ts'
import { sharedStarts } from '../../src/ablation/shared-starts.ts'
import { loadConfig } from '../../src/config.ts'

const weak = newResults('x', loadConfig({ file: 'config/regimes/weak-start.yaml' }))

test('a judge that estimates has one start for all seeds, and a policy has one for each', () => {
  assert.equal(sharedStarts({ setting: 'outcome+judge', seed: 2 }, weak), ['policy 2', 'judge'])
  assert.equal(sharedStarts({ setting: 'outcome-only', seed: 2 }, weak), ['policy 2'])
  assert.equal(
    sharedStarts({ setting: 'outcome+estimate', seed: 2 }, weak),
    ['policy 2'],
    'no weights, no start',
  )
})

test('a run plays from its first evaluation or iteration on', () => {
  assert.ok(isPlaying('evaluation of policy 0 on in-domain: 0.41 [0.35, 0.47] n 256'))
  assert.ok(isPlaying('iteration 1/15   accuracy 0.39'))
  assert.not.ok(isPlaying('reward-model: cold start: update 50 of 4500, loss 1.326'))
})

test.run()
