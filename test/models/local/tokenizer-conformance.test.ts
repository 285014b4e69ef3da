/**
 * Tokenizers of many kinds beside AutoTokenizer of transformers: ids, texts and chats. SKIP where the Python lacks it
 * (test/models/conformance/requirements-torch.txt).
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createTokenizer, type TokenizerFiles } from '../../../src/models/local/tokenizer.ts'
import type { ChatMessage } from '../../../src/models/port.ts'
import { byteTokenizer } from '../../support/byte-tokenizer.ts'
import { PIECE_DECODER } from '../../support/piece-decoder.ts'
import { lacks } from '../../support/python.ts'
import { ask } from '../../support/transformers.ts'

const root = mkdtempSync(join(tmpdir(), 'tokenizers-'))
test.after(() => rmSync(root, { recursive: true }))

/** A folder of a tokenizer alone, as transformers reads it. */
function tokenizerFolder(name: string, files: TokenizerFiles): string {
  const folder = join(root, name)
  mkdirSync(folder)
  const write = (file: string, value: unknown) => writeFileSync(join(folder, file), JSON.stringify(value))
  write('config.json', { model_type: 'llama' })
  write('tokenizer.json', files.tokenizer)
  write('tokenizer_config.json', files.config)
  return folder
}

const letters = byteTokenizer()
const byteModel = letters.tokenizer.model as { vocab: Record<string, number> }
/** Merges across every place at which text may be cut. */
const PAIRS = [
  '1 2',
  '2 3',
  '. .',
  ', .',
  'a .',
  'Ġ 1',
  'Ġ .',
  'Ġ a',
  'a b',
  'Ġ Ġ',
  'Ġa b',
  "' s",
  'Ċ Ċ',
  'b Ġ',
  'Ù £',
]
const byteVocab = { ...byteModel.vocab }
for (const [i, pair] of PAIRS.entries()) byteVocab[pair.replace(' ', '')] = 258 + i
const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
const cut = (behavior: string, pattern: object, invert = false) => ({
  ...{ type: 'Split', pattern, behavior, invert },
})
/** What stands before the bytes. */
const PRE_TOKENIZERS: Readonly<Record<string, readonly object[]>> = {
  'gpt-2': [{ ...byteLevel, use_regex: true }],
  'gpt-2 prefixed': [{ ...byteLevel, add_prefix_space: true, use_regex: true }],
  'each digit': [
    { type: 'Digits', individual_digits: true },
    { ...byteLevel, use_regex: true },
  ],
  digits: [{ type: 'Digits', individual_digits: false }, byteLevel],
  punctuation: [{ type: 'Punctuation', behavior: 'Isolated' }, byteLevel],
  'punctuation together': [{ type: 'Punctuation', behavior: 'Contiguous' }, byteLevel],
  'punctuation behind': [{ type: 'Punctuation', behavior: 'MergedWithPrevious' }, byteLevel],
  words: [{ type: 'Whitespace' }, byteLevel],
  'no white space': [{ type: 'WhitespaceSplit' }, byteLevel],
  ...Object.fromEntries(
    ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'].flatMap((behavior) => [
      [`split ${behavior}`, [cut(behavior, { String: 'a' }), byteLevel]],
      [`split ${behavior} by expression`, [cut(behavior, { Regex: '[.,]|\\s' }), byteLevel]],
    ]),
  ),
  'split Isolated inverted': [cut('Isolated', { Regex: '\\w+' }, true), byteLevel],
  'split Removed inverted': [cut('Removed', { Regex: '\\w+' }, true), byteLevel],
}
const PIECES = [
  'ab 12 3,. a..b  a',
  "a's ½ ٣12 a!?",
  ' \uFEFFa\u0085 b\u00a0.',
  'a\n\n a b .b,a',
  '',
  '  ',
  '¿ab? …a',
]

function byteFiles(pretokenizers: readonly object[]): TokenizerFiles {
  return {
    tokenizer: {
      ...{ version: '1.0', truncation: null, padding: null, normalizer: null, post_processor: null },
      added_tokens: ['<|im_start|>', '<|im_end|>'].map((content, i) => ({
        ...{ id: 256 + i, content, special: true, single_word: false },
        ...{ lstrip: false, rstrip: false, normalized: false },
      })),
      pre_tokenizer: { type: 'Sequence', pretokenizers },
      decoder: byteLevel,
      model: {
        ...{ type: 'BPE', dropout: null, unk_token: null, continuing_subword_prefix: null },
        ...{ end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: false },
        ...{ vocab: byteVocab, merges: PAIRS.map((pair) => pair.split(' ')) },
      },
    },
    config: { tokenizer_class: 'PreTrainedTokenizerFast', eos_token: '<|im_end|>' },
  }
}

