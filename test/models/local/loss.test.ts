import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openBackend } from '../../../src/models/local/backend/backend.ts'
import {
  drift,
  k3,
  type PolicyLossOptions,
  policyLoss,
  sampleWeights,
  supervisedLoss,
  tokenWeights,
} from '../../../src/models/local/loss.ts'
import * as tf from '../../../src/tensorflow/tensorflow.ts'

await openBackend('cpu')

const PPO: PolicyLossOptions = {
  kind: 'policy',
  clipLow: 0.2,
  clipHigh: 0.2,
  dualClip: null,
  klWeight: 0,
  aggregate: 'batch',
}

function evaluate(
  logprobs: number[],
  behaviour: number[],
  advantages: number[],
  options: PolicyLossOptions,
  reference = behaviour,
  counts = [logprobs.length],
  started: number[] | null = null,
) {
  return tf.tidy(() => {
    const fixed = {
      behaviour: tf.tensor1d(behaviour),
      reference: tf.tensor1d(reference),
      advantages: tf.tensor1d(advantages),
      weights: tf.fill([logprobs.length], 1 / logprobs.length) as tf.Tensor1D,
      members: membersOf(counts),
      ...(started ? { started: tf.tensor1d(started) } : {}),
    }
    const { value, grad } = tf.valueAndGrad(
      (x) => policyLoss({ ...fixed, logprobs: x as tf.Tensor1D }, options).loss,
    )(tf.tensor1d(logprobs))
    return { loss: value.dataSync()[0], gradient: [...grad.dataSync()] }
  })
}

/** [samples, rows] of samples that lie end to end. */
function membersOf(counts: readonly number[]): tf.Tensor2D {
  const owner = counts.flatMap((count, s) => Array<number>(count).fill(s))
  return tf.tensor2d(counts.map((count, s) => owner.map((own) => (own === s ? 1 / count : 0))))
}

const near = (got: number, expected: number, within = 1e-5) =>
  assert.ok(Math.abs(got - expected) <= within * Math.max(1, Math.abs(expected)), `${got}, not ${expected}`)

test('with equal log-probs the loss is -mean(A), the KL is 0, and the gradient pushes up what has a positive advantage', () => {
  const { loss, gradient } = evaluate([-1, -2, -3], [-1, -2, -3], [1, -0.5, 2], { ...PPO, klWeight: 0.01 })
  near(loss, -2.5 / 3)
  gradient.forEach((g, i) => {
    near(g, -[1, -0.5, 2][i] / 3)
  })
})

test('ratios beyond 0.8 and 1.2 are clipped on the side that the advantage favours, and give no gradient there', () => {
  const cases: [ratio: number, advantage: number, objective: number, flat: boolean][] = [
    [1.1, 1, 1.1, false],
    [1.5, 1, 1.2, true],
    [1.5, -1, -1.5, false],
    [0.5, 1, 0.5, false],
    [0.5, -1, -0.8, true],
    [0.9, -1, -0.9, false],
  ]
  for (const [ratio, advantage, objective, flat] of cases) {
    const { loss, gradient } = evaluate([Math.log(ratio)], [0], [advantage], PPO)
    near(loss, -objective)
    assert.is(gradient[0] === 0, flat)
  }
})

test('a separate high clip moves the upper bound only', () => {
  const high = { ...PPO, clipHigh: 0.28 }
  near(evaluate([Math.log(1.5)], [0], [1], high).loss, -1.28)
  near(evaluate([Math.log(0.5)], [0], [-1], high).loss, 0.8)
})

test('the ratio of a sample is the geometric mean over its tokens, and its gradient is shared by them (GSPO)', () => {
  const sequence: PolicyLossOptions = { ...PPO, ratio: 'sequence' }
  const logs = [0.1, -0.05, 0.04, 0.3, 0.3]
  const [first, second] = [Math.exp(0.03), Math.exp(0.3)]
  const { loss, gradient } = evaluate(logs, [0, 0, 0, 0, 0], [1, 1, 1, 2, 2], sequence, undefined, [3, 2])
  near(loss, -(3 * first + 2 * 2 * 1.2) / 5)
  // d/dx of the mean of three equal objectives exp(mean): each token moves all three by a third.
  gradient.forEach((g, i) => {
    near(g, i < 3 ? -first / 5 : 0)
  })
  near(evaluate([0.3], [0], [-1], sequence).loss, second)
})

test('clipped importance weights leave no token without a gradient (CISPO)', () => {
  const cispo: PolicyLossOptions = { ...PPO, objective: 'cispo' }
  for (const [ratio, weight] of [
    [1.1, 1.1],
    [3, 1.2],
    [0.2, 0.2],
  ]) {
    const logprob = Math.log(ratio) - 2
    const { loss, gradient } = evaluate([logprob], [-2], [1.5], cispo)
    near(loss, -weight * 1.5 * logprob)
    near(gradient[0], -weight * 1.5)
  }
})

