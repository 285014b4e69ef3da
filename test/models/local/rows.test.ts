import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { prepareWasm } from '../../../src/models/local/backend/wasm.ts'
import { rowIndependentProduct } from '../../../src/models/local/decoder/rows.ts'
import { rng } from '../../../src/random.ts'
import { tryBackend } from './fixtures.ts'

/** Whatever number of rows a way counts in (4 to 32) divides it: all are padded within the buffers. */
const MOST = 96

for (const backend of ['wasm', 'wasm-blas'] as const)
  test(`${backend}: rows of a product are the same in every batch and place, and right`, async () => {
    if (!(await tryBackend(backend))) return
    const heap = await prepareWasm()
    for (const [out, input] of [
      [29, 24],
      [13, 7],
      [64, 192],
      [350, 96],
    ] as const) {
      const { way, multiple, prepare, multiply } = rowIndependentProduct(heap, [[out, input]], MOST)
      if (backend === 'wasm') assert.is(way, 'own')
      const { uniform } = rng([out, input])
      const random = (length: number) => Float32Array.from({ length }, () => uniform() - 0.5)
      const [x, w, start] = [random(MOST * input), random(out * input), random(out)]
      const [xAt, wAt, yAt] = [MOST * input, out * input, MOST * out].map((size, i) =>
        heap.scratch(`test ${i}`, size),
      )
      heap.floats(wAt, w.length).set(w)
      const packed = prepare?.(wAt, out, input)
      /** Rows first .. first + count of x times w, on top of 0.5 start. */
      const product = (first: number, count: number) => {
        const padded = Math.ceil(count / multiple) * multiple
        heap.floats(xAt, padded * input).fill(0)
        heap.floats(xAt, count * input).set(x.subarray(first * input, (first + count) * input))
        for (let row = 0; row < padded; row++) heap.floats(yAt + 4 * row * out, out).set(start)
        multiply(padded, out, input, xAt, packed ? heap.pointer(packed) : wAt, 0.5, yAt)
        return heap.floats(yAt, count * out).slice()
      }
      const whole = product(0, MOST)
      for (let row = 0; row < MOST; row += 17)
        for (let o = 0; o < out; o++) {
          let sum = 0.5 * start[o]
          for (let i = 0; i < input; i++) sum += x[row * input + i] * w[o * input + i]
          assert.ok(Math.abs(whole[row * out + o] - sum) < 1e-4, `${way} ${out} x ${input}, row ${row}`)
        }
      for (const count of [1, 3, 8, 9, 16, 23, 40])
        for (const first of [0, 5, MOST - count])
          assert.equal(product(first, count), whole.subarray(first * out, (first + count) * out))
      if (packed) heap.release(packed)
    }
  })

test.run()
