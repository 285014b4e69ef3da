/** A tokenizer whose tokens are bytes, and whole texts that are given: every text reads back as it was. Its template tells tools and their calls. */
import type { TokenizerFiles } from '../../src/models/local/tokenizer.ts'

const TEMPLATE = [
  '{% if tools %}<|im_start|>system\n{% for tool in tools %}{{ tool | tojson }}\n{% endfor %}<|im_end|>\n{% endif %}',
  '{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}',
  '{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}</tool_call>{% endfor %}',
  '<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}',
].join('')

export function byteTokenizer(pieces: readonly string[] = []): TokenizerFiles {
  const printable = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
  let others = 0x100
  const letters = Array.from({ length: 256 }, (_, byte) =>
    String.fromCharCode(printable(byte) ? byte : others++),
  )
  const marks = ['<|im_start|>', '<|im_end|>']
  return {
    tokenizer: {
      added_tokens: [...marks, ...pieces].map((content, i) => ({
        id: 256 + i,
        content,
        special: i < marks.length,
      })),
      normalizer: null,
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: false },
      post_processor: null,
      decoder: { type: 'ByteLevel' },
      model: {
        type: 'BPE',
        vocab: Object.fromEntries(letters.map((letter, id) => [letter, id])),
        merges: [],
      },
    },
    config: { tokenizer_class: 'PreTrainedTokenizerFast', eos_token: '<|im_end|>', chat_template: TEMPLATE },
  }
}
