/**
 * Models of real size through the port, in a process of their own, beside PyTorch by turns: opening, decoding of 32 sequences,
 * prefill of 32 x 128 tokens and an update of an adapter of rank 16 on 512 tokens. Ratios are of processor time.
 *
 *   released.ts qwen05 | smollm2
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readModelFolder } from '../../../src/models/local/checkpoint.ts'
import type { ModelConfig } from '../../../src/models/local/config.ts'
import { type LocalModelFace, openLocalModel } from '../../../src/models/local/model.ts'
import type { TrainingSample } from '../../../src/models/port.ts'
import { rng, seedOf } from '../../../src/random.ts'
import { median, report } from '../report.ts'
import { writeRandomFolder } from './random-folder.ts'
import { openTorch, type Timing, type Torch, timed } from './torch.ts'

const SMOLLM2 = process.env.BENCH_SMOLLM2 ?? '../shared/data/smollm2/SmolLM2-135M-Instruct.Q4_1.gguf'
const RANK = 16
const TARGETS = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']
const ROUNDS = 3

const BATCH = 32
const STEPS = 24
const PREFILL = 128
const SAMPLE = 512

const randomTokens = (vocab: number, length: number, path: number) => {
  const { below } = rng([path, 2])
  return Int32Array.from({ length }, () => below(vocab))
}

/** What both are asked for; every round has other tokens. */
function localWork(model: LocalModelFace, { vocabSize }: ModelConfig, round: number) {
  const generate = (length: number, maxTokens: number, purpose: number) =>
    model.generate(
      Array.from({ length: BATCH }, (_, i) => ({
        prompt: { tokens: randomTokens(vocabSize, length, 1000 * round + 100 * purpose + i) },
        ...{ maxTokens, temperature: 1, seed: seedOf(round, purpose, i) },
      })),
    )
  const tokens = randomTokens(vocabSize, SAMPLE, round)
  const sample: TrainingSample = {
    id: String(round),
    tokens,
    mask: Uint8Array.from(tokens, (_, t) => (t > 0 ? 1 : 0)),
    advantages: new Float32Array(SAMPLE).fill(1),
    logprobs: new Float32Array(SAMPLE),
  }
  return {
    decode: () => timed(BATCH * STEPS, () => generate(1, STEPS, 1)),
    prefill: () => timed(BATCH * PREFILL, () => generate(PREFILL, 1, 2)),
    lora: () =>
      timed(SAMPLE, () =>
        model.update([sample], {
          ...{ loss: { kind: 'supervised' }, learningRate: 1e-4, clipNorm: 1, updates: 1 },
          ...{ tokenBudget: SAMPLE, seed: [round, 1], klLimit: null },
        }),
      ),
  }
}

const TORCH_WORK = {
  decode: { op: 'sample', batch: BATCH, steps: STEPS },
  prefill: { op: 'prefill', batch: BATCH, length: PREFILL },
  lora: { op: 'train', batch: 1, length: SAMPLE, times: 1 },
} as const
const PARTS = ['decode', 'prefill', 'lora'] as const

type Measured = { readonly ours: Timing; readonly torch: Timing | null }

/** Medians by processor time, after one round that warms both up. */
async function measure(
  folder: string,
  config: ModelConfig,
): Promise<Record<(typeof PARTS)[number], Measured>> {
  const model = await openLocalModel({
    ...{ folder, cacheBytes: 512e6, contextTokens: 1024, trains: true },
    lora: { rank: RANK, alpha: 2 * RANK, targets: TARGETS, seed: 1 },
  })
  const torch: Torch | null = await openTorch(config, { threads: 1, lora: RANK })
  const ours = { decode: [] as Timing[], prefill: [] as Timing[], lora: [] as Timing[] }
  const theirs = { decode: [] as Timing[], prefill: [] as Timing[], lora: [] as Timing[] }
  for (let round = 0; round <= ROUNDS; round++)
    for (const part of PARTS) {
      const mine = await localWork(model, config, round)[part]()
      const its = await torch?.run(TORCH_WORK[part])
      if (round === 0) continue
      ours[part].push(mine)
      if (its) theirs[part].push(its)
    }
  await model.close()
  torch?.close()
  const middle = (all: readonly Timing[]): Timing => ({
    seconds: median(all.map(({ seconds }) => seconds)),
    cpu: median(all.map(({ cpu }) => cpu)),
    tokens: all[0].tokens,
  })
  const part = (name: (typeof PARTS)[number]): Measured => ({
    ours: middle(ours[name]),
    torch: theirs[name].length > 0 ? middle(theirs[name]) : null,
  })
  return { decode: part('decode'), prefill: part('prefill'), lora: part('lora') }
}

const row = (name: string, value: number, unit: string, goal: string | null, n: number, note: string) =>
  report({ suite: 'model', name, value, unit, goal, n, note })

const perCpu = ({ tokens, cpu }: Timing) => tokens / cpu

async function qwen05(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'rl-bench-qwen05-'))
  try {
    const config = await writeRandomFolder(folder, 'Qwen2.5-0.5B')
    const opening = await timed(1, async () => {
      const model = await openLocalModel({ folder, contextTokens: 1024 })
      await model.close()
    })
    row('qwen05_open_s', opening.seconds, 's', '< 30', 1, `${opening.cpu.toFixed(1)} CPU s`)
    const measured = await measure(folder, config)
    for (const part of PARTS) {
      const { ours, torch } = measured[part]
      const goal = part === 'lora' ? '>= 0.7' : '>= 0.8'
      const told = `${perCpu(ours).toFixed(1)} tokens a CPU second, ${ours.cpu.toFixed(1)} CPU s`
      const theirs = torch && `PyTorch ${perCpu(torch).toFixed(1)}, ${torch.cpu.toFixed(1)} CPU s`
      if (torch)
        row(`qwen05_${part}_vs_torch`, torch.cpu / ours.cpu, 'ratio', goal, ROUNDS, `${told}; ${theirs}`)
      else row(`qwen05_${part}_tok_cpu_s`, perCpu(ours), 'tokens/CPU s', null, ROUNDS, told)
    }
    const gigabytes = process.resourceUsage().maxRSS / 2 ** 20
    row('qwen05_rss_gb', gigabytes, 'GB', '< 8', 1, 'highest of the process')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function smollm2(): Promise<void> {
  if (!existsSync(SMOLLM2)) {
    process.stderr.write(`SKIP smollm2: ${SMOLLM2} is not there (BENCH_SMOLLM2 names it)\n`)
    return
  }
  const { config } = await readModelFolder(SMOLLM2)
  const { decode, lora } = await measure(SMOLLM2, config)
  const told = ({ ours, torch }: Measured) =>
    `${perCpu(ours).toFixed(1)} tokens a CPU second${torch ? `; PyTorch ${perCpu(torch).toFixed(1)}` : ''}`
  const speed = ({ ours }: Measured) => ours.tokens / ours.seconds
  row('smollm2_sample_tok_s', speed(decode), 'tokens/s', null, ROUNDS, `batch ${BATCH}; ${told(decode)}`)
  row('smollm2_train_tok_s', speed(lora), 'tokens/s', null, ROUNDS, `LoRA of rank ${RANK}; ${told(lora)}`)
}

await { qwen05, smollm2 }[process.argv[2] as 'qwen05' | 'smollm2']()
process.exit(0)
