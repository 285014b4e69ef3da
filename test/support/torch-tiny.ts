/** Tiny models and batches with which the trainer of integrations/torch is compared. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { LORA_TARGETS } from '../../src/models/local/lora-targets.ts'
import { type LocalModelFace, openLocalModel } from '../../src/models/local/model.ts'
import { type PresetName, presetConfig } from '../../src/models/local/presets.ts'
import { createTokenizer } from '../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../src/models/local/word-tokenizer.ts'
import type { TrainingSample } from '../../src/models/port.ts'
import { rng } from '../../src/random.ts'
import { temporaryFolder } from './run.ts'
import { type Comparison, compare, sampleOf } from './torch-trainer.ts'

/**
 * What of an update may differ, as a share of its length: float32 sums are added up in another order, and Adam turns the sign of a
 * gradient that is nearly 0 into a whole step.
 */
export const TOLERANCE = 3e-4

const files = trainWordTokenizer({
  words: ['go to the cabinet and open it', 'look around the kitchen', 'take an apple from the fridge'],
})

export async function writeBase(name: PresetName, folder: string): Promise<void> {
  const tokenizer = createTokenizer(files)
  const { size: vocabSize, endToken } = tokenizer
  const config = presetConfig(name, { vocabSize, contextTokens: 128, endToken })
  const model = await openLocalModel({ config, tokenizer: files, seed: 5, backend: 'wasm' })
  await model.save(folder)
  await model.close()
  // What a config says of dropout is for those who trained the base: neither trainer has any.
  const path = join(folder, 'config.json')
  const written = JSON.parse(readFileSync(path, 'utf8'))
  writeFileSync(path, JSON.stringify({ ...written, attention_dropout: 0.5 }))
}

/** Sequences of different lengths; some under a restriction. */
export const batchOf =
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

/** An adapter (or all weights) of a model of the shape, through these versions. */
export async function compareTiny(
  shape: PresetName,
  {
    lora,
    ...rest
  }: Pick<Comparison, 'role' | 'versions' | 'processes' | 'command'> & { readonly lora: boolean },
): Promise<void> {
  const name = `${shape} ${rest.role} ${rest.processes ?? 1}`
  const base = join(temporaryFolder(), 'base')
  await writeBase(shape, base)
  const adapter = lora ? { rank: 4, alpha: 8, targets: [...LORA_TARGETS] } : null
  await compare({ name, base, adapter, ...rest })
}
