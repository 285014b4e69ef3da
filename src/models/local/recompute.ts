import * as tf from '../../tensorflow/tensorflow.ts'

/**
 * Returns `compute(inputs, constants)`. Only the inputs are kept, and the backward pass computes it again (arXiv
 * 1604.06174). The result is differentiable in the inputs.
 */
export function recomputed(
  compute: (inputs: tf.Tensor[], constants: tf.Tensor[]) => tf.Tensor,
  inputs: readonly tf.Tensor[],
  constants: readonly tf.Tensor[] = [],
): tf.Tensor {
  const op = tf.customGrad((...args) => {
    const save = args.at(-1) as unknown as (tensors: tf.Tensor[]) => void
    const inputs = args.slice(0, -1) as tf.Tensor[]
    save([...constants, ...inputs])
    return {
      value: compute(inputs, [...constants]),
      gradFunc: (dy, saved) => {
        const kept = saved as tf.Tensor[]
        const again = (...inputs: tf.Tensor[]) => compute(inputs, kept.slice(0, constants.length))
        // TensorFlow.js has one tape at a time. The outer tape is set aside while the computation is recorded again.
        const { state } = tf.engine()
        const outer = state.activeTape
        try {
          return tf.grads(again)(kept.slice(constants.length), dy as tf.Tensor)
        } finally {
          state.activeTape = outer
        }
      },
    }
  })
  return op(...inputs)
}
