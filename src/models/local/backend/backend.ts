import util from 'node:util'
import { explain, RlError } from '../../../errors.ts'
import * as tf from '../../../tensorflow/tensorflow.ts'
import { openBlas } from './blas.ts'
import { selfTest } from './self-test.ts'
import { prepareWasm } from './wasm.ts'
import { prepareWebgpu } from './webgpu.ts'

/**
 * The tensor backends, best first. tfjs-node without a GPU is slower than WebAssembly, and its rounding of a row depends on the batch
 * (docs/platforms.md).
 */
export const BACKENDS = ['webgpu', 'tensorflow-gpu', 'wasm-blas', 'wasm', 'tensorflow', 'cpu'] as const
export type BackendName = (typeof BACKENDS)[number]
export type BackendChoice = 'auto' | BackendName

export type OpenedBackend = {
  readonly name: BackendName
  /** The library, the adapter or the number of threads. */
  readonly detail: string
  /** Most bytes of one tensor. Null if only the memory limits it. */
  readonly mostTensorBytes: number | null
  /** The better backends that were tried, and why they are not used. */
  readonly passedOver: readonly { readonly name: BackendName; readonly reason: string }[]
}

export type BackendOptions = {
  /** Threads of the native BLAS. With 1, the default, the other cores stay free for rollouts and actors. */
  readonly threads?: number
}

/**
 * Opens the named tensor backend, or the best one that passes the numeric self-test. It becomes the present backend of this thread.
 * @throws RlError `backend.missing` or `backend.self-test` if the named backend cannot be used; it is not replaced by another
 */
export async function openBackend(
  choice: BackendChoice = 'auto',
  { threads = 1 }: BackendOptions = {},
): Promise<OpenedBackend> {
  const passedOver: { name: BackendName; reason: string }[] = []
  for (const name of choice === 'auto' ? BACKENDS : [choice]) {
    try {
      const prepared = await prepare(name, choice === name, threads)
      await tf.ready()
      const wrong = await selfTest()
      if (!wrong) return { name, ...prepared, passedOver }
      throw new RlError(`the self-test failed: ${wrong}`, {
        code: 'backend.self-test',
        hint: 'choose another backend',
      })
    } catch (error) {
      if (choice === name)
        throw new RlError(`backend ${name} cannot be used: ${firstLine(error)}`, {
          code: error instanceof RlError ? error.code : 'backend.missing',
          hint: (error instanceof RlError && error.hint) || 'install its package, or choose another backend',
          cause: error,
        })
      passedOver.push({ name, reason: firstLine(error) })
    }
  }
  throw new RlError(
    `no tensor backend works: ${passedOver.map((p) => `${p.name} (${p.reason})`).join('; ')}`,
    {
      code: 'backend.missing',
    },
  )
}

/** Returns one line for people: the backend, and why no better one is used. */
export function describeBackend({ name, detail, passedOver }: OpenedBackend): string {
  const others = passedOver.map((p) => `${p.name}: ${p.reason}`).join('; ')
  return `${name} (${detail})${others ? `; passed over ${others}` : ''}`
}

async function prepare(
  name: BackendName,
  forced: boolean,
  threads: number,
): Promise<Pick<OpenedBackend, 'detail' | 'mostTensorBytes'>> {
  if (name !== 'webgpu') return { detail: await prepareOther(name, threads), mostTensorBytes: null }
  const adapter = await prepareWebgpu(forced)
  await activate('webgpu')
  return { detail: adapter.name, mostTensorBytes: adapter.mostTensorBytes }
}

async function prepareOther(name: Exclude<BackendName, 'webgpu'>, threads: number): Promise<string> {
  switch (name) {
    case 'tensorflow-gpu': {
      const detail = await prepareTensorflow('@tensorflow/tfjs-node-gpu')
      if (!usesGpu(tf.backend()))
        throw new RlError('there is no GPU', {
          code: 'backend.no-gpu',
          hint: 'CUDA 11 and cuDNN 8 are needed',
        })
      return detail
    }
    case 'tensorflow':
      return await prepareTensorflow('@tensorflow/tfjs-node')
    case 'wasm-blas': {
      const heap = await prepareWasm()
      const blas = await openBlas(heap, threads)
      heap.gemm = blas.gemm
      return blas.detail
    }
    case 'wasm': {
      const heap = await prepareWasm()
      heap.gemm = heap.ownGemm
      return 'SIMD, 1 thread'
    }
    case 'cpu':
      await import('@tensorflow/tfjs-backend-cpu')
      await activate('cpu')
      Object.assign(tf.backend(), { firstUse: false }) // No advice on the terminal to install another backend.
      return 'plain JavaScript'
  }
}

/** tfjs-node loads a native library at import. It still calls functions of `util` that are deprecated or, since Node 23, gone. */
async function prepareTensorflow(packageName: string): Promise<string> {
  Object.assign(util, { isNullOrUndefined: (value: unknown) => value == null, isArray: Array.isArray })
  let module: { readonly version?: { readonly 'tfjs-node'?: string } }
  try {
    module = await import(packageName)
  } catch (error) {
    if (!/tfjs_binding\.node\) can not be found/.test(explain(error))) throw error
    throw new RlError(`${packageName} is installed without its native binding`, {
      code: 'backend.missing',
      hint: 'docs/platforms.md says how to build it',
      cause: error,
    })
  }
  await activate('tensorflow')
  const { binding } = tf.backend() as { binding?: { readonly TF_Version?: string } }
  return `${packageName} ${module.version?.['tfjs-node'] ?? ''}, libtensorflow ${binding?.TF_Version ?? '?'}`
}

/** Without a GPU tfjs-node-gpu computes on the processor, and this property says so. */
export function usesGpu(backend: object): boolean {
  return 'isUsingGpuDevice' in backend && backend.isUsingGpuDevice === true
}

async function activate(name: string): Promise<void> {
  if (!(await tf.setBackend(name)))
    throw new RlError(`TensorFlow.js cannot start ${name}`, { code: 'backend.missing' })
}

function firstLine(error: unknown): string {
  const [line = ''] = explain(error).split(/\n| imported from /)
  return line
}
