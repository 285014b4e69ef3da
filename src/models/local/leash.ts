import * as tf from '../../tensorflow/tensorflow.ts'
import type { UpdateOptions } from '../port.ts'
import { type Params, weight } from './params.ts'

/**
 * Keeps an update within its KL limit: a step that went too far is halved, and so is the rate of those behind it, until it is short
 * enough; where no halving is left it is taken back. Without `klHalvings` a step stays as it is.
 */
export type Leash = {
  /** @param kl of the policy that sampled to the present one: the mean `drift` of models/local/loss.ts over trained tokens */
  tooFar(kl: number): boolean
  /** How often a step was halved: so often is the learning rate as well. */
  readonly halvings: number
  /** Before a step; the weights that it will move are copied, four bytes each. */
  keep(): Promise<void>
  /** Leaves half of what is left of the last step; false where there is none, or it may not be halved any more. */
  halve(): Promise<boolean>
  /** Leaves nothing of the last step; false where there is none. */
  takeBack(): Promise<boolean>
}

/** @param names the weights that the update moves */
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
