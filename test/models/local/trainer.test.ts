import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { lossGradients } from '../../../src/models/local/gradients.ts'
import type { PolicyLossOptions } from '../../../src/models/local/loss.ts'
import { countTrained, sampleWeights } from '../../../src/models/local/loss.ts'
import { microBatches } from '../../../src/models/local/micro-batches.ts'
import type { LocalModel } from '../../../src/models/local/params.ts'
import { createTrainer } from '../../../src/models/local/trainer.ts'
import type { TrainingSample, UpdateOptions } from '../../../src/models/port.ts'
import { rng } from '../../../src/random.ts'
import * as tf from '../../../src/tensorflow/tensorflow.ts'
import { randomSample, relativeError, smallConfig, smallModel, tryBackend } from './fixtures.ts'
import { referenceEntropies, referenceLogprobs, referencePolicyLoss, type Weights } from './reference.ts'

const LOSS: PolicyLossOptions = {
  kind: 'policy',
  clipLow: 0.2,
  clipHigh: 0.28,
  dualClip: 3,
  klWeight: 0.05,
  aggregate: 'sample',
}

const OPTIONS: UpdateOptions = {
  loss: LOSS,
  learningRate: 1e-3,
  clipNorm: 1,
  updates: 2,
  tokenBudget: 64,
  seed: [1, 2],
  klLimit: null,
}

const samplesOf = (model: LocalModel, count: number) =>
  Array.from({ length: count }, (_, i) => randomSample(model.config, `s${i}`, 6 + ((i * 5) % 11), [i, 4]))

async function weightsOf(model: LocalModel): Promise<Map<string, Float32Array>> {
  const values = new Map<string, Float32Array>()
  for (const [name, value] of model.params) values.set(name, Float32Array.from(await value.data()))
  return values
}

for (const backend of ['wasm-blas', 'cpu', 'tensorflow'] as const)
  test(`${backend}: layers that are computed again give the same loss and gradients, and leave no tensor behind`, async () => {
    if (!(await tryBackend(backend))) return
    const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
    const samples = samplesOf(model, 3)
    const batch = samples.map((sample) => ({ sample, weight: 0.1 }))
    const names = [...model.params.keys()]
    const results = []
    for (const recompute of [false, true]) {
      const before = tf.memory().numTensors
      const { gradients, loss } = await lossGradients(model, names, batch, LOSS, { recompute })
      const values = await Promise.all(names.map((name) => gradients.get(name)!.data()))
      results.push({ loss, values: values.map((one) => Float32Array.from(one)) })
      tf.dispose([...gradients.values()])
      assert.is(tf.memory().numTensors, before)
    }
    const [plain, again] = results
    assert.is(again.loss, plain.loss)
    names.forEach((name, i) => {
      assert.ok(relativeError(again.values[i], plain.values[i]) < 1e-6, name)
    })
  })

test('a budget that there is no room for makes the passes of a smaller one', async () => {
  await tryBackend('cpu')
  const results = []
  for (const [tokenBudget, mostTokens] of [
    [900, 120],
    [120, 900],
  ]) {
    const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
    const trainer = createTrainer(model)
    const samples = samplesOf(model, 60)
    await trainer.update(samples, { ...OPTIONS, tokenBudget }, { keptTokens: 10, mostTokens })
    results.push(await weightsOf(model))
    trainer.dispose()
  }
  assert.equal(results[0], results[1])
})

test('whatever room there is for layers that are kept, the same weights come out', async () => {
  await tryBackend('cpu')
  const results = []
  // All kept; three micro-batches that are; too little room for any.
  for (const keptTokens of [Number.POSITIVE_INFINITY, 300, 10]) {
    const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
    const trainer = createTrainer(model)
    const samples = samplesOf(model, 60)
    await trainer.update(
      samples,
      { ...OPTIONS, updates: 1, tokenBudget: 900 },
      { keptTokens, mostTokens: 900 },
    )
    results.push(await weightsOf(model))
    trainer.dispose()
  }
  for (const [name, values] of results[0])
    for (const other of results.slice(1)) assert.ok(relativeError(other.get(name)!, values) < 1e-5, name)
})

