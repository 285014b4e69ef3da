import { itemAt } from '../../item-at.ts'
import type * as tf from '../../tensorflow/tensorflow.ts'

/** Returns the value of a scalar, and disposes it. */
export async function takeScalar(scalar: tf.Tensor): Promise<number> {
  const value = itemAt(await scalar.data(), 0)
  scalar.dispose()
  return value
}
