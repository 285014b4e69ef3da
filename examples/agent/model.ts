/** Writes a tiny model that has learned nothing yet, as a Hugging Face folder; any model of the Qwen or Llama shape does. */
import { createTokenizer, openLocalModel, presetConfig, trainWordTokenizer } from 'rlanything/models'

const words = ['Guess a number from 1 to 9.', 'Higher. Lower.', '1 2 3 4 5 6 7 8 9']
const files = trainWordTokenizer({ words })
const { size: vocabSize, endToken } = createTokenizer(files)
const config = presetConfig('nano', { vocabSize, contextTokens: 256, endToken })
const model = await openLocalModel({ config, tokenizer: files, seed: 1 })
await model.save(process.argv[2])
await model.close()