test('every way of cutting a text gives the ids of AutoTokenizer', () => {
  const missing = lacks('transformers')
  if (missing) {
    process.stdout.write(`SKIP ways of cutting: ${missing}\n`)
    return
  }
  const requests: Record<string, object> = {}
  for (const [name, pretokenizers] of Object.entries(PRE_TOKENIZERS))
    requests[name] = { tokenize: tokenizerFolder(name, byteFiles(pretokenizers)), texts: PIECES }
  const there = ask<Record<string, number[][]>>(requests)
  for (const [name, pretokenizers] of Object.entries(PRE_TOKENIZERS)) {
    const { encode } = createTokenizer(byteFiles(pretokenizers))
    assert.equal(
      PIECES.map((text) => [...encode(text)]),
      there[name],
      name,
    )
  }
})

/** The shape of SentencePiece: spaces as U+2581, bytes for what the vocabulary lacks. */
function pieceFiles(more: object, config: object = {}): TokenizerFiles {
  const bytes = Array.from({ length: 256 }, (_, i) => `<0x${i.toString(16).toUpperCase().padStart(2, '0')}>`)
  const pieces = ['▁', 'a', 'b', 'c', '.', '▁a', '▁▁', 'ab', '▁ab', 'b▁']
  const vocab = Object.fromEntries(
    ['<unk>', '<s>', '</s>', ...bytes, ...pieces].map((text, id) => [text, id]),
  )
  const merges = [
    ['▁', '▁'],
    ['▁', 'a'],
    ['a', 'b'],
    ['▁a', 'b'],
    ['▁', 'ab'],
    ['b', '▁'],
  ]
  return {
    tokenizer: {
      ...{ version: '1.0', truncation: null, padding: null, normalizer: null, pre_tokenizer: null },
      added_tokens: ['<unk>', '<s>', '</s>'].map((content, id) => ({
        ...{
          id,
          content,
          special: true,
          single_word: false,
          lstrip: false,
          rstrip: false,
          normalized: false,
        },
      })),
      post_processor: {
        type: 'TemplateProcessing',
        single: [{ SpecialToken: { id: '<s>', type_id: 0 } }, { Sequence: { id: 'A', type_id: 0 } }],
        pair: [{ Sequence: { id: 'A', type_id: 0 } }, { Sequence: { id: 'B', type_id: 1 } }],
        special_tokens: { '<s>': { id: '<s>', ids: [1], tokens: ['<s>'] } },
      },
      decoder: PIECE_DECODER,
      model: {
        ...{ type: 'BPE', dropout: null, unk_token: '<unk>', continuing_subword_prefix: null },
        ...{
          end_of_word_suffix: null,
          fuse_unk: true,
          byte_fallback: true,
          ignore_merges: false,
          vocab,
          merges,
        },
      },
      ...more,
    },
    config: {
      ...{
        tokenizer_class: 'PreTrainedTokenizerFast',
        bos_token: '<s>',
        eos_token: '</s>',
        unk_token: '<unk>',
      },
      ...config,
    },
  }
}

