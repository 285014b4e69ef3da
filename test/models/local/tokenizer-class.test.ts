/**
 * Keys of tokenizer_config.json beside AutoTokenizer of transformers: what they change there they change here, or they are refused.
 * SKIP where the Python lacks it (test/models/conformance/requirements-torch.txt).
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../../src/errors.ts'
import { modelConfigJson } from '../../../src/models/local/config.ts'
import { readModelFolder } from '../../../src/models/local/model-folder.ts'
import { createTokenizer, type Tokenizer } from '../../../src/models/local/tokenizer.ts'
import { QWEN2_PATTERN } from '../../../src/models/local/tokenizer-class.ts'
import { byteTokenizer } from '../../support/byte-tokenizer.ts'
import { PIECE_DECODER } from '../../support/piece-decoder.ts'
import { lacks } from '../../support/python.ts'
import { temporaryFolder } from '../../support/run.ts'
import { ask } from '../../support/transformers.ts'
import { smallConfig } from './fixtures.ts'

const root = temporaryFolder()

type Json = Readonly<Record<string, unknown>>

const added = (content: string, id: number, special = true) => ({
  ...{ id, content, special, single_word: false, lstrip: false, rstrip: false, normalized: false },
})
const vocabularyOf = (tokens: readonly string[]) => Object.fromEntries(tokens.map((token, id) => [token, id]))
const modelOf = (vocab: Json, merges: readonly string[], ofPieces: boolean) => ({
  ...{ type: 'BPE', dropout: null, unk_token: ofPieces ? '<unk>' : null, continuing_subword_prefix: null },
  ...{ end_of_word_suffix: null, fuse_unk: ofPieces, byte_fallback: ofPieces, ignore_merges: false },
  ...{ vocab, merges: merges.map((pair) => pair.split(' ')) },
})
const begin = (token: string, id: number) => ({
  type: 'TemplateProcessing',
  single: [{ SpecialToken: { id: token, type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
  pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
  special_tokens: { [token]: { id: token, ids: [id], tokens: [token] } },
})
const around = { version: '1.0', truncation: null, padding: null }

const PAIRS = ['1 2', '2 3', '. .', 'a b', 'Ġ a', 'Ġ Ġ', 'Ġa b', "' s", 'Ċ Ċ', 'Ġ 1', 'Ġ .', 'Ġ ,']
const letters = byteTokenizer().tokenizer.model as { readonly vocab: Readonly<Record<string, number>> }
const byteTokens = [...Object.keys(letters.vocab), ...PAIRS.map((pair) => pair.replace(' ', ''))]
const [START, END, TOOL] = [0, 1, 2].map((i) => byteTokens.length + i)
const byteLevel = (use_regex: boolean) => ({
  ...{ type: 'ByteLevel', add_prefix_space: false, trim_offsets: false, use_regex },
})
const split = (pattern: string) => ({
  ...{ type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false },
})
function byteLevelFile(pretokenizers: readonly Json[], more: Json = {}): Json {
  return {
    ...{ ...around, normalizer: null, post_processor: null, decoder: byteLevel(true) },
    added_tokens: [added('<|im_start|>', START), added('<|im_end|>', END), added('<tool>', TOOL, false)],
    pre_tokenizer: { type: 'Sequence', pretokenizers },
    model: modelOf(vocabularyOf(byteTokens), PAIRS, false),
    ...more,
  }
}

const pieceTokens = [
  ...['<unk>', '<s>', '</s>'],
  ...Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`),
  ...['▁', 'a', 'b', 'c', '.', '▁a', '▁▁', 'ab', '▁ab', 'b▁'],
]
const PIECE_PAIRS = ['▁ ▁', '▁ a', 'a b', '▁a b', '▁ ab', 'b ▁']
/** As the converters of Llama 2's time wrote it. */
const pieceFile: Json = {
  ...{ ...around, pre_tokenizer: null, post_processor: begin('<s>', 1) },
  added_tokens: [added('<unk>', 0), added('<s>', 1), added('</s>', 2)],
  normalizer: {
    type: 'Sequence',
    normalizers: [
      { type: 'Prepend', prepend: '▁' },
      { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
    ],
  },
  decoder: PIECE_DECODER,
  model: modelOf(vocabularyOf(pieceTokens), PIECE_PAIRS, true),
}

const qwen2 = byteLevelFile([split(QWEN2_PATTERN), byteLevel(false)], { normalizer: { type: 'NFC' } })
const gpt2 = byteLevelFile([byteLevel(true)])
const digits = byteLevelFile([{ type: 'Digits', individual_digits: true }, byteLevel(true)])
const threes = QWEN2_PATTERN.replace('\\p{N}|', '\\p{N}{1,3}|')
const llama3 = byteLevelFile([split(threes), byteLevel(false)], {
  post_processor: begin('<|im_start|>', START),
})
const ofBytes = (tokenizer_class?: string) => ({ tokenizer_class, eos_token: '<|im_end|>' })
const ofPieces = (tokenizer_class: string) => ({
  ...{ tokenizer_class, bos_token: '<s>', eos_token: '</s>', unk_token: '<unk>' },
})
const FAMILIES: Readonly<Record<string, readonly ['qwen2' | 'qwen3' | 'llama', Json, Json]>> = {
  qwen2: ['qwen2', qwen2, ofBytes('Qwen2Tokenizer')],
  'qwen2 by another class': ['qwen2', gpt2, ofBytes('LlamaTokenizerFast')],
  qwen3: ['qwen3', qwen2, ofBytes('Qwen2TokenizerFast')],
  'qwen3 without a class': ['qwen3', gpt2, ofBytes()],
  'qwen3 by its file': ['qwen3', digits, ofBytes('PreTrainedTokenizerFast')],
  llama3: ['llama', llama3, ofBytes('PreTrainedTokenizerFast')],
  'llama3 by the class of Llama 2': ['llama', llama3, ofBytes('LlamaTokenizerFast')],
  smollm2: ['llama', digits, ofBytes('GPT2Tokenizer')],
  'llama2 by its file': ['llama', pieceFile, ofPieces('PreTrainedTokenizerFast')],
  llama2: ['llama', pieceFile, ofPieces('LlamaTokenizer')],
}
const ofDecoder = (tokens: readonly (Json & { id: number })[]) => ({
  added_tokens_decoder: Object.fromEntries(tokens.map(({ id, ...token }) => [id, token])),
})
/** Keys that do not change what is put in: of all tokenizers, and of those of one kind alone. */
const KEYS: Readonly<Record<string, Json>> = {
  nothing: {},
  around: { add_bos_token: true, add_eos_token: true },
  'nothing around': { add_bos_token: false, add_eos_token: false },
  'a space before': { add_prefix_space: true },
  'no space before': { add_prefix_space: false },
  legacy: { legacy: true },
  'not legacy': { legacy: false },
  lengths: { model_max_length: 4, truncation_side: 'left', padding_side: 'left', max_length: 3 },
  'spaces of texts': { clean_up_tokenization_spaces: true },
  'a prompt': { use_default_system_prompt: true },
  'more special tokens': { additional_special_tokens: ['ab'] },
  'more special tokens by name': { extra_special_tokens: { image_token: 'ab' } },
  'two lists of them': { additional_special_tokens: ['a'], extra_special_tokens: ['b'] },
  'one list is empty': { additional_special_tokens: ['ab'], extra_special_tokens: [] },
}
const OF_BYTES: Readonly<Record<string, Json>> = {
  'space that tokens take': ofDecoder([
    { ...added('<|im_start|>', START), lstrip: true },
    { ...added('<|im_end|>', END), rstrip: true },
    added('<tool>', TOOL, false),
  ]),
}
const TEXTS = [
  ...['a b  ab 12 x3 abc', 'ab<|im_end|> ab<tool>\n\n ab', '<s>ab</s> ab', ''],
  ...["a's don't , . ab , ? !", ' e\u0301 ab\n', '\t12 \n 1', 'a <|im_start|> a <|im_end|> a ab'],
]
const IDS = [
  [97, 32, 44, 10, 46],
  [259, 260, 261, 2, 264],
]

function folderOf(name: string, [type, tokenizer, config]: (typeof FAMILIES)[string], more: Json): string {
  const folder = join(root, name.replaceAll(/\W+/g, '-'))
  mkdirSync(folder)
  const write = (file: string, value: unknown) => writeFileSync(join(folder, file), JSON.stringify(value))
  write('config.json', modelConfigJson(smallConfig(type)))
  write('tokenizer.json', tokenizer)
  write('tokenizer_config.json', { ...config, ...more })
  return folder
}

const tokenizerIn = async (folder: string): Promise<Tokenizer> =>
  createTokenizer((await readModelFolder(folder)).tokenizer, folder)

test('every key of tokenizer_config.json gives the ids and texts of AutoTokenizer, by the class that it takes', async () => {
  const missing = lacks('transformers')
  if (missing) {
    process.stdout.write(`SKIP classes of tokenizers: ${missing}\n`)
    return
  }
  const requests: Record<string, object> = {}
  const ours: Record<string, unknown> = {}
  for (const [family, files] of Object.entries(FAMILIES))
    for (const [key, more] of Object.entries({ ...KEYS, ...(files[1] === pieceFile ? {} : OF_BYTES) })) {
      const name = `${family}: ${key}`
      const folder = folderOf(name, files, more)
      const { encode, decode } = await tokenizerIn(folder)
      requests[`${name}, ids`] = { tokenize: folder, texts: TEXTS, special: true }
      ours[`${name}, ids`] = TEXTS.map((text) => [...encode(text, { begin: true })])
      requests[`${name}, texts`] = { decode: folder, ids: IDS }
      ours[`${name}, texts`] = IDS.map((ids) => decode(ids))
    }
  const there = ask<Record<string, unknown>>(requests)
  for (const [name, told] of Object.entries(ours)) assert.equal(told, there[name], name)
})

test('keys that would give other ids or texts are refused by name', async () => {
  const cases: readonly (readonly [string, Json, RegExp])[] = [
    ['qwen3', { split_special_tokens: true }, /split_special_tokens: true/],
    [
      'llama3',
      {
        clean_up_tokenization_spaces: true,
        clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output: true,
      },
      /clean_up_tokenization_spaces_for_bpe/,
    ],
    ['llama3', { pad_token: '[PAD]' }, /pad_token: '\[PAD\]', which tokenizer\.json has not/],
    ['qwen2', { additional_special_tokens: ['<z>'] }, /additional_special_tokens: '<z>'/],
    ['qwen2', { extra_special_tokens: ['<z>'] }, /extra_special_tokens: '<z>'/],
    [
      'smollm2',
      ofDecoder([added('<|im_start|>', START), added('<|im_end|>', END)]),
      /added_tokens_decoder without '<tool>'/,
    ],
    ['llama2', { tokenizer_class: 'CodeLlamaTokenizer' }, /tokenizer_class CodeLlamaTokenizer/],
    ['llama3', { tokenizer_class: 'GPTNeoXTokenizerFast' }, /tokenizer_class GPTNeoXTokenizer/],
    ['llama3', ofDecoder([added('<|im_end|>', START)]), /added_tokens_decoder\.\d+: '<\|im_end\|>'/],
  ]
  for (const [i, [family, more, named]] of cases.entries()) {
    const error = await tokenizerIn(folderOf(`refused ${i}`, FAMILIES[family], more)).catch(
      (error: unknown) => error,
    )
    assert.instance(error, RlError, String(named))
    assert.match((error as RlError).message, named)
    assert.is((error as RlError).code, 'model.tokenizer')
  }
  const gap = { added_tokens: [added('<|im_start|>', START), added('<|im_end|>', TOOL)] }
  const elsewhere = { added_tokens: [added('a', START)] }
  for (const [i, [family, file, name, named]] of (
    [
      ['qwen2', { ...qwen2, ...gap }, 'Qwen2Tokenizer', /'<\|im_end\|>' at \d+, which is not the next id/],
      ['llama', { ...llama3, ...gap }, 'PreTrainedTokenizerFast', /'<\|im_end\|>' at \d+, which is not the/],
      ['llama', { ...gpt2, ...elsewhere }, 'PreTrainedTokenizerFast', /'a' at \d+, which the vocabulary has/],
    ] as const
  ).entries()) {
    const folder = folderOf(`a gap ${i}`, [family, file, ofBytes(name)], {})
    const error = await tokenizerIn(folder).catch((error: unknown) => error)
    assert.match(String(error), named)
  }
})

test.run()
