import { RlError } from '../../../errors.ts'

type Adapter = {
  readonly info?: {
    readonly vendor?: string
    readonly architecture?: string
    readonly device?: string
    readonly description?: string
  }
  readonly isFallbackAdapter?: boolean
  readonly limits?: { readonly maxStorageBufferBindingSize?: number }
}

/** One instance for the thread's life. If it were collected, its device would hang or end the process. */
let gpu: ReturnType<typeof import('webgpu').create> | undefined

/**
 * Gives Node a `navigator.gpu` from the `webgpu` package (Dawn) and registers the TensorFlow.js backend.
 * @param allowSoftware whether to accept a CPU rasteriser, which is slower than every other backend
 * @returns the adapter's name, and the most bytes of one buffer
 * @throws RlError `backend.missing` if the package or an adapter is missing, `backend.software` if only a software
 * adapter exists and is not allowed
 */
export async function prepareWebgpu(
  allowSoftware: boolean,
): Promise<{ readonly name: string; readonly mostTensorBytes: number | null }> {
  const { create, globals } = await import('webgpu')
  Object.assign(globalThis, globals)
  gpu ??= create([])
  const navigator = (globalThis as { navigator?: object }).navigator ?? {}
  Object.defineProperty(navigator, 'gpu', { value: gpu, configurable: true })
  Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true })
  const adapter = (await gpu.requestAdapter({ powerPreference: 'high-performance' })) as Adapter | null
  if (!adapter)
    throw new RlError('WebGPU finds no adapter', {
      code: 'backend.missing',
      hint: 'a Vulkan driver is needed',
    })
  const { vendor, architecture, device, description } = adapter.info ?? {}
  const name = [vendor, architecture, device, description].filter(Boolean).join(' ') || 'unnamed adapter'
  if (!allowSoftware && (adapter.isFallbackAdapter || /llvmpipe|lavapipe|swiftshader|software/i.test(name)))
    throw new RlError(`${name} is a software adapter`, {
      code: 'backend.software',
      hint: 'force webgpu to use it',
    })
  await import('@tensorflow/tfjs-backend-webgpu')
  return { name, mostTensorBytes: adapter.limits?.maxStorageBufferBindingSize ?? null }
}