for (const backend of ['wasm-blas', 'wasm', 'cpu', 'tensorflow'] as const)
  for (const [family, aggregate] of [
    ['qwen2', 'sample'],
    ['qwen3', 'batch'],
    ['qwen3', 'step'],
  ] as const)
    test(`${backend}, ${family}, ${aggregate}: loss and gradients agree with the float64 reference and its finite differences`, async () => {
      if (!(await tryBackend(backend))) return
      const config = smallConfig(family)
      const { model, weights } = await smallModel(config, [3, 4])
      const loss = { ...LOSS, aggregate }
      const drafts = samplesOf(model, 3)
      // Behaviour close to the policy, so that ratios fall on both sides of the clips.
      const { uniform } = rng([5, 6])
      const samples: TrainingSample[] = drafts.map((sample) => ({
        ...sample,
        logprobs: Float32Array.from(
          referenceLogprobs(config, weights, sample),
          (v) => v + 0.8 * (uniform() - 0.5),
        ),
        referenceLogprobs: Float32Array.from(
          referenceLogprobs(config, weights, sample),
          (v) => v + uniform() - 0.5,
        ),
      }))
      const exact = (changed: Weights) =>
        referencePolicyLoss(
          samples.map((sample) => referenceLogprobs(config, changed, sample)),
          samples,
          loss,
        )
      const shares = sampleWeights(samples, aggregate)
      const batch = samples.map((sample, i) => ({ sample, weight: shares[i] }))
      const names = [...model.params.keys()]
      const got = await lossGradients(model, names, batch, loss)
      assert.ok(Math.abs(got.loss - exact(weights)) < 1e-4 * Math.max(1, Math.abs(got.loss)))

      const analytic: number[] = []
      const numeric: number[] = []
      const { below } = rng([7, 8])
      for (const name of names) {
        const gradient = await got.gradients.get(name)!.data()
        const index = below(gradient.length)
        const shifted = (by: number) => {
          const values = Float64Array.from(weights.get(name)!)
          values[index] += by
          return exact(new Map([...weights, [name, values]]))
        }
        const step = 1e-6
        analytic.push(gradient[index])
        numeric.push((shifted(step) - shifted(-step)) / (2 * step))
      }
      const worst = relativeError(analytic, numeric)
      assert.ok(worst < 1e-3, `relative error ${worst}`)
      tf.dispose([...got.gradients.values()])
    })

for (const backend of ['wasm-blas', 'cpu', 'tensorflow'] as const)
  test(`${backend}: an entropy bonus is the mean entropy of the tokens that count, and so is its gradient`, async () => {
    if (!(await tryBackend(backend))) return
    const config = smallConfig('qwen3')
    const { model, weights } = await smallModel(config, [3, 4])
    const samples = samplesOf(model, 3)
    const marks = samples.map(({ mask }) => mask.map((bit, t) => (bit && t % 2 === 0 ? 1 : 0)))
    const count = marks.reduce((sum, mark) => sum + countTrained({ mask: mark }), 0)
    const loss = { ...LOSS, entropyWeight: 0.3 }
    // Nothing but the bonus: no token weighs anything in the loss.
    const batch = samples.map((sample, i) => ({
      sample,
      weight: 0,
      entropyMean: 1 / count,
      chosen: marks[i],
    }))
    const names = [...model.params.keys()]
    const got = await lossGradients(model, names, batch, loss)
    const exact = (changed: Weights) =>
      (-0.3 / count) *
      samples
        .flatMap((sample, i) => referenceEntropies(config, changed, sample).filter((_, t) => marks[i][t]))
        .reduce((a, b) => a + b, 0)
    assert.ok(Math.abs(got.loss - exact(weights)) < 1e-5)
    const [analytic, numeric]: number[][] = [[], []]
    for (const name of names) {
      const gradient = await got.gradients.get(name)!.data()
      const index = rng([7, 8]).below(gradient.length)
      const shifted = (by: number) => {
        const values = Float64Array.from(weights.get(name)!)
        values[index] += by
        return exact(new Map([...weights, [name, values]]))
      }
      analytic.push(gradient[index])
      numeric.push((shifted(1e-6) - shifted(-1e-6)) / 2e-6)
    }
    const worst = relativeError(analytic, numeric)
    assert.ok(worst < 1e-3, `relative error ${worst}`)
    tf.dispose([...got.gradients.values()])
  })

