import type { BackendWasm } from '@tensorflow/tfjs-backend-wasm'
import * as tf from '../../../tensorflow/tensorflow.ts'
import { type Heap, openHeap } from '../kernels/heap.ts'
import { registerWasmKernels } from '../kernels/register.ts'

let opened: Heap | undefined

/** Starts the WebAssembly backend with the project's kernels, once. */
export async function prepareWasm(): Promise<Heap> {
  await import('@tensorflow/tfjs-backend-wasm')
  await tf.setBackend('wasm')
  if (!opened) {
    opened = openHeap(tf.backend() as BackendWasm)
    registerWasmKernels(opened)
  }
  return opened
}

/** Returns the heap if WebAssembly is the backend in use. Fused paths work on it directly. */
export function activeHeap(): Heap | undefined {
  return tf.getBackend() === 'wasm' ? opened : undefined
}
