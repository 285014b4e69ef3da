/**
 * Models of real size through the port, in a process of their own, alternating with PyTorch: opening,
 * decoding of 32 sequences, prefill of 32 x 128 tokens and an update of an adapter of rank 16 on 512 tokens.
 * On the processor ratios are of its time, one thread each. On a graphics processor rates are by the clock.
 *
 *   released.ts qwen05 | qwen3_06 | smollm2 | smollm2_plain | qwen05_gpu | llamacpp
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { explain } from '../../../src/errors.ts'
import { type BackendName, openBackend } from '../../../src/models/local/backend/backend.ts'
import { prepareWebgpu } from '../../../src/models/local/backend/webgpu.ts'
import type { ModelConfig } from '../../../src/models/local/config.ts'
import { openLocalModel } from '../../../src/models/local/model.ts'
import { readModelFolder } from '../../../src/models/local/model-folder.ts'
import { median, report } from '../report.ts'
import { openLlama } from './llamacpp.ts'
import { BATCH, type Measured, measure, PARTS, type Part, prefixOf, RANK, ROUNDS } from './measure.ts'
import { type Shape, writeRandomFolder } from './random-folder.ts'
import { openTorch, pythonHas, type Timing, type Torch, type TorchOptions, timed } from './torch.ts'

const SMOLLM2 = process.env.BENCH_SMOLLM2 ?? '../shared/data/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf'
/** Tokens of each sequence: enough to be timed. */
const STEPS = { processor: 24, gpu: 128 }

const [, , wanted = ''] = process.argv
const isGpu = wanted.endsWith('_gpu')
/** The backend of all programs but those of a graphics processor. `_plain` asks for the one without BLAS. */
const backend = isGpu || wanted.endsWith('_plain') ? 'wasm' : await processorBackend()

const row = (name: string, value: number, unit: string, goal: string | null, n: number, note: string) =>
  report({ suite: 'model', name: `${isGpu ? '' : prefixOf(backend)}${name}`, value, unit, goal, n, note })

const perCpu = ({ tokens, cpu }: Timing) => tokens / cpu
const perSecond = ({ tokens, seconds }: Timing) => tokens / seconds

/** The best that computes on the processor: a graphics processor's work is in no processor time. */
async function processorBackend(): Promise<BackendName> {
  try {
    return (await openBackend('wasm-blas')).name
  } catch (error) {
    process.stderr.write(`${explain(error)}\n`)
    return 'wasm'
  }
}

async function withPeers<T>(
  config: ModelConfig,
  options: readonly TorchOptions[],
  run: (peers: readonly Torch[]) => Promise<T>,
): Promise<T> {
  const peers: Torch[] = []
  try {
    for (const one of options) {
      const torch = await openTorch(config, one)
      if (torch) peers.push(torch)
    }
    return await run(peers)
  } finally {
    for (const peer of peers) peer.close()
  }
}

async function onProcessor(folder: string, config: ModelConfig): Promise<Record<Part, Measured>> {
  return withPeers(config, [{ threads: 1, lora: RANK }], (peers) =>
    measure(folder, config, { backend, steps: STEPS.processor, peers }),
  )
}