test('the tokens of highest entropy are those of the whole step, however it is cut into passes', async () => {
  await tryBackend('cpu')
  const results: Map<string, Float32Array>[] = []
  for (const [tokenBudget, entropyShare] of [
    [900, 0.3],
    [40, 0.3],
    [900, 1],
  ]) {
    const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
    const trainer = createTrainer(model)
    const loss = { ...LOSS, entropyWeight: 0.01, entropyShare, offPolicyLimit: 0.1 }
    await trainer.update(samplesOf(model, 20), { ...OPTIONS, loss, updates: 1, tokenBudget })
    results.push(await weightsOf(model))
    trainer.dispose()
  }
  const [whole, parts, all] = results
  const apart = (a: Map<string, Float32Array>) =>
    Math.max(...[...whole].map(([name, values]) => relativeError(a.get(name)!, values)))
  assert.ok(apart(parts) < 1e-5, `${apart(parts)}`)
  assert.ok(apart(all) > 1e-4, `${apart(all)}`)
})

test('a mismatch is measured once, when the update begins', async () => {
  await tryBackend('cpu')
  const mask = { kind: 'mask', level: 'token', limit: 3 } as const
  const weightsAfter = async (mismatch: typeof mask | undefined, shift: number) => {
    const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
    const trainer = createTrainer(model)
    const samples = samplesOf(model, 6)
    const scored = await trainer.score(samples)
    const given = samples.map((sample, i) => ({
      ...sample,
      logprobs: (scored[i] ?? sample.logprobs).map((value) => value - shift),
    }))
    await trainer.update(given, { ...OPTIONS, loss: { ...LOSS, klWeight: 0, mismatch }, updates: 2 })
    const found = await weightsOf(model)
    trainer.dispose()
    return found
  }
  const apart = (a: Map<string, Float32Array>, b: Map<string, Float32Array>) =>
    Math.max(...[...a].map(([name, values]) => relativeError(b.get(name)!, values)))
  const plain = await weightsAfter(undefined, 0)
  assert.ok(apart(plain, await weightsAfter(mask, 0)) < 1e-4)
  // Every token was sampled by weights that gave it e^-2 of its present probability, so each is left out.
  const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
  assert.ok(apart(await weightsOf(model), await weightsAfter(mask, 2)) < 1e-6)
})

test('an update tells the weights of its samples as they were at its start', async () => {
  await tryBackend('cpu')
  const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
  const trainer = createTrainer(model)
  const samples = samplesOf(model, 2)
  const scored = await trainer.score(samples)
  const given = samples.map((sample, i) => ({
    ...sample,
    logprobs: (scored[i] ?? sample.logprobs).map((value) => value - Math.log(i === 0 ? 2 : 6)),
  }))
  const weightsWith = async (mismatch: PolicyLossOptions['mismatch']) =>
    (await trainer.update(given, { ...OPTIONS, learningRate: 1e-9, loss: { ...LOSS, mismatch } })).weights
  assert.is(await weightsWith(undefined), undefined)
  const found = await weightsWith({ kind: 'truncate', level: 'token', limit: 5 })
  for (const [i, weight] of [2, 6].entries()) {
    const { tokens = 0, sum = 0, squares = 0, most = 0, cut } = found?.[i] ?? {}
    assert.is(tokens, countTrained(given[i] ?? given[0]))
    assert.ok(Math.abs(sum / tokens - weight) < 1e-3 * weight, `${sum / tokens}`)
    assert.ok(Math.abs(squares / tokens - weight ** 2) < 1e-2 * weight ** 2)
    assert.ok(Math.abs(most - weight) < 1e-3 * weight)
    assert.is(cut, i === 0 ? 0 : tokens)
  }
  const whole = await weightsWith({ kind: 'mask', level: 'sequence', limit: null })
  const { tokens = 0, most = 0, cut } = whole?.[0] ?? {}
  assert.ok(Math.abs(most / Math.min(2 ** tokens, Math.exp(10)) - 1) < 1e-2)
  assert.is(cut, 0)
  trainer.dispose()
})

