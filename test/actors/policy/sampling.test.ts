import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { samplingOf } from '../../../src/actors/policy/sampling.ts'
import { parseConfig } from '../../../src/config.ts'

test('evaluations are sampled as training is, but for what they have of their own', () => {
  const policy = { temperature: 0.9, topP: 0.95 }
  const of = (evaluation: object, evaluating: boolean) => {
    const config = parseConfig({ policy, evaluation })
    const { temperature, topP } = samplingOf(config.policy, config.evaluation)(evaluating)
    return [temperature, topP]
  }
  assert.equal(of({}, true), [0.9, 0.95])
  const own = { temperature: 1, topP: 0.6 }
  assert.equal(of(own, true), [1, 0.6])
  assert.equal(of(own, false), [0.9, 0.95])
})

test.run()