test('a soft gate in place of the clip, steeper for negative advantages (SAPO)', () => {
  const sapo: PolicyLossOptions = { ...PPO, objective: 'sapo' }
  const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))
  for (const [ratio, advantage] of [
    [1, 1],
    [1.4, 2],
    [0.7, -1],
    [2.5, -0.5],
  ]) {
    const t = advantage > 0 ? 1 : 1.05
    const gate = sigmoid(t * (ratio - 1))
    const { loss, gradient } = evaluate([Math.log(ratio)], [0], [advantage], sapo)
    near(loss, -(4 / t) * gate * advantage)
    near(gradient[0], -4 * gate * (1 - gate) * ratio * advantage)
  }
})

test('a sample that the policy has left keeps what is to its credit, and its negative advantages are left out', () => {
  const limit: PolicyLossOptions = { ...PPO, clipLow: 0.9, clipHigh: 9, offPolicyLimit: 0.5 }
  // Behaviour less policy: 0.9 and 0.3 in the first sample (0.6 in the mean), 0.4 in the second.
  const logs = [-0.9, -0.3, -0.4]
  const { loss, gradient } = evaluate(logs, [0, 0, 0], [-1, 2, -1], limit, undefined, [2, 1])
  near(loss, -(2 * Math.exp(-0.3) - Math.exp(-0.4)) / 3)
  assert.is(gradient[0], 0)
  near(gradient[1], (-2 * Math.exp(-0.3)) / 3)
  near(gradient[2], Math.exp(-0.4) / 3)
})

test('a mismatch weighs each token by the way from sampling to the start of the update', () => {
  const [a, b, c] = [Math.log(2), Math.log(4), Math.log(0.5)]
  const cases: [PolicyLossOptions['mismatch'], weights: readonly number[]][] = [
    [{ kind: 'truncate', level: 'token', limit: 3 }, [2, 3, 0.5]],
    [{ kind: 'mask', level: 'token', limit: 3 }, [2, 0, 0.5]],
    // The first sample has two tokens, and their product is 8.
    [{ kind: 'truncate', level: 'sequence', limit: 3 }, [3, 3, 0.5]],
    [{ kind: 'mask', level: 'sequence', limit: 3 }, [0, 0, 0.5]],
    [{ kind: 'mask', level: 'sequence', limit: 9 }, [8, 8, 0.5]],
    [{ kind: 'truncate', level: 'token', limit: null }, [2, 4, 0.5]],
  ]
  const started = [-1, -2, -3]
  const behaviour = started.map((value, i) => value - [a, b, c][i])
  // One token has moved by 1.1 since the start of the update, and one beyond the clip.
  const logprobs = started.map((value, i) => value + [Math.log(1.1), Math.log(1.5), 0][i])
  const advantages = [1, 1, -1]
  for (const [mismatch, weights] of cases) {
    const { loss, gradient } = evaluate(
      logprobs,
      behaviour,
      advantages,
      { ...PPO, mismatch },
      started,
      [2, 1],
      started,
    )
    near(loss, -(weights[0] * 1.1 + weights[1] * 1.2 - weights[2]) / 3)
    near(gradient[0], (-weights[0] * 1.1) / 3)
    assert.is(gradient[1], 0)
    near(gradient[2], weights[2] / 3)
  }
})

test('without a difference to the start of the update a mismatch changes nothing', () => {
  const pairs = fc.array(
    fc.record({
      logprob: fc.double({ min: -4, max: 0, noNaN: true }),
      behaviour: fc.double({ min: -4, max: 0, noNaN: true }),
      advantage: fc.double({ min: -2, max: 2, noNaN: true }),
    }),
    { minLength: 1, maxLength: 6 },
  )
  fc.assert(
    fc.property(
      pairs,
      fc.constantFrom('truncate' as const, 'mask' as const),
      fc.constantFrom('token' as const, 'sequence' as const),
      (rows, kind, level) => {
        const column = (key: 'logprob' | 'behaviour' | 'advantage') => rows.map((row) => row[key])
        const given = [column('logprob'), column('behaviour'), column('advantage')] as const
        const mismatch = { kind, level, limit: 3 }
        const plain = evaluate(...given, PPO)
        const other = evaluate(...given, { ...PPO, mismatch }, given[1], [rows.length], given[1])
        assert.equal(other, plain)
      },
    ),
    { numRuns: 50 },
  )
})

test('what is not chosen has no objective, but its share of the KL', () => {
  const [logs, behaviour] = [tf.tensor1d([-1, -1]), tf.tensor1d([-1.2, -1.2])]
  const { loss } = policyLoss(
    {
      ...{ logprobs: logs, behaviour, reference: behaviour, advantages: tf.tensor1d([1, 1]) },
      ...{ weights: tf.tensor1d([0.5, 0.5]), chosen: tf.tensor1d([0, 1]) },
    },
    { ...PPO, klWeight: 1 },
  )
  near(loss.dataSync()[0], (-1.2 + 2 * (Math.exp(-0.2) - 1 + 0.2)) / 2)
})

test('the dual clip bounds the loss of a negative advantage at its multiple', () => {
  const dual = { ...PPO, dualClip: 3 }
  const { loss, gradient } = evaluate([Math.log(50)], [0], [-1], dual)
  near(loss, 3)
  assert.is(gradient[0], 0)
  near(evaluate([Math.log(2)], [0], [-1], dual).loss, 2)
  near(evaluate([Math.log(50)], [0], [1], dual).loss, -1.2)
})