for (const backend of ['wasm-blas', 'cpu', 'tensorflow'] as const)
  test(`${backend}: of the upper layers alone, an update is what it would be with all, and the others stay`, async () => {
    if (!(await tryBackend(backend))) return
    const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
    const names = [...model.params.keys()]
    const batch = samplesOf(model, 3).map((sample) => ({ sample, weight: 0.1 }))
    const upper = names.filter((name) => name.startsWith('model.layers.1.'))
    const before = tf.memory().numTensors
    const all = await lossGradients(model, names, batch, LOSS)
    for (const recompute of [false, true]) {
      const { gradients, loss } = await lossGradients(model, upper, batch, LOSS, {
        recompute,
        frozenLayers: 1,
      })
      assert.is(loss, all.loss)
      for (const [name, gradient] of gradients)
        assert.ok(
          relativeError(await gradient.data(), await all.gradients.get(name)!.data()) < 1e-6,
          `${name}, recompute ${recompute}`,
        )
      tf.dispose([...gradients.values()])
    }
    tf.dispose([...all.gradients.values()])
    assert.is(tf.memory().numTensors, before)
    const was = await weightsOf(model)
    const trainer = createTrainer(model)
    await trainer.update(samplesOf(model, 4), { ...OPTIONS, layers: 1 })
    const is = await weightsOf(model)
    assert.equal(
      names.filter((name) => relativeError(is.get(name)!, was.get(name)!) > 0),
      upper,
    )
    trainer.dispose()
  })

test('at a temperature the loss and the scores are those of divided logits', async () => {
  if (!(await tryBackend('wasm'))) return
  const { model } = await smallModel(smallConfig('qwen2'), [3, 4])
  const samples = samplesOf(model, 3)
  const batch = samples.map((sample) => ({ sample, weight: 0.1 }))
  const names = [...model.params.keys()]
  const temperature = 0.7
  const got = await lossGradients(model, names, batch, LOSS, { temperature })
  const trainer = createTrainer(model)
  const scores = await trainer.score(samples, { temperature })

  const head = model.params.get('lm_head.weight')!
  const divided = tf.tidy(() => tf.variable(head.div(temperature)))
  const other = { ...model, params: new Map([...model.params, ['lm_head.weight', divided]]) }
  const expected = await lossGradients(other, names, batch, LOSS)
  assert.ok(Math.abs(got.loss - expected.loss) < 1e-5 * Math.abs(expected.loss))
  const [all, others]: [number[], number[]] = [[], []]
  for (const name of names) {
    const scale = name === 'lm_head.weight' ? temperature : 1
    all.push(...(await got.gradients.get(name)!.data()))
    others.push(...(await expected.gradients.get(name)!.data()).map((value) => value / scale))
  }
  assert.ok(relativeError(all, others) < 1e-4)
  const otherScores = await createTrainer(other).score(samples)
  otherScores.forEach((wanted, i) => {
    assert.ok(relativeError(scores[i], wanted) < 1e-5)
  })
  assert.ok(relativeError(scores[0], (await trainer.score(samples))[0]) > 0.01)
  tf.dispose([...got.gradients.values(), ...expected.gradients.values(), divided])
  trainer.dispose()
})

