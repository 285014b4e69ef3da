import { itemAt } from '../../../item-at.ts'
import * as tf from '../../../tensorflow/tensorflow.ts'
import { embedding } from '../ops.ts'
import { createOptimizer } from '../optimizer.ts'
import { variable } from '../params.ts'

/**
 * Tests the present backend with small computations of known results: matmul with all transposes, the gradient of an embedding, one
 * Adam step. Resolves to null if all agree, else to the difference.
 */
export async function selfTest(): Promise<string | null> {
  for (const transposeA of [false, true])
    for (const transposeB of [false, true]) {
      const a = tf.tensor2d(
        transposeA ? [1, 4, 2, 5, 3, 6] : [1, 2, 3, 4, 5, 6],
        transposeA ? [3, 2] : [2, 3],
      )
      const b = tf.tensor2d(
        transposeB ? [7, 9, 11, 8, 10, 12] : [7, 8, 9, 10, 11, 12],
        transposeB ? [2, 3] : [3, 2],
      )
      const product = tf.matMul(a, b, transposeA, transposeB)
      const wrong = differs(await product.data(), [58, 64, 139, 154])
      tf.dispose([a, b, product])
      if (wrong) return `matmul (transposes ${transposeA}, ${transposeB}): ${wrong}`
    }

  const table = variable(Float32Array.of(1, 2, 3, 4, 5, 6), [3, 2])
  const { value, grads } = tf.variableGrads(() => {
    const rows = embedding(table, tf.tensor1d([2, 0, 2], 'int32'))
    return rows.mul(tf.tensor2d([1, 2, 3, 4, 5, 6], [3, 2])).sum() as tf.Scalar
  }, [table])
  const gradient = itemAt(Object.values(grads), 0)
  const wrongGradient = differs(await gradient.data(), [3, 4, 0, 0, 6, 8])
  tf.dispose([value, gradient, table])
  if (wrongGradient) return `embedding gradient: ${wrongGradient}`

  // Step 1 of Adam moves by lr g / (|g| + eps). Before that, decay subtracts lr x decay of the weight.
  const params = new Map([['w', variable(Float32Array.of(1, -2, 3, 0.5), [2, 2])]])
  const optimizer = createOptimizer(params)
  const given = tf.tensor2d([0.5, -1, 2, 0], [2, 2])
  const options = { learningRate: 0.1, beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0.1 }
  optimizer.step(new Map([['w', given]]), 1, options)
  const moved = await params.get('w')!.data()
  const wrongStep = differs(moved, [0.89, -1.88, 2.87, 0.495])
  optimizer.dispose()
  tf.dispose([given, params.get('w')!])
  return wrongStep && `Adam step: ${wrongStep}`
}

function differs(got: ArrayLike<number>, expected: readonly number[]): string | null {
  const index = expected.findIndex(
    (value, i) => !(Math.abs((got[i] ?? Number.NaN) - value) <= 1e-5 * Math.max(1, Math.abs(value))),
  )
  return index < 0 ? null : `value ${index} is ${got[index]}, not ${expected[index]}`
}