test('log-ratios are cut at 10, so the loss stays finite', () => {
  near(evaluate([0], [-100], [-1], PPO).loss, Math.exp(10), 1e-4)
  assert.ok(Number.isFinite(evaluate([-100], [0], [1], { ...PPO, klWeight: 1 }).loss))
})

test('k3 is never negative, is 0 at equality and its formula elsewhere', () => {
  fc.assert(
    fc.property(
      fc.float({ min: -20, max: 0, noNaN: true }),
      fc.float({ min: -1, max: 1, noNaN: true }),
      (base, d) => {
        const [value] = tf.tidy(() => k3(tf.tensor1d([base]), tf.tensor1d([base + d])).dataSync())
        assert.ok(value >= 0)
        const exact = Math.fround(Math.fround(base + d) - Math.fround(base))
        near(value, Math.exp(exact) - 1 - exact, 1e-5)
      },
    ),
  )
  assert.is(
    tf.tidy(() => k3(tf.tensor1d([-2]), tf.tensor1d([-2])).dataSync()[0]),
    0,
  )
})

test('drift over the distribution that sampled is the KL from it to the policy', () => {
  const logs = fc.array(fc.double({ min: -6, max: 0, noNaN: true }), { minLength: 5, maxLength: 5 })
  fc.assert(
    fc.property(logs, logs, (from, to) => {
      const [behaviour, logprobs] = [from, to].map((row) => tf.logSoftmax(tf.tensor1d(row)) as tf.Tensor1D)
      const weighted = behaviour.exp().mul(drift({ logprobs, behaviour })).sum().dataSync()[0]
      const exact = behaviour.exp().mul(behaviour.sub(logprobs)).sum().dataSync()[0]
      tf.dispose([behaviour, logprobs])
      near(weighted, exact, 1e-4)
    }),
  )
})

test('the KL weight adds to the loss', () => {
  const { loss } = evaluate([-1], [-1], [0], { ...PPO, klWeight: 0.5 }, [-1.5])
  near(loss, 0.5 * (Math.exp(-0.5) - 1 + 0.5))
})

test('clipped rows are counted', () => {
  const clipped = tf.tidy(() => {
    const column = (values: number[]) => tf.tensor1d(values)
    const rows = {
      logprobs: column([0, Math.log(1.5), Math.log(0.5)]),
      behaviour: column([0, 0, 0]),
      reference: column([0, 0, 0]),
      advantages: column([1, 1, 1]),
      weights: column([1, 1, 1]),
    }
    return policyLoss(rows, PPO).clipped.dataSync()[0]
  })
  assert.is(clipped, 1)
})

test('the supervised loss is the weighted negative log-likelihood', () => {
  const value = tf.tidy(() => {
    const logprobs = tf.tensor1d([-1, -3])
    const weights = tf.tensor1d([0.5, 0.5])
    return supervisedLoss({
      logprobs,
      behaviour: logprobs,
      reference: logprobs,
      advantages: tf.ones([2]),
      weights,
    }).loss.dataSync()[0]
  })
  near(value, 2)
})

test('each step weighs the same under "step", whatever its length, and forced tokens divide none', () => {
  const mask = (...bits: readonly number[]) => Uint8Array.from(bits)
  const two = { mask: mask(0, 1, 0, 1, 0, 0, 1), stepStarts: Int32Array.of(1, 5) }
  assert.equal(sampleWeights([two, { mask: mask(0, 1, 1, 1, 1) }], 'step'), [
    Float64Array.of(0, 1 / 6, 0, 1 / 6, 0, 0, 1 / 3),
    Float64Array.of(0, 1 / 12, 1 / 12, 1 / 12, 1 / 12),
  ])
  const untrained = { mask: mask(0, 0, 1), stepStarts: Int32Array.of(0, 2) }
  assert.equal(
    sampleWeights([untrained], 'step'),
    [Float64Array.of(0, 0, 1)],
    'a step without tokens is none',
  )
  assert.equal(sampleWeights([two, { mask: mask(0, 1) }], 'sample'), [1 / 6, 1 / 2])
})

test('token weights add up to 1 over the batch, and each sample weighs the same under "sample"', () => {
  assert.equal(tokenWeights([1, 4, 0], 'sample'), [0.5, 0.125, 0])
  assert.equal(tokenWeights([1, 4, 0], 'batch'), [0.2, 0.2, 0])
  assert.equal(tokenWeights([1, 4, 0], { constantTokens: 10 }), [0.05, 0.05, 0])
  fc.assert(
    fc.property(
      fc.array(fc.nat(50), { minLength: 1 }),
      fc.constantFrom('sample' as const, 'batch' as const),
      (counts, aggregate) => {
        const weights = tokenWeights(counts, aggregate)
        const sum = counts.reduce((total, count, i) => total + count * weights[i], 0)
        near(sum, counts.some((count) => count > 0) ? 1 : 0, 1e-9)
      },
    ),
  )
})

test.run()
