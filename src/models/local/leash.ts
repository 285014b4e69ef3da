import * as tf from '../../tensorflow/tensorflow.ts'
import type { UpdateOptions } from '../port.ts'
import { type Params, weight } from './params.ts'

/**
 * Keeps an update within its KL limit. A step that went too far is halved until it is short enough, and so is the rate of later steps.
 * If no halvings are left, the step is undone. Without `klHalvings` a step stays as it is.
 */
export type Leash = {
  /** @param kl mean over trained tokens of `drift` (models/local/loss.ts), from the policy that sampled to the present one */
  tooFar(kl: number): boolean
  /** Number of halvings so far. The learning rate is halved as often. */
  readonly halvings: number
  /** Called before a step. Copies the weights that the step will change, four bytes each. */
  keep(): Promise<void>
  /** Halves the rest of the last step. Returns false if there is no step or no halving left. */
  halve(): Promise<boolean>
  /** Undoes the last step. Returns false if there is none. */
  takeBack(): Promise<boolean>
}

/** @param names weights that the update changes */
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
      const next = old.map((from, i) => from + share * (now[i]! - from))
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
