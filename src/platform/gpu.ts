/**
 * Detects a graphics processor that no installed backend uses, and names the command that would change that.
 */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Machine, THIS_MACHINE } from './machine.ts'

export type Gpu = {
  /** NVIDIA's driver is installed. */
  readonly nvidia: boolean
  /** A driver draws on hardware through Vulkan, Metal or Direct3D 12. WebGPU needs one. */
  readonly webgpu: boolean
}

const VULKAN_FOLDERS = ['/usr/share/vulkan/icd.d', '/etc/vulkan/icd.d', '/usr/local/share/vulkan/icd.d']
/** lavapipe draws on the processor, and is slower than every other backend. */
const SOFTWARE = /^lvp_/

export function findGpu(machine: Machine = THIS_MACHINE, list: typeof namesIn = namesIn): Gpu {
  const { platform, env, exists } = machine
  if (platform === 'darwin') return { nvidia: false, webgpu: true }
  if (platform === 'win32')
    return {
      nvidia: exists(join(env.SystemRoot ?? 'C:\\Windows', 'System32', 'nvidia-smi.exe')),
      webgpu: true,
    }
  const drivers = VULKAN_FOLDERS.flatMap((folder) => list(folder)).filter((name) => !SOFTWARE.test(name))
  const device = exists('/dev/nvidia0') || list('/dev/dri').some((name) => name.startsWith('renderD'))
  return { nvidia: exists('/dev/nvidia0'), webgpu: device && drivers.length > 0 }
}

/** An optional peer of package.json. Without --save-peer npm 11 installs nothing of it. */
const install = (name: string) => `npm install --no-save --save-peer ${name}`

/**
 * Returns advice that would make local models faster, or null. `webgpu` comes first: it is one package
 * without further libraries. tfjs-node-gpu needs CUDA and cuDNN, and exists for x64 on Linux and Windows
 * alone.
 * @param inUse the backend that was chosen
 * @param refusal why webgpu was passed over. Null if it was not tried.
 */
export function gpuAdvice(
  gpu: Gpu,
  inUse: string,
  machine: Machine = THIS_MACHINE,
  refusal: string | null = null,
): string | null {
  if (inUse === 'webgpu' || inUse === 'tensorflow-gpu') return null
  if (gpu.webgpu && refusal !== null && !refusal.startsWith("Cannot find package 'webgpu'")) {
    const why = machine.platform === 'linux' ? '; vulkaninfo --summary (vulkan-tools) tells more' : ''
    return `a graphics processor is here, and webgpu cannot use it${why}`
  }
  if (gpu.webgpu) return `a graphics processor is here; to train on it: ${install('webgpu@0.6.2')}`
  if (!gpu.nvidia) return null
  const driverless = `an NVIDIA GPU is here without a Vulkan driver; with one: ${install('webgpu@0.6.2')}`
  if (machine.arch !== 'x64') return driverless
  return `${driverless}; with CUDA 11 and cuDNN 8: ${install('@tensorflow/tfjs-node-gpu@4.22.0')}`
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
