import { RlError } from '../../errors.ts'
import * as tf from '../../tensorflow/tensorflow.ts'
import { activeHeap } from './backend/wasm.ts'
import { sizeOf } from './kernels/heap.ts'
import { type Params, variable, weight } from './params.ts'
import { takeScalar } from './take-scalar.ts'

type AdamOptions = {
  readonly learningRate: number
  readonly beta1: number
  readonly beta2: number
  readonly epsilon: number
  readonly weightDecay: number
}

export type OptimizerState = {
  /** Number of steps since the moments were fresh. */
  readonly step: number
  /** First moments as `m.<weight>`, second moments as `v.<weight>`. */
  readonly tensors: ReadonlyMap<string, { readonly shape: readonly number[]; readonly values: Float32Array }>
}

/** AdamW (arXiv 1711.05101, algorithm 2). Norms and biases have no weight decay. */
export type Optimizer = {
  /** Moves the weights that have a gradient by one step. Gradients are first multiplied by `scale`. They are not disposed. */
  step(gradients: ReadonlyMap<string, tf.Tensor>, scale: number, options: AdamOptions): void
  reset(): void
  /** Returns the state for checkpoints. */
  exportState(): Promise<OptimizerState>
  /** @throws RlError `model.optimizer` if the moments do not belong to these weights; then nothing is changed */
  importState(state: OptimizerState): void
  dispose(): void
}

/** @param params the weights to move */
export function createOptimizer(params: Params): Optimizer {
  const moments = new Map<string, { m: tf.Variable; v: tf.Variable }>()
  let taken = 0
  const momentsOf = (name: string, shape: readonly number[]) => {
    let found = moments.get(name)
    if (!found) {
      const fresh = () => variable(new Float32Array(sizeOf(shape)), shape)
      found = { m: fresh(), v: fresh() }
      moments.set(name, found)
    }
    return found
  }
  const reset = () => {
    for (const { m, v } of moments.values()) tf.dispose([m, v])
    moments.clear()
    taken = 0
  }
  return {
    step(gradients, scale, options) {
      taken++
      for (const [name, gradient] of gradients) {
        const value = weight(params, name)
        const decay = value.shape.length > 1 ? options.weightDecay : 0
        adamStep(value, gradient, momentsOf(name, value.shape), scale, taken, {
          ...options,
          weightDecay: decay,
        })
      }
    },
    reset,
    async exportState() {
      const tensors = new Map<string, { shape: readonly number[]; values: Float32Array }>()
      for (const [name, pair] of moments)
        for (const kind of ['m', 'v'] as const)
          tensors.set(`${kind}.${name}`, {
            shape: pair[kind].shape,
            values: Float32Array.from(await pair[kind].data()),
          })
      return { step: taken, tensors }
    },
    importState({ step, tensors }) {
      for (const [key, { shape }] of tensors) checkMoment(params, key, shape, tensors)
      reset()
      taken = step
      for (const [key, m] of tensors) {
        if (!key.startsWith('m.')) continue
        const v = tensors.get(`v.${key.slice(2)}`)!
        moments.set(key.slice(2), { m: variable(m.values, m.shape), v: variable(v.values, v.shape) })
      }
    },
    dispose: reset,
  }
}

/** Checks a moment's shape. The kernel uses the weight's size for both moments: a smaller moment would be overrun. */
function checkMoment(
  params: Params,
  key: string,
  shape: readonly number[],
  tensors: OptimizerState['tensors'],
): void {
  const [, kind, name = ''] = /^([mv])\.(.+)$/s.exec(key) ?? []
  const refuse = (what: string): never => {
    throw new RlError(`the optimiser's state has ${key} ${what}`, {
      code: 'model.optimizer',
      hint: 'without optimizer.safetensors in its folder the model starts from fresh moments',
    })
  }
  const value = params.get(name) ?? refuse('of no weight of this model')
  if (shape.join() !== value.shape.join()) refuse(`of shape [${shape}], its weight has [${value.shape}]`)
  if (!tensors.has(`${kind === 'm' ? 'v' : 'm'}.${name}`)) refuse('without its other moment')
}

/** Updates m, v and the weight in place, in step number `step` (1, 2, ...). */
function adamStep(
  value: tf.Variable,
  gradient: tf.Tensor,
  { m, v }: { readonly m: tf.Variable; readonly v: tf.Variable },
  scale: number,
  step: number,
  { learningRate, beta1, beta2, epsilon, weightDecay }: AdamOptions,
): void {
  const size = learningRate / (1 - beta1 ** step)
  const root = 1 / Math.sqrt(1 - beta2 ** step)
  const decay = learningRate * weightDecay
  const heap = activeHeap()
  if (heap) {
    const [p, g] = [heap.pointer(value), heap.pointer(gradient)]
    const [first, second] = [heap.pointer(m), heap.pointer(v)]
    heap.kernels.adamw(p, g, first, second, value.size, scale, beta1, beta2, size, root, epsilon, decay)
    return
  }
  tf.tidy(() => {
    const g = gradient.mul(scale)
    m.assign(m.mul(beta1).add(g.mul(1 - beta1)))
    v.assign(v.mul(beta2).add(g.square().mul(1 - beta2)))
    const move = m.mul(size).div(v.sqrt().mul(root).add(epsilon))
    value.assign(value.mul(1 - decay).sub(move))
  })
}

/** Returns the sum of the squares of all gradients, in float64 if the backend has it. */
export async function squaredNorm(gradients: Iterable<tf.Tensor>): Promise<number> {
  const heap = activeHeap()
  let total = 0
  if (heap) {
    for (const gradient of gradients) total += heap.kernels.sumSquares(heap.pointer(gradient), gradient.size)
    return total
  }
  for (const gradient of gradients) {
    total += await takeScalar(tf.tidy(() => gradient.square().sum()))
  }
  return total
}
