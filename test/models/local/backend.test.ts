import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { BACKENDS, describeBackend, openBackend } from '../../../src/models/local/backend/backend.ts'
import { selfTest } from '../../../src/models/local/backend/self-test.ts'
import { betterCore, processorFlags } from '../../../src/platform/blas.ts'
import { rng } from '../../../src/random.ts'
import * as tf from '../../../src/tensorflow/tensorflow.ts'
import { relativeError, tryBackend } from './fixtures.ts'

test('auto takes the best backend that works and says why the better ones are passed over', async () => {
  // What computes on the processor through tfjs-node is no better than WebAssembly.
  assert.equal(BACKENDS, ['webgpu', 'tensorflow-gpu', 'wasm-blas', 'wasm', 'tensorflow', 'cpu'])
  const opened = await openBackend()
  const better = BACKENDS.slice(0, BACKENDS.indexOf(opened.name))
  assert.equal(
    opened.passedOver.map((other) => other.name),
    better,
  )
  for (const { name, reason } of opened.passedOver) assert.ok(reason.length > 0, name)
  assert.match(describeBackend(opened), opened.name)
})

test('a named backend that is missing is an error, not another backend', async () => {
  for (const name of ['tensorflow-gpu', 'tensorflow', 'webgpu'] as const) {
    try {
      await openBackend(name)
      process.stdout.write(`SKIP ${name}: it is there\n`)
    } catch (error) {
      assert.match(String(error), `backend ${name} cannot be used`)
    }
  }
})

test('OpenBLAS takes kernels for what the processor can do, also where it does not know the processor', async () => {
  if (!(await tryBackend('wasm-blas'))) return
  const { detail } = await openBackend('wasm-blas')
  if (processorFlags().has('avx2') && processorFlags().has('fma')) assert.not.match(detail, 'Prescott')
  assert.is(betterCore('Prescott', new Set(['avx2', 'fma', 'sse3'])), 'Haswell')
  assert.is(betterCore('Prescott', new Set(['sse3'])), undefined)
  assert.is(betterCore('Zen', new Set(['avx2', 'fma'])), undefined, 'what it knows it knows better')
})

test('the self-test finds a kernel that computes wrongly', async () => {
  await openBackend('cpu')
  const kernel = tf.getKernel('BatchMatMul', 'cpu')!
  tf.unregisterKernel('BatchMatMul', 'cpu')
  tf.registerKernel({
    ...kernel,
    kernelFunc: ({ inputs, backend, attrs }) =>
      kernel.kernelFunc({ inputs, backend, attrs: { ...attrs, transposeB: !attrs?.transposeB } }),
  })
  let wrong: unknown
  try {
    wrong = await selfTest()
  } catch (error) {
    wrong = error
  }
  tf.unregisterKernel('BatchMatMul', 'cpu')
  tf.registerKernel(kernel)
  assert.ok(wrong)
  assert.is(await selfTest(), null)
})

for (const backend of ['wasm-blas', 'wasm', 'tensorflow'] as const)
  test(`${backend}: products of all sizes and transposes agree with plain JavaScript`, async () => {
    if (!(await tryBackend(backend))) return
    const { below, uniform } = rng([1, 9])
    for (let round = 0; round < 60; round++) {
      const [m, n] = [1 + below(70), 1 + below(70)]
      const k = round < 8 ? 250 + below(300) : 1 + below(40)
      const [ta, tb] = [round % 2 === 1, round % 4 > 1]
      const a = Float32Array.from({ length: m * k }, () => uniform() - 0.5)
      const b = Float32Array.from({ length: n * k }, () => uniform() - 0.5)
      const expected = Array.from({ length: m * n }, (_, at) => {
        const [i, j] = [Math.floor(at / n), at % n]
        let sum = 0
        for (let p = 0; p < k; p++) sum += a[ta ? p * m + i : i * k + p] * b[tb ? j * k + p : p * n + j]
        return sum
      })
      const got = tf.tidy(() =>
        tf.matMul(tf.tensor2d(a, ta ? [k, m] : [m, k]), tf.tensor2d(b, tb ? [n, k] : [k, n]), ta, tb),
      )
      assert.ok(relativeError(await got.data(), expected) < 1e-5, `${m} x ${n} x ${k} ${ta} ${tb}`)
      got.dispose()
    }
    const left = tf.randomUniform([3, 4, 5])
    const right = tf.randomUniform([1, 5, 2])
    const batched = tf.matMul(left, right)
    const parts = tf.concat(
      tf.unstack(left).map((part) => tf.matMul(part as tf.Tensor2D, tf.squeeze(right, [0]) as tf.Tensor2D)),
    )
    assert.equal(batched.shape, [3, 4, 2])
    assert.ok(relativeError(await batched.data(), await parts.data()) < 1e-6)
  })

test('a vector is no factor of a matrix product', async () => {
  await openBackend('wasm')
  const [vector, matrix] = [tf.ones([3]), tf.ones([2, 3])]
  for (const transposed of [false, true]) {
    assert.throws(() => tf.matMul(vector, vector, transposed), /cannot multiply float32 3 by float32 3/)
    assert.throws(() => tf.matMul(matrix, vector, false, transposed), /cannot multiply float32 2 x 3/)
  }
  tf.dispose([vector, matrix])
})

test.run()
