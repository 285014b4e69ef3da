/** A tiny model that knows the words of a guessing game, and nothing of how to play it. */
import { openLocalModel } from '../../src/models/local/model.ts'
import { presetConfig } from '../../src/models/local/presets.ts'
import { createTokenizer } from '../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../src/models/local/word-tokenizer.ts'

export const GUESS = 'Guess a number from 1 to 9.'

/** Writes the model to a folder. */
export async function writeGuessingModel(folder: string): Promise<void> {
  const words = Array.from({ length: 10 }, (_, i) => String(i))
  const files = trainWordTokenizer({ words: [GUESS, 'Higher. Lower. Right.', ...words] })
  const { size: vocabSize, endToken } = createTokenizer(files)
  const config = presetConfig('nano', { vocabSize, contextTokens: 256, endToken })
  const model = await openLocalModel({ config, tokenizer: files, seed: 1, backend: 'wasm' })
  await model.save(folder)
  await model.close()
}
