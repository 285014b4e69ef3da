/** Weights for the committed run, whose checkpoints are not committed: small models that have learned nothing. */
import { join } from 'node:path'
import { checkpointPath, type ModelRole } from '../../src/actors/learner/checkpoints.ts'
import { codecOf } from '../../src/actors/rollout/packing.ts'
import type { RunFolder } from '../../src/broker/connection.ts'
import { alfworldWords } from '../../src/environments/alfworld/words.ts'
import { openLocalModel } from '../../src/models/local/model.ts'
import { presetConfig } from '../../src/models/local/presets.ts'
import { createTokenizer } from '../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../src/models/local/word-tokenizer.ts'

/** One set of weights for each version of each role, by their order. */
export async function giveWeights(
  { folder }: RunFolder,
  versions: readonly (readonly [role: ModelRole, version: number])[],
): Promise<void> {
  const tokenizer = trainWordTokenizer({ words: alfworldWords() })
  const { size, encode } = createTokenizer(tokenizer)
  for (const [index, [role, version]] of versions.entries()) {
    const model = await openLocalModel({
      config: presetConfig('nano', { vocabSize: size, contextTokens: 512, endToken: codecOf(encode).end }),
      tokenizer,
      seed: 1 + index,
      name: `${role} ${version}`,
      backend: 'auto',
    })
    await model.save(join(folder, checkpointPath(role, version)))
    await model.close()
  }
}
