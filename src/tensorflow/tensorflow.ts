/**
 * The part of TensorFlow.js that this project uses: the core, the gradients of its losses, and operations as methods of
 * a tensor. The whole `@tensorflow/tfjs` has both, but also 240 MB of unused files.
 */
import * as core from '@tensorflow/tfjs-core'
import type {} from '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops.d.ts'
import { registerGradients } from './gradients.ts'

export * from '@tensorflow/tfjs-core'

/**
 * Lets `tensor.mul(x)` stand for `mul(tensor, x)`, for every operation. TensorFlow.js marks operations by this suffix.
 */
for (const [name, operation] of Object.entries(core))
  if (typeof operation === 'function' && operation.name.endsWith('__op') && !(name in core.Tensor.prototype))
    Object.defineProperty(core.Tensor.prototype, name, {
      configurable: true,
      writable: true, // the union package below tfjs-node sets them again
      value(this: core.Tensor, ...rest: unknown[]) {
        return (operation as (...operands: unknown[]) => unknown)(this, ...rest)
      },
    })

registerGradients()
