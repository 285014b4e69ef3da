/** Writes a tiny model that has learned nothing: `node model.ts FOLDER`. It tries an agent in a minute, without a download. */

import { readFileSync } from 'node:fs'
import { createTokenizer, openLocalModel, presetConfig, type TokenizerFiles } from 'rlanything/models'

/** The beginning of an answer, and of a call of a tool, is the same in every chat. */
const TEMPLATE = [
  '{% if tools %}<|im_start|>system\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}',
  '{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}',
  '{% for call in message.tool_calls or [] %}<tool_call>\n{{ call.function | tojson }}\n</tool_call>{% endfor %}',
  '<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}',
].join('')
const WORDS = `type function name description parameters object properties fruit string enum required additionalProperties
  $schema https://json-schema.org/draft-07/schema# 2020-12 strict true false arguments tool_call number price stock Price of a fruit
  Fruits in What is the one How many are Look up asked then answer with system user assistant`
const SIGNS = ['": "', '": {"', '", "', '"}', '}}', '": ["', '"], "', '</', '>\n', '{"']

/** Tokens are bytes and the words that stand in the agents' prompts, so a prompt is short and any text can be written. */
function tokenizer(): TokenizerFiles {
  const fruits = Object.keys(JSON.parse(readFileSync(new URL('./shop.json', import.meta.url), 'utf8')))
  const marks = ['<|im_start|>', '<|im_end|>']
  const words = [...new Set([...WORDS.split(/\s+/), ...fruits, ...SIGNS])].filter((word) => word.length > 1)
  let others = 0x100
  const isPrintable = (byte: number) => (byte > 0x20 && byte < 0x7f) || (byte > 0xa0 && byte !== 0xad)
  const bytes = Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(isPrintable(byte) ? byte : others++),
  )
  return {
    tokenizer: {
      added_tokens: [...marks, ...words].map((content, i) => ({
        id: 256 + i,
        content,
        special: i < marks.length,
      })),
      normalizer: null,
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
      post_processor: null,
      decoder: { type: 'ByteLevel' },
      model: { type: 'BPE', vocab: Object.fromEntries(bytes.map((letter, id) => [letter, id])), merges: [] },
    },
    config: { tokenizer_class: 'PreTrainedTokenizerFast', eos_token: '<|im_end|>', chat_template: TEMPLATE },
  }
}

const files = tokenizer()
const { size: vocabSize, endToken } = createTokenizer(files)
// With a head of its own the first answers are near to chance.
const config = { ...presetConfig('nano', { vocabSize, contextTokens: 4096, endToken }), tiedHead: false }
const model = await openLocalModel({ config, tokenizer: files, seed: 1 })
await model.save(process.argv[2])
await model.close()