async function withRandomFolder(
  shape: Shape,
  run: (folder: string, config: ModelConfig) => Promise<void>,
): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rl-bench-model-'))
  try {
    await run(folder, await writeRandomFolder(folder, shape))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function openingRow(name: string, folder: string): Promise<void> {
  const opening = await timed(1, async () => {
    const model = await openLocalModel({ folder, backend, contextTokens: 1024 })
    await model.close()
  })
  row(`${name}_open_s`, opening.seconds, 's', '< 30', 1, `${opening.cpu.toFixed(1)} CPU s`)
}

function memoryRow(name: string): void {
  const gigabytes = process.resourceUsage().maxRSS / 2 ** 20
  row(`${name}_rss_gb`, gigabytes, 'GB', '< 8', 1, 'highest of the process')
}

const toldByCpu = ({ ours, theirs: [torch] }: Measured) =>
  `${perCpu(ours).toFixed(1)} tokens a CPU second, ${ours.cpu.toFixed(1)} CPU s` +
  (torch ? `; PyTorch ${perCpu(torch).toFixed(1)}, ${torch.cpu.toFixed(1)} CPU s` : '')

/** A ratio to PyTorch for each part, or our own rate if there is no PyTorch. */
function partRows(name: string, measured: Record<Part, Measured>, goals: Record<Part, string>): void {
  for (const part of PARTS) {
    const { ours, theirs } = measured[part]
    const told = toldByCpu(measured[part])
    const [torch] = theirs
    if (torch) row(`${name}_${part}_vs_torch`, torch.cpu / ours.cpu, 'ratio', goals[part], ROUNDS, told)
    else row(`${name}_${part}_tok_cpu_s`, perCpu(ours), 'tokens/CPU s', null, ROUNDS, told)
  }
}

const qwen05 = () =>
  withRandomFolder('Qwen2.5-0.5B', async (folder, config) => {
    await openingRow('qwen05', folder)
    const goals = { decode: '>= 0.8', prefill: '>= 0.8', lora: '>= 0.7' }
    partRows('qwen05', await onProcessor(folder, config), goals)
    memoryRow('qwen05')
  })

const qwen306 = () =>
  withRandomFolder('Qwen3-0.6B', async (folder, config) => {
    await openingRow('qwen3_06', folder)
    const measured = await onProcessor(folder, config)
    for (const part of PARTS) {
      const { ours, theirs } = measured[part]
      const ratio = theirs.map(({ cpu }) => `, ${(cpu / ours.cpu).toFixed(2)} of it`).join('')
      const told = `${toldByCpu(measured[part])}${ratio}`
      row(`qwen3_06_${part}_tok_s`, perSecond(ours), 'tokens/s', null, ROUNDS, told)
    }
    memoryRow('qwen3_06')
  })

/** Returns null if SmolLM2 is not on this machine. */
async function onSmollm2(): Promise<Record<Part, Measured> | null> {
  if (!existsSync(SMOLLM2)) {
    process.stderr.write(`SKIP smollm2: ${SMOLLM2} is not there (BENCH_SMOLLM2 names it)\n`)
    return null
  }
  const { config } = await readModelFolder(SMOLLM2)
  return onProcessor(SMOLLM2, config)
}

async function smollm2(): Promise<void> {
  const measured = await onSmollm2()
  if (measured === null) return
  const { decode, lora } = measured
  const told = ({ ours, theirs: [torch] }: Measured) =>
    `${perCpu(ours).toFixed(1)} tokens a CPU second${torch ? `; PyTorch ${perCpu(torch).toFixed(1)}` : ''}`
  const { ours } = decode
  row('smollm2_sample_tok_s', perSecond(ours), 'tokens/s', null, ROUNDS, `batch ${BATCH}; ${told(decode)}`)
  const note = `LoRA of rank ${RANK}; ${told(lora)}`
  row('smollm2_train_tok_s', perSecond(lora.ours), 'tokens/s', null, ROUNDS, note)
}

async function smollm2Plain(): Promise<void> {
  const measured = await onSmollm2()
  if (measured !== null)
    partRows('smollm2', measured, { decode: '>= 0.8', prefill: '>= 0.8', lora: '>= 0.8' })
}

/** Returns the adapter's own name. If there is only a software adapter, prints why and returns null. */
async function graphicsProcessor(): Promise<string | null> {
  try {
    const { name } = await prepareWebgpu(false)
    await openBackend('webgpu')
    return name
  } catch (error) {
    process.stderr.write(`SKIP qwen05_gpu: ${explain(error).split('\n')[0]}\n`)
    return null
  }
}

/** Our backend computes in float32 there. PyTorch is measured in both, since people use bfloat16. */
const DTYPES = ['float32', 'bfloat16'] as const

async function qwen05Gpu(): Promise<void> {
  const adapter = await graphicsProcessor()
  if (adapter === null) return
  const cuda = pythonHas('torch', 'torch.cuda.is_available()')
  const options = cuda
    ? DTYPES.map((dtype) => ({ threads: 1, lora: RANK, device: 'cuda' as const, dtype }))
    : []
  await withRandomFolder('Qwen2.5-0.5B', (folder, config) =>
    withPeers(config, options, async (peers) => {
      const measured = await measure(folder, config, { backend: 'webgpu', steps: STEPS.gpu, peers })
      for (const part of PARTS) {
        const { ours, theirs } = measured[part]
        const told = theirs.map((torch, i) => {
          const ratio = (torch.seconds / ours.seconds).toFixed(2)
          return `; PyTorch eager ${DTYPES[i]} ${perSecond(torch).toFixed(0)} on ${peers[i].device}, ratio ${ratio}`
        })
        const note = `${adapter}${told.length > 0 ? told.join('') : '; no PyTorch with CUDA beside it'}`
        row(`qwen05_gpu_${part}_tok_s`, perSecond(ours), 'tokens/s', null, ROUNDS, note)
      }
    }),
  )
}

/** One sequence, as who chats alone decodes. Ours computes in float32, llama.cpp with weights of F16. */
const llamacpp = () =>
  withRandomFolder('Qwen2.5-0.5B', async (folder, config) => {
    const peer = await openLlama(folder, config)
    if (peer === null) return
    const model = await openLocalModel({ folder, backend, contextTokens: 1024 })
    const ours: Timing[] = []
    const theirs: Timing[] = []
    for (let round = 0; round <= ROUNDS; round++) {
      const mine = await timed(STEPS.processor, () =>
        model.generate([
          {
            prompt: { tokens: Int32Array.of(1) },
            maxTokens: STEPS.processor,
            temperature: 1,
            seed: [round, 1],
          },
        ]),
      )
      const its = await peer.decode(STEPS.processor)
      if (round > 0) {
        ours.push(mine)
        theirs.push(its)
      }
    }
    await model.close()
    await peer.close()
    const rates = [ours, theirs].map((all) => median(all.map(perCpu)))
    const [mine = 0, its = 0] = rates
    const told = `batch 1; ${mine.toFixed(1)} tokens a CPU second, llama.cpp ${its.toFixed(1)} (F16)`
    row('qwen05_decode_vs_llamacpp', mine / its, 'ratio', '>= 0.8', ROUNDS, told)
  })

const PROGRAMS: Readonly<Record<string, () => Promise<void>>> = {
  qwen05,
  smollm2,
  smollm2_plain: smollm2Plain,
  qwen3_06: qwen306,
  qwen05_gpu: qwen05Gpu,
  llamacpp,
}
await PROGRAMS[wanted]()
process.exit(0)
