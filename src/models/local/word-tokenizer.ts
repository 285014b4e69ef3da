/**
 * A tokenizer for tiny models, trained from word lists or texts: a word, a number or a mark is one token, so that an action such
 * as `go to cabinet 12` costs four. Words outside of the vocabulary are spelled by letters (the WordPiece model of
 * Hugging Face's tokenizers, whose greedy longest match is a plain look-up for a known word), so text in ASCII never meets an
 * unknown token. Decoding gives the text back up to its spaces.
 */
import type { TokenizerFiles } from './tokenizer.ts'
import { withRustSpace } from './white-space.ts'

const PAD = '<|endoftext|>'
const CHAT_START = '<|im_start|>'
export const CHAT_END = '<|im_end|>'
const UNKNOWN = '[UNK]'
const CONTINUED = '##'

/** A newline; a number with its sign where nothing stands before it; a word with inner marks (in/on, don't); any other mark. */
const WORD = String.raw`\n|(?<!\S)-[0-9]+|[0-9]+|\p{L}+(?:['/\-_]\p{L}+)*|[^\s\p{L}0-9]`

const CHAT_TEMPLATE =
  `{% for message in messages %}${CHAT_START}{{ message.role }}\n{{ message.content }}${CHAT_END}\n{% endfor %}` +
  `{% if add_generation_prompt %}${CHAT_START}assistant\n{% endif %}`

/** Marks that are written without a space before, after, or on both sides of them. */
const NO_SPACE_BEFORE = ['.', ',', ':', ';', '!', '?', ')', ']', '}', "'", '>', '%']
const NO_SPACE_AFTER = ['(', '[', '{', '$', '#', '@', '<']
const NO_SPACE_AROUND = ['\n', '_', '/', '=']

/** The pieces of a text that are looked up in the vocabulary. */
export function splitWords(text: string): string[] {
  return text.match(new RegExp(withRustSpace(WORD), 'gu')) ?? []
}

/**
 * Files of a word-level tokenizer. Ids: special tokens, characters and their continuations, numbers 0 to 99, then the words in
 * the order of `words` and those of `texts` from frequent to rare (ties by code point).
 * @param words A closed list; entries may be phrases, which are split.
 * @param texts A corpus, e.g. observations of generated games.
 * @param maxWords Most words besides the fixed part; rarer ones are then spelled.
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
        ...{ id, content, special: true, single_word: false },
        ...{ lstrip: false, rstrip: false, normalized: false },
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
      // transformers 5 would build Qwen2's own byte-level tokenizer for any model of that type, and give other ids; a class that
      // is named, and that it does not load, leaves it at the one above.
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
