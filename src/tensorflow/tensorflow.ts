/**
 * TensorFlow.js as this project uses it: the core with the gradients that its losses need, and with operations as methods of a tensor.
 * The whole `@tensorflow/tfjs` would bring both, and 240 MB that nothing here uses.
 */
import * as core from '@tensorflow/tfjs-core'
import type {} from '@tensorflow/tfjs-core/dist/public/chained_ops/register_all_chained_ops.d.ts'
import { registerGradients } from './gradients.ts'

export * from '@tensorflow/tfjs-core'

/** Makes every operation a method: `tensor.mul(x)` is `mul(tensor, x)`. TensorFlow.js ends the inner names of operations with `__op`. */
for (const [name, operation] of Object.entries(core))
  if (typeof operation === 'function' && operation.name.endsWith('__op') && !(name in core.Tensor.prototype))
    Object.defineProperty(core.Tensor.prototype, name, {
      configurable: true,
      writable: true, // The union package below tfjs-node sets them again.
      value(this: core.Tensor, ...rest: unknown[]) {
        return (operation as (...operands: unknown[]) => unknown)(this, ...rest)
      },
    })

registerGradients()
