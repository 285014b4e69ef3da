import * as tf from '../../tensorflow/tensorflow.ts'
import { type Params, weight } from './params.ts'

/** The weights as they were before an optimiser step, which can be taken back in part or whole. */
export type StepBack = {
  /** Leaves half of what is left of the step. */
  halve(): Promise<void>
  /** Leaves nothing of it. */
  undo(): Promise<void>
}

/** @param names the weights that the step will move; their values are copied, four bytes each */
export async function beforeStep(params: Params, names: readonly string[]): Promise<StepBack> {
  const before: (readonly [tf.Variable, Float32Array])[] = []
  for (const name of names) {
    const value = weight(params, name)
    before.push([value, Float32Array.from(await value.data())])
  }
  const leave = async (share: number) => {
    for (const [value, old] of before) {
      const now = await value.data()
      const next = old.map((from, i) => from + share * (now[i] - from))
      tf.tidy(() => value.assign(tf.tensor(next, value.shape, 'float32')))
    }
  }
  return { halve: () => leave(0.5), undo: () => leave(0) }
}
