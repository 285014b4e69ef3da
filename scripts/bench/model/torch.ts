/** PyTorch as a peer of the same run: a process of its own that answers each JSON line with one. */
import { spawn, spawnSync } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { ModelConfig } from '../../../src/models/local/config.ts'

export type Timing = { readonly seconds: number; readonly cpu: number; readonly tokens: number }

export type Torch = {
  /** Device that computes, in PyTorch's words. */
  readonly device: string
  /** A timing for each piece of work. */
  readonly run: (work: object) => Promise<Timing>
  readonly close: () => void
}

export type TorchOptions = {
  readonly threads: number
  /** Rank of an adapter on all linear layers, which alone is trained. */
  readonly lora?: number
  /** Compiles with torch.compile. */
  readonly compile?: boolean
  /** Default: the processor. */
  readonly device?: 'cpu' | 'cuda'
  /** Default: float32. */
  readonly dtype?: 'float32' | 'bfloat16'
}

const python = process.env.BENCH_PYTHON || 'python3'

/** Whether that Python can import a module, and a condition of it holds. */
export function pythonHas(module: string, condition = 'True'): boolean {
  return spawnSync(python, ['-c', `import sys, ${module}; sys.exit(not (${condition}))`]).status === 0
}

/**
 * Opens PyTorch in the Python that BENCH_PYTHON names (default `python3`). If it has no torch, prints a line
 * on standard error and returns null. Its threads wait passively: idle threads cost nothing.
 */
export async function openTorch(config: ModelConfig, options: TorchOptions): Promise<Torch | null> {
  if (!pythonHas('torch')) {
    process.stderr.write(`${python} has no torch: no ratios (BENCH_PYTHON names a Python)\n`)
    return null
  }
  const threads = String(options.threads)
  const child = spawn(python, [new URL('torch_model.py', import.meta.url).pathname], {
    env: {
      ...process.env,
      OMP_NUM_THREADS: threads,
      OPENBLAS_NUM_THREADS: threads,
      OMP_WAIT_POLICY: 'passive',
    },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const ask = async (request: object) => {
    child.stdin.write(`${JSON.stringify(request)}\n`)
    const { value, done } = await lines.next()
    if (done) throw new Error('torch_model.py ended')
    return JSON.parse(value)
  }
  const { device } = await ask({ op: 'open', config, ...options })
  return { device, run: ask, close: () => child.stdin.end() }
}

/** Wall and processor time of this process, whose threads count. */
export async function timed(tokens: number, run: () => Promise<unknown>): Promise<Timing> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await run()
  const used = process.cpuUsage(cpu)
  return { seconds: (performance.now() - start) / 1000, cpu: (used.user + used.system) / 1e6, tokens }
}
