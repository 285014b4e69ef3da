/** A local model through the port beside PyTorch by turns: decoding, prefill, and an update of an adapter. */
import type { BackendName } from '../../../src/models/local/backend/backend.ts'
import type { ModelConfig } from '../../../src/models/local/config.ts'
import { type LocalModelFace, openLocalModel } from '../../../src/models/local/model.ts'
import type { TrainingSample } from '../../../src/models/port.ts'
import { rng, seedOf } from '../../../src/random.ts'
import { median } from '../report.ts'
import { type Timing, type Torch, timed } from './torch.ts'

export const RANK = 16
export const ROUNDS = 3
export const BATCH = 32
export const PARTS = ['decode', 'prefill', 'lora'] as const
export type Part = (typeof PARTS)[number]

const TARGETS = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_proj', 'up_proj', 'down_proj']
const PREFILL = 128
const SAMPLE = 512

/** Names of rows: the best backend has the plain ones. */
export const prefixOf = (backend: BackendName) => (backend === 'wasm-blas' ? '' : `plain_${backend}_`)

export type Measured = {
  readonly ours: Timing
  /** [peers], in their order. */
  readonly theirs: readonly Timing[]
}

/**
 * Returns medians by round, after one round that warms all of them up.
 * @param steps number of tokens that are decoded of each sequence
 */
export async function measure(
  folder: string,
  config: ModelConfig,
  {
    backend,
    steps,
    peers,
  }: { readonly backend: BackendName; readonly steps: number; readonly peers: readonly Torch[] },
): Promise<Record<Part, Measured>> {
  const model = await openLocalModel({
    folder,
    backend,
    cacheBytes: 512e6,
    contextTokens: 1024,
    trains: true,
    lora: { rank: RANK, alpha: 2 * RANK, targets: TARGETS, seed: 1 },
  })
  const torchWork = {
    decode: { op: 'sample', batch: BATCH, steps },
    prefill: { op: 'prefill', batch: BATCH, length: PREFILL },
    lora: { op: 'train', batch: 1, length: SAMPLE, times: 1 },
  }
  const timings = (): Record<Part, Timing[]> => ({ decode: [], prefill: [], lora: [] })
  const ours = timings()
  const theirs = peers.map(timings)
  for (let round = 0; round <= ROUNDS; round++)
    for (const part of PARTS) {
      const mine = await localWork(model, config, steps, round)[part]()
      if (round > 0) ours[part].push(mine)
      for (const [i, peer] of peers.entries()) {
        const its = await peer.run(torchWork[part])
        if (round > 0) theirs[i][part].push(its)
      }
    }
  await model.close()
  const of = (part: Part): Measured => ({
    ours: middle(ours[part]),
    theirs: theirs.map((all) => middle(all[part])),
  })
  return { decode: of('decode'), prefill: of('prefill'), lora: of('lora') }
}

function middle(all: readonly Timing[]): Timing {
  return {
    seconds: median(all.map(({ seconds }) => seconds)),
    cpu: median(all.map(({ cpu }) => cpu)),
    tokens: all[0].tokens,
  }
}

/** Work of one round for both sides. Every round has other tokens. */
function localWork(model: LocalModelFace, { vocabSize }: ModelConfig, steps: number, round: number) {
  const generate = (length: number, maxTokens: number, purpose: number) =>
    model.generate(
      Array.from({ length: BATCH }, (_, i) => ({
        prompt: { tokens: randomTokens(vocabSize, length, 1000 * round + 100 * purpose + i) },
        maxTokens,
        temperature: 1,
        seed: seedOf(round, purpose, i),
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
    decode: () => timed(BATCH * steps, () => generate(1, steps, 1)),
    prefill: () => timed(BATCH * PREFILL, () => generate(PREFILL, 1, 2)),
    lora: () =>
      timed(SAMPLE, () =>
        model.update([sample], {
          loss: { kind: 'supervised' },
          learningRate: 1e-4,
          clipNorm: 1,
          updates: 1,
          tokenBudget: SAMPLE,
          seed: [round, 1],
          klLimit: null,
        }),
      ),
  }
}

function randomTokens(vocab: number, length: number, path: number): Int32Array {
  const { below } = rng([path, 2])
  return Int32Array.from({ length }, () => below(vocab))
}
