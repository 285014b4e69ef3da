/**
 * A tokenizer for tiny models, trained from word lists or texts. A word, a number or a mark is one token, so an action such as `go to
 * cabinet 12` costs four. Words outside of the vocabulary are spelled by letters, by the WordPiece model of Hugging Face's tokenizers. So
 * ASCII text never has an unknown token. Decoding returns the text except for its spaces.
 */
import type { TokenizerFiles } from './tokenizer.ts'
import { withRustSpace } from './white-space.ts'

const PAD = '<|endoftext|>'
const CHAT_START = '<|im_start|>'
export const CHAT_END = '<|im_end|>'
const UNKNOWN = '[UNK]'
const CONTINUED = '##'

/** A newline, a number with its sign if no text touches it on the left, a word with inner marks (in/on, don't), or any other mark. */
const WORD = String.raw`\n|(?<!\S)-[0-9]+|[0-9]+|\p{L}+(?:['/\-_]\p{L}+)*|[^\s\p{L}0-9]`

const CHAT_TEMPLATE =
  `{% for message in messages %}${CHAT_START}{{ message.role }}\n{{ message.content }}${CHAT_END}\n{% endfor %}` +
  `{% if add_generation_prompt %}${CHAT_START}assistant\n{% endif %}`

/** Marks without a space before them. The next lists have those without a space after them, or on both sides. */
const NO_SPACE_BEFORE = ['.', ',', ':', ';', '!', '?', ')', ']', '}', "'", '>', '%']
const NO_SPACE_AFTER = ['(', '[', '{', '$', '#', '@', '<']
const NO_SPACE_AROUND = ['\n', '_', '/', '=']

/** Returns the pieces of a text that are looked up in the vocabulary. */
export function splitWords(text: string): string[] {
  return text.match(new RegExp(withRustSpace(WORD), 'gu')) ?? []
}

/**
 * Trains a word-level tokenizer and returns its files. Ids: special tokens, characters and their continuations, numbers 0 to 99, then
 * `words` in their order and the words of `texts` from frequent to rare (ties by code point).
 * @param words a closed list; entries may be phrases, which are split
 * @param texts a corpus, e.g. observations of generated games
 * @param maxWords most words beside the fixed part; rarer words are spelled
 * @example
 * const files = trainWordTokenizer({ words: ['go to cabinet'], texts: ['You are in a kitchen.'] })
 */
export function trainWordTokenizer({
  words = [],
  texts = [],
  maxWords = Number.POSITIVE_INFINITY,
}: {
  readonly words?: Iterable<string>
  readonly texts?: Iterable<string>
  readonly maxWords?: number
}): TokenizerFiles {
  const vocabulary = new Map<string, number>()
  const add = (token: string) => {
    if (!vocabulary.has(token)) vocabulary.set(token, vocabulary.size)
  }
  const specials = [PAD, CHAT_START, CHAT_END, UNKNOWN]
  for (const token of specials) add(token)
  add('\n')
  for (let code = 0x21; code < 0x7f; code++) add(String.fromCharCode(code))
  for (const character of "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789'/-_")
    add(CONTINUED + character)
  for (let number = 0; number < 100; number++) add(String(number))
  for (const word of ['-1', 'system', 'user', 'assistant', 'tool']) add(word)

  const fixed = vocabulary.size
  for (const phrase of words) for (const word of splitWords(phrase)) add(word)
  const counts = new Map<string, number>()
  for (const text of texts) for (const word of splitWords(text)) counts.set(word, (counts.get(word) ?? 0) + 1)
  const byCount = [...counts].sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
  for (const [word] of byCount) if (vocabulary.size - fixed < maxWords) add(word)

  const replace = (text: string, content: string) => ({
    type: 'Replace',
    pattern: { String: text },
    content,
  })
  const decoders = [
    { type: 'WordPiece', prefix: CONTINUED, cleanup: false },
    { type: 'Fuse' },
    ...[...NO_SPACE_BEFORE, ...NO_SPACE_AROUND].map((mark) => replace(` ${mark}`, mark)),
    ...[...NO_SPACE_AFTER, ...NO_SPACE_AROUND].map((mark) => replace(`${mark} `, mark)),
  ]
  return {
    tokenizer: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: specials.map((content, id) => ({
        id,
        content,
        special: true,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
      })),
      normalizer: null,
      pre_tokenizer: { type: 'Split', pattern: { Regex: WORD }, behavior: 'Removed', invert: true },
      post_processor: null,
      decoder: { type: 'Sequence', decoders },
      model: {
        type: 'WordPiece',
        unk_token: UNKNOWN,
        continuing_subword_prefix: CONTINUED,
        max_input_chars_per_word: 100,
        vocab: Object.fromEntries(vocabulary),
      },
    },
    config: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      // For a model of type qwen2 transformers 5 would build Qwen2's byte-level tokenizer and give other ids. A class that it does not
      // load,
      // such as this one, makes it use the class above.
      auto_map: { AutoTokenizer: [null, 'PreTrainedTokenizerFast'] },
      bos_token: null,
      eos_token: CHAT_END,
      pad_token: PAD,
      unk_token: UNKNOWN,
      clean_up_tokenization_spaces: false,
      chat_template: CHAT_TEMPLATE,
    },
  }
}
