/**
 * integrations/torch: the same batch gives the weights that our own trainer gives. RL_TEST_PYTHON names a Python that has its
 * packages (integrations/torch/constraints.txt); SKIP where they are missing.
 */
import { join } from 'node:path'
import { test } from 'uvu'
import { LORA_TARGETS } from '../src/models/local/lora-targets.ts'
import { type LocalModelFace, openLocalModel } from '../src/models/local/model.ts'
import { type PresetName, presetConfig } from '../src/models/local/presets.ts'
import { createTokenizer } from '../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../src/models/local/word-tokenizer.ts'
import type { TrainingSample } from '../src/models/port.ts'
import { rng } from '../src/random.ts'
import { temporaryFolder } from './support/run.ts'
import { compare, lacksTrainer, sampleOf, type Version } from './support/torch-trainer.ts'

/**
 * What of an update may differ, as a share of its length: float32 sums are added up in another order, and Adam turns the sign of a
 * gradient that is nearly 0 into a whole step.
 */
const TOLERANCE = 3e-4

const root = temporaryFolder()
const files = trainWordTokenizer({
  words: ['go to the cabinet and open it', 'look around the kitchen', 'take an apple from the fridge'],
})

async function writeBase(name: PresetName, folder: string): Promise<void> {
  const tokenizer = createTokenizer(files)
  const { size: vocabSize, endToken } = tokenizer
  const config = presetConfig(name, { vocabSize, contextTokens: 128, endToken })
  const model = await openLocalModel({ config, tokenizer: files, seed: 5, backend: 'wasm' })
  await model.save(folder)
  await model.close()
}

/** Sequences of different lengths; some under a restriction. */
const batchOf =
  (seed: number) =>
  async (model: LocalModelFace): Promise<TrainingSample[]> => {
    const random = rng([seed, 7])
    const samples: TrainingSample[] = []
    for (let i = 0; i < 13; i++) {
      const prompt = 2 + random.below(9)
      const length = prompt + 1 + random.below(24)
      const tokens = Int32Array.from({ length }, () => random.below(model.tokenizer.size))
      const sequence = { id: `s/${i}#0`, tokens, prompt, restricted: i % 4 === 0 }
      samples.push(await sampleOf(model, sequence, random))
    }
    return samples
  }

/** As a run's defaults have it, and then what an update can be told beside: of the entropies, the samples' ratios, the upper layer alone. */
function usual(lora: boolean): Version[] {
  const training = { klLimit: null, weightDecay: 0.01, dualClip: 3, tokenBudget: 64 }
  const masks = { entropyWeight: 0.02, entropyShare: 0.6, offPolicyLimit: 0.05 }
  return [
    { training, samples: batchOf(1), tolerance: TOLERANCE },
    {
      training: { ...training, ...masks, layers: lora ? 1 : null },
      ...{ samples: batchOf(2), tolerance: 2 * TOLERANCE },
    },
  ]
}

async function compareTiny(
  shape: PresetName,
  role: 'policy' | 'reward-model',
  lora: boolean,
  { processes = 1, versions = usual(lora) }: { processes?: number; versions?: readonly Version[] } = {},
): Promise<void> {
  const name = `${shape}-${role}-${processes}`
  const base = join(root, `${name}-base`)
  await writeBase(shape, base)
  const adapter = lora ? { rank: 4, alpha: 8, targets: [...LORA_TARGETS] } : null
  await compare({ name, base, role, adapter, processes, versions })
}

const lacking = lacksTrainer()
if (lacking)
  test('the trainer in PyTorch', () => {
    console.log(`SKIP the trainer in PyTorch: ${lacking}`)
  })
else {
  test('whole weights come out as from our own trainer, version after version, through a crash', () =>
    compareTiny('nano', 'policy', false))
  test('so do those of the other shape', () => compareTiny('tiny', 'policy', false))
  test('an adapter of the judge comes out as from our own trainer', () =>
    compareTiny('nano', 'reward-model', true))
  test('two processes that share the weights give the same', async () => {
    await compareTiny('nano', 'policy', false, { processes: 2 })
    await compareTiny('nano', 'reward-model', true, { processes: 2 })
  })
}

test.run()