test('an update is the same whatever the token budget, and the same twice', async () => {
  if (!(await tryBackend('wasm'))) return
  const results: Map<string, Float32Array>[] = []
  for (const tokenBudget of [1000, 20, 20]) {
    const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
    const trainer = createTrainer(model)
    const metrics = await trainer.update(samplesOf(model, 8), { ...OPTIONS, tokenBudget })
    assert.is(metrics.updates, 2)
    assert.is(metrics.samples, 8)
    results.push(await weightsOf(model))
    trainer.dispose()
  }
  for (const [name, values] of results[0])
    assert.ok(relativeError(results[1].get(name)!, values) < 1e-4, name)
  assert.equal(results[1], results[2])
})

test('more updates than samples become one for each sample; samples without trained tokens are left out', async () => {
  await tryBackend('wasm')
  const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
  const trainer = createTrainer(model)
  const [a, b, c] = samplesOf(model, 3)
  const empty = { ...c, mask: new Uint8Array(c.tokens.length) }
  const metrics = await trainer.update([a, b, empty], { ...OPTIONS, updates: 5 })
  assert.is(metrics.updates, 2)
  assert.is(metrics.tokens, countTrained(a) + countTrained(b))
  const none = await trainer.update([empty], OPTIONS)
  assert.equal([none.updates, none.loss, none.stopped], [0, 0, null])
  trainer.dispose()
})

test('a NaN stops the update, names the sample and keeps the weights', async () => {
  await tryBackend('wasm')
  const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
  const trainer = createTrainer(model)
  const samples = samplesOf(model, 6)
  const before = await weightsOf(model)
  const broken = samples.map((sample, i) =>
    i === 3 ? { ...sample, advantages: sample.advantages.map(() => Number.NaN) } : sample,
  )
  const metrics = await trainer.update(broken, { ...OPTIONS, updates: 1 })
  assert.is(metrics.updates, 0)
  assert.is(metrics.stopped?.reason, 'not-finite')
  assert.is(metrics.stopped?.sample, 's3')
  assert.equal(await weightsOf(model), before)
  assert.is((await trainer.update(samples, OPTIONS)).stopped, null)
  trainer.dispose()
})

test('the KL limit leaves out the remaining updates', async () => {
  await tryBackend('wasm')
  const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
  const trainer = createTrainer(model)
  const samples = samplesOf(model, 6)
  const [first] = await trainer.score(samples)
  assert.is(first.length, samples[0].tokens.length)
  const scores = await trainer.score(samples)
  const onPolicy = samples.map((sample, i) => ({
    ...sample,
    logprobs: scores[i],
    referenceLogprobs: scores[i],
  }))
  const metrics = await trainer.update(onPolicy, {
    ...OPTIONS,
    learningRate: 0.05,
    updates: 6,
    klLimit: 0.01,
  })
  assert.is(metrics.stopped?.reason, 'kl')
  assert.ok(metrics.updates >= 1 && metrics.updates < 6)
  assert.ok((metrics.stopped?.value ?? 0) > 0.01)
  trainer.dispose()
})

test('the KL limit is about how far the update goes, not about how far away the reference is', async () => {
  await tryBackend('wasm')
  const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
  const trainer = createTrainer(model)
  const samples = samplesOf(model, 6)
  const scores = await trainer.score(samples)
  const onPolicy = samples.map((sample, i) => ({
    ...{ ...sample, logprobs: scores[i], referenceLogprobs: scores[i].map((value) => value + 1) },
  }))
  for (const klHalvings of [0, 4]) {
    const metrics = await trainer.update(onPolicy, {
      ...{ ...OPTIONS, learningRate: 1e-5, updates: 2, klLimit: 0.01, klHalvings },
    })
    assert.ok(metrics.kl > 0.5)
    assert.is(metrics.stopped, null)
    assert.is(metrics.updates, 2)
  }
  trainer.dispose()
})

