import * as tf from '../../tensorflow/tensorflow.ts'
import type { UpdateOptions } from '../port.ts'
import { type Params, weight } from './params.ts'

/**
 * Keeps an update within its KL limit. A step that went too far is halved until it is short enough, and so is the rate
 * of later steps. If no halvings are left, the step is undone. Without `klHalvings` a step stays.
 */
export type Leash = {
  /**
   * Returns whether a KL exceeds the limit.
   * @param kl KL from the sampling policy to the present one: the mean `drift` of models/local/loss.ts over trained
   * tokens
   */
  tooFar(kl: number): boolean
  /** Number of times that a step was halved. The learning rate is halved as often. */
  readonly halvings: number
  /** Copies the weights that the next step moves, four bytes each. */
  keep(): Promise<void>
  /** Undoes half of the rest of the last step. Returns false if there is no step, or no halvings are left. */
  halve(): Promise<boolean>
  /** Undoes the last step. Returns false if there is none. */
  takeBack(): Promise<boolean>
}

/** @param names names of the weights that the update moves */
export function createLeash(
  params: Params,
  names: readonly string[],
  { klLimit, klHalvings = 0 }: Pick<UpdateOptions, 'klLimit' | 'klHalvings'>,
): Leash {
  let before: (readonly [tf.Variable, Float32Array])[] = []
  let halvings = 0
  const leave = async (share: number) => {
    for (const [value, old] of before) {
      const now = await value.data()
      const next = old.map((from, i) => from + share * (now[i] - from))
      tf.tidy(() => value.assign(tf.tensor(next, value.shape, 'float32')))
    }
    return before.length > 0
  }
  return {
    tooFar: (kl) => klLimit !== null && kl > klLimit,
    get halvings() {
      return halvings
    },
    async keep() {
      if (klLimit === null || klHalvings === 0) return
      before = []
      for (const name of names) {
        const value = weight(params, name)
        before.push([value, Float32Array.from(await value.data())])
      }
    },
    async halve() {
      if (before.length === 0 || halvings === klHalvings) return false
      halvings++
      return leave(0.5)
    },
    takeBack: () => leave(0),
  }
}
