/** What the gradient of the output head takes: of a real vocabulary [vocab, d] is the largest tensor of all. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { headLogprobs } from '../../../src/models/local/head.ts'
import { rng } from '../../../src/random.ts'
import * as tf from '../../../src/tensorflow/tensorflow.ts'
import { tryBackend } from './fixtures.ts'

const [VOCAB, WIDTH, ROWS] = [2000, 64, 64]
/** Sixteen chunks, whose logits are a sixteenth of the head each. */
const CHUNK_ROWS = 4
const HEAD_BYTES = 4 * VOCAB * WIDTH

/** One pass forward and back: most bytes at once beyond those of its inputs, and the shapes that were made. */
async function profiled(frozen: boolean) {
  const { uniform, below } = rng([6, 4])
  const random = (shape: [number, number]) =>
    tf.tensor2d(
      Float32Array.from({ length: shape[0] * shape[1] }, () => uniform() - 0.5),
      shape,
    )
  const hidden = random([ROWS, WIDTH])
  const head = random([VOCAB, WIDTH])
  const targets = Int32Array.from({ length: ROWS }, () => below(VOCAB))
  const taken = (h: tf.Tensor) =>
    tf.sum(
      tf.slice(
        headLogprobs(h as tf.Tensor2D, head, targets, undefined, { chunkRows: CHUNK_ROWS, frozen }),
        [0, 0],
        [1, ROWS],
      ),
    )
  const before = tf.memory().numBytes
  const { peakBytes, kernels } = await tf.profile(() =>
    tf.tidy(() => {
      // A head that is not frozen gets its gradient too.
      const inputs = frozen ? [hidden] : [hidden, head]
      return tf.grads((h: tf.Tensor) => taken(h))(inputs)
    }),
  )
  tf.dispose([hidden, head])
  return { peak: peakBytes - before, shapes: kernels.flatMap(({ outputShapes }) => outputShapes) }
}

for (const backend of ['wasm-blas', 'wasm', 'cpu'] as const) {
  test(`${backend}: a frozen head has no gradient in memory, however many chunks there are`, async () => {
    if (!(await tryBackend(backend))) return
    const { peak, shapes } = await profiled(true)
    assert.not.ok(shapes.some((shape) => shape.join() === `${VOCAB},${WIDTH}`))
    assert.ok(peak < HEAD_BYTES, `${peak} bytes beside a head of ${HEAD_BYTES}`)
  })

  test(`${backend}: the gradient of a head is one sum, not one for each chunk`, async () => {
    if (!(await tryBackend(backend))) return
    const { peak, shapes } = await profiled(false)
    assert.ok(shapes.some((shape) => shape.join() === `${VOCAB},${WIDTH}`))
    assert.ok(peak < 4 * HEAD_BYTES, `${peak} bytes beside a head of ${HEAD_BYTES}`)
  })
}

test.run()