test('a step that goes beyond the KL limit is halved until it does not, or is taken back', async () => {
  await tryBackend('wasm')
  const after = async (changes: Partial<UpdateOptions>) => {
    const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
    const trainer = createTrainer(model)
    const samples = samplesOf(model, 6)
    const scores = await trainer.score(samples)
    const onPolicy = samples.map((sample, i) => ({
      ...{ ...sample, logprobs: scores[i], referenceLogprobs: scores[i] },
    }))
    const options = { ...OPTIONS, learningRate: 0.05, klLimit: 0.01, updates: 2, ...changes }
    const metrics = await trainer.update(onPolicy, options)
    const now = await trainer.score(samples)
    const kl = meanDrift(onPolicy, now)
    trainer.dispose()
    return { metrics, kl, weights: await weightsOf(model) }
  }
  const fresh = await after({ learningRate: 0 })

  const halved = await after({ klHalvings: 12 })
  assert.is(halved.metrics.stopped, null)
  assert.is(halved.metrics.updates, 2)
  assert.is(halved.metrics.samples, 6)
  assert.ok(halved.metrics.klHalvings! > 0)
  assert.not.equal(halved.weights, fresh.weights)
  assert.ok(halved.kl < (await after({})).kl / 10)

  // The last step is measured as well: here it is the only one.
  const one = { updates: 1 }
  const whole = await after({ ...one, klHalvings: 1 })
  assert.is(whole.metrics.stopped?.reason, 'kl')
  assert.is(whole.metrics.updates, 0)
  assert.is(whole.metrics.samples, 0)
  assert.is(whole.metrics.klHalvings, 1)
  assert.equal(whole.weights, fresh.weights)
  const some = await after({ ...one, klHalvings: 12 })
  assert.is(some.metrics.stopped, null)
  assert.ok(some.kl > 0 && some.kl <= 0.01)

  // A step that is short enough is the same with it and without.
  const short = { learningRate: 1e-5 }
  assert.equal((await after({ ...short, klHalvings: 3 })).weights, (await after(short)).weights)
})

/** Over the trained tokens. */
function meanDrift(samples: readonly TrainingSample[], now: readonly Float32Array[]): number {
  const terms = samples.flatMap(({ mask, logprobs }, i) =>
    [...logprobs].map((old, t) => now[i][t] - old).filter((_, t) => mask[t]),
  )
  return terms.reduce((sum, ratio) => sum + Math.exp(ratio) - 1 - ratio, 0) / terms.length
}

test('optimiser state survives export and import; a reset starts anew', async () => {
  await tryBackend('wasm')
  const run = async (via: 'straight' | 'restored' | 'reset') => {
    const { model } = await smallModel(smallConfig('qwen2'), [3, 4])
    let trainer = createTrainer(model)
    await trainer.update(samplesOf(model, 4), OPTIONS)
    if (via === 'restored') {
      const state = await trainer.optimizer.exportState()
      assert.is(state.step, 2)
      trainer.dispose()
      trainer = createTrainer(model)
      trainer.optimizer.importState(state)
    }
    await trainer.update(samplesOf(model, 4), { ...OPTIONS, resetOptimizer: via === 'reset' })
    trainer.dispose()
    return await weightsOf(model)
  }
  const straight = await run('straight')
  assert.equal(await run('restored'), straight)
  assert.not.equal(await run('reset'), straight)
})