const metaspace = { type: 'Metaspace', replacement: '▁' }
const legacy = [
  { type: 'Prepend', prepend: '▁' },
  { type: 'Replace', pattern: { String: ' ' }, content: '▁' },
]
const PIECE_FILES: Readonly<Record<string, TokenizerFiles>> = {
  'first, whole': pieceFiles({ pre_tokenizer: { ...metaspace, prepend_scheme: 'first', split: false } }),
  'always, cut': pieceFiles({ pre_tokenizer: { ...metaspace, prepend_scheme: 'always', split: true } }),
  'never, cut': pieceFiles({ pre_tokenizer: { ...metaspace, prepend_scheme: 'never' } }),
  legacy: pieceFiles({ normalizer: { type: 'Sequence', normalizers: legacy } }),
  'no begin': pieceFiles({ pre_tokenizer: metaspace }, { add_bos_token: false }),
  'begin and end': pieceFiles({ pre_tokenizer: metaspace }, { add_bos_token: true, add_eos_token: true }),
  'end alone': pieceFiles({ pre_tokenizer: metaspace, post_processor: null }, { add_eos_token: true }),
  'special by name': pieceFiles(
    { pre_tokenizer: metaspace },
    { additional_special_tokens: ['ab'], image_token: '▁a', add_eos_token: true },
  ),
  'a token of the config': pieceFiles(
    { pre_tokenizer: metaspace },
    {
      added_tokens_decoder: {
        0: { content: '<unk>', special: true },
        1: { content: '<s>', special: true },
        2: { content: '</s>', special: true },
        268: { content: 'b▁', special: true },
      },
    },
  ),
}
const SPACED = ['ab  ab c.', '<s>ab</s> ab', ' é🙂 b', '', 'ab▁ab\n', 'b▁a b a']

test('tokenizers of SentencePiece give the ids of AutoTokenizer, with what is put around a text, and its texts', () => {
  const missing = lacks('transformers')
  if (missing) {
    process.stdout.write(`SKIP tokenizers of SentencePiece: ${missing}\n`)
    return
  }
  const requests: Record<string, object> = {}
  const ids = [
    [4, 198, 172, 260],
    [261, 264, 2, 259, 260],
    [259, 259, 261],
  ]
  for (const [name, files] of Object.entries(PIECE_FILES)) {
    const folder = tokenizerFolder(name, files)
    requests[name] = { tokenize: folder, texts: SPACED, special: true }
    requests[`${name} texts`] = { decode: folder, ids }
  }
  const there = ask<Record<string, unknown>>(requests)
  for (const [name, files] of Object.entries(PIECE_FILES)) {
    const { encode, decode } = createTokenizer(files)
    assert.equal(
      SPACED.map((text) => [...encode(text, { begin: true })]),
      there[name],
      name,
    )
    assert.equal(
      ids.map((tokens) => decode(tokens)),
      there[`${name} texts`],
      name,
    )
  }
})

test('chats are rendered as transformers does: with tools, calls, their answers, and named templates', () => {
  const missing = lacks('transformers', 'jinja2')
  if (missing) {
    process.stdout.write(`SKIP chats: ${missing}\n`)
    return
  }
  const plain = [
    '{{ bos_token }}{% if tools is defined and tools is not none %}{{ tools | tojson }}{% endif %}{% if pad_token is defined %}PAD{% endif %}',
    '{% for m in messages %}[{{ m.role }}{% if m.name %} {{ m.name }}{% endif %}{% if m.tool_call_id %} {{ m.tool_call_id }}{% endif %}]',
    '{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.id }}:{{ c.function.name }}={{ c.function.arguments | tojson }}{% endfor %}',
    '{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}',
  ].join('')
  const tool = { name: 'add', description: 'é', parameters: { type: 'object', properties: {} } }
  const calls = [{ id: 'c1', name: 'add', arguments: { a: 1, b: 'ü' } }]
  const messages: ChatMessage[] = [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: '', toolCalls: calls },
    { role: 'tool', content: '3', toolCallId: 'c1', toolName: 'add' },
  ]
  const theirs = [
    { role: 'user', content: 'hi' },
    {
      ...{ role: 'assistant', content: '' },
      tool_calls: calls.map(({ id, ...rest }) => ({ id, type: 'function', function: rest })),
    },
    { role: 'tool', content: '3', tool_call_id: 'c1', name: 'add' },
  ]
  const named = [
    { name: 'default', template: plain },
    { name: 'tool_use', template: `TOOLS ${plain}` },
  ]
  const requests: Record<string, object> = {}
  const ours: Record<string, string[]> = {}
  for (const [name, chat_template] of [
    ['one template', plain],
    ['named templates', named],
  ] as const) {
    const files = pieceFiles({}, { chat_template })
    const chats = [{ messages: theirs }, { messages: theirs, tools: [{ type: 'function', function: tool }] }]
    requests[name] = { render: tokenizerFolder(name, files), chats }
    const { renderChat } = createTokenizer(files)
    ours[name] = [renderChat(messages), renderChat(messages, { tools: [tool] })]
  }
  assert.equal(ask<unknown>(requests), ours)
})

test.run()
