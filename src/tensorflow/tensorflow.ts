/**
 * TensorFlow.js as this project uses it: the core with the gradients that its losses need and with operations as methods
 * of a tensor. The whole `@tensorflow/tfjs` would bring both, and 240 MB that nothing here uses.
 */
import * as core from '@tensorflow/tfjs-core'
import type {} from '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops.d.ts'
import { registerGradients } from './gradients.ts'

export * from '@tensorflow/tfjs-core'

/** `tensor.mul(x)` is `mul(tensor, x)`, and so for every operation: TensorFlow.js ends their inner names so. */
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