test('moments that are not those of the weights are refused by name, and change nothing', async () => {
  await tryBackend('wasm')
  const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
  const trainer = createTrainer(model)
  await trainer.update(samplesOf(model, 4), OPTIONS)
  const good = await trainer.optimizer.exportState()
  const one = { shape: [1], values: Float32Array.of(1) }
  const [, first] = [...good.tensors.keys()][0].split(/\.(.*)/s)
  for (const [changes, message] of [
    [{ [`m.${first}`]: one, [`v.${first}`]: one }, /m\.\S+ of shape \[1\], its weight has \[/],
    [{ [`v.${first}`]: one }, /v\.\S+ of shape \[1\]/],
    [{ [`v.${first}`]: null }, /m\.\S+ without its other moment/],
    [{ [`m.${first}`]: null }, /v\.\S+ without its other moment/],
    [{ 'm.nothing': one, 'v.nothing': one }, /m\.nothing of no weight/],
    [{ other: one }, /other of no weight/],
  ] as const) {
    const tensors = new Map(good.tensors)
    for (const [name, tensor] of Object.entries(changes))
      if (tensor) tensors.set(name, tensor)
      else tensors.delete(name)
    assert.throws(() => trainer.optimizer.importState({ step: 9, tensors }), message)
    assert.equal(await trainer.optimizer.exportState(), good)
  }
  trainer.dispose()
})

test('bad samples and options are refused by name', async () => {
  await tryBackend('wasm')
  const { model } = await smallModel(smallConfig('qwen3'), [3, 4])
  const trainer = createTrainer(model)
  const [good] = samplesOf(model, 1)
  const refuses = async (sample: TrainingSample, options: UpdateOptions, message: RegExp) => {
    try {
      await trainer.update([sample], options)
    } catch (error) {
      return assert.match(String(error), message)
    }
    assert.unreachable(String(message))
  }
  await refuses({ ...good, mask: good.mask.map(() => 1) }, OPTIONS, /s0: its first token/)
  await refuses({ ...good, advantages: new Float32Array(2) }, OPTIONS, /s0: advantages has length 2/)
  await refuses(good, { ...OPTIONS, tokenBudget: 3 }, /exceed tokenBudget 3/)
  await refuses(good, { ...OPTIONS, learningRate: Number.NaN }, /learningRate is NaN/)
  for (const layers of [0, 1.5, 3]) await refuses(good, { ...OPTIONS, layers }, /layers is/)
  const offsets = Int32Array.from({ length: good.tokens.length + 1 }, (_, i) => i)
  const tokens = good.tokens.map((token) => (token + 1) % 29)
  await refuses({ ...good, allowed: { offsets, tokens } }, OPTIONS, /not among the allowed/)
  trainer.dispose()
})

test('micro-batches keep to the budget, lose nothing and hold samples of like length', () => {
  const items = [5, 1, 9, 4, 4, 7, 2].map((length) => ({ sample: { tokens: new Int32Array(length) } }))
  const batches = microBatches(items, 10).map((batch) => batch.map((item) => item.sample.tokens.length))
  assert.equal(batches, [[9], [7], [5, 4], [4, 2, 1]])
})

/** What waits to be collected is no leak. */
setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

test('200 updates leave the number of tensors and the memory as they were', async () => {
  for (const backend of ['wasm-blas', 'wasm', 'tensorflow'] as const) {
    if (!(await tryBackend(backend))) continue
    const { model } = await smallModel(smallConfig('qwen2'), [3, 4])
    const trainer = createTrainer(model)
    const samples = samplesOf(model, 4)
    const update = () => trainer.update(samples, { ...OPTIONS, updates: 1, tokenBudget: 24 })
    for (let i = 0; i < 40; i++) await update()
    collectGarbage()
    const before = {
      tensors: tf.memory().numTensors,
      bytes: tf.memory().numBytes,
      rss: process.memoryUsage().rss,
    }
    for (let i = 0; i < 200; i++) await update()
    assert.is(tf.memory().numTensors, before.tensors)
    assert.is(tf.memory().numBytes, before.bytes)
    collectGarbage()
    const grown = (process.memoryUsage().rss - before.rss) / 2 ** 20
    assert.ok(grown < 128, `resident memory grew by ${grown.toFixed(0)} MB`)
    trainer.dispose()
  }
})

test.run()
