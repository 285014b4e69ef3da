import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../../src/errors.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { CHAT_END, splitWords, trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { byteTokenizer } from '../../support/byte-tokenizer.ts'

const corpus = [
  'You are in the middle of a room. Looking quickly around you, you see a cabinet 12, a fridge 1, and a drawer 3.',
  'Your task is to: put some apple on the diningtable.\n\nYou put the apple 1 in/on the fridge 1.',
  "You don't see that! (Nothing happens?)",
]
const files = trainWordTokenizer({ words: ['go to cabinet 1', 'look'], texts: corpus })
const tokenizer = createTokenizer(files)
const words = (text: string) => [...tokenizer.encode(text)].map(tokenizer.tokenText)

test('a word, a number and a mark are one token each', () => {
  assert.equal(words('go to cabinet 12, look'), ['go', 'to', 'cabinet', '12', ',', 'look'])
  assert.equal(words('in/on\n-1'), ['in/on', '\n', '-1'])
})

test('the corpus has no spelled and no unknown word and reads back as it was', () => {
  for (const text of corpus) {
    assert.not.ok(words(text).some((word) => word.startsWith('##') || word === '[UNK]'))
    assert.is(tokenizer.decode(tokenizer.encode(text)), text)
  }
})

test('no text in ASCII meets an unknown token, and words outside of the vocabulary come back whole', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme-ascii', maxLength: 60 }), (text) => {
      const known = splitWords(text).every((word) => word.length <= 100)
      assert.ok(!known || !tokenizer.encode(text).includes(tokenizer.unknownToken!))
    }),
  )
  fc.assert(
    fc.property(fc.array(fc.stringMatching(/^([a-z]{1,12}|[1-9][0-9]{0,8})$/), { minLength: 1 }), (list) => {
      assert.is(tokenizer.decode(tokenizer.encode(list.join(' '))), list.join(' '))
    }),
  )
})

test('training depends on the texts, not on their order', () => {
  const reversed = trainWordTokenizer({ words: ['go to cabinet 1', 'look'], texts: [...corpus].reverse() })
  assert.equal(reversed, files)
})

test('the rarest words are left out beyond maxWords', () => {
  const small = createTokenizer(trainWordTokenizer({ texts: ['apple apple pear'], maxWords: 1 }))
  assert.is(small.encode('apple').length, 1)
  assert.is(small.encode('pear').length, 4)
  assert.is(small.decode(small.encode('pear apple')), 'pear apple')
})

test('a chat is rendered by the template and its marks are tokens', () => {
  const text = tokenizer.renderChat([{ role: 'user', content: 'look' }])
  assert.is(text, '<|im_start|>user\nlook<|im_end|>\n<|im_start|>assistant\n')
  assert.ok(tokenizer.encode(text).includes(tokenizer.tokenId(CHAT_END)!))
  assert.is(tokenizer.endToken, tokenizer.tokenId(CHAT_END))
  assert.is(tokenizer.decode([tokenizer.endToken!]), '')
  assert.is(tokenizer.decode([tokenizer.endToken!], { special: true }), CHAT_END)
})

test('a byte-level BPE of Hugging Face is read, with its templates by name', () => {
  const vocab = { l: 0, o: 1, w: 2, Ġ: 3, lo: 4, low: 5, Ġlow: 6, Ã: 7, '©': 8 }
  const bpe = createTokenizer({
    tokenizer: {
      added_tokens: [{ id: 9, content: '<end>', special: true }],
      normalizer: null,
      pre_tokenizer: { type: 'ByteLevel', add_prefix_space: false, use_regex: true },
      post_processor: null,
      decoder: { type: 'ByteLevel' },
      model: { type: 'BPE', vocab, merges: ['l o', 'lo w', 'Ġ low'] },
    },
    config: {
      eos_token: { content: '<end>' },
      chat_template: [{ name: 'default', template: '{{ messages[0].content }}{{ eos_token }}' }],
    },
  })
  assert.equal([...bpe.encode('low low<end>')], [5, 6, 9])
  assert.is(bpe.decode([5, 6, 9]), 'low low')
  assert.is(bpe.decode([7, 8]), 'é')
  assert.is(bpe.endToken, 9)
  assert.is(bpe.size, 10)
  assert.is(bpe.renderChat([{ role: 'user', content: 'low' }]), 'low<end>')
})

/** A byte-level tokenizer of single letters with other parts. */
function letters(parts: object, config: object = {}) {
  const vocab = Object.fromEntries([...'abc.,12Ġ'].map((letter, id) => [letter, id]))
  return createTokenizer(
    {
      tokenizer: {
        ...{ added_tokens: [{ id: 20, content: '<end>', special: true }], normalizer: null },
        ...{ pre_tokenizer: null, post_processor: null, decoder: { type: 'ByteLevel' } },
        model: { type: 'BPE', vocab: { ...vocab, '12': 8, '.,': 9, '<s>': 10 }, merges: ['1 2', '. ,'] },
        ...parts,
      },
      config: { eos_token: '<end>', bos_token: '<s>', ...config },
    },
    'some/folder',
  )
}

/** Byte by byte, with merges of what is given and with other parts. */
function bytes(parts: object, merges: readonly (readonly [string, string])[] = []) {
  const { tokenizer } = byteTokenizer()
  const { vocab } = tokenizer.model as { vocab: Record<string, number> }
  const merged = Object.fromEntries(merges.map(([a, b], i) => [a + b, 300 + i]))
  const model = { type: 'BPE', vocab: { ...vocab, ...merged }, merges }
  return createTokenizer({ tokenizer: { ...tokenizer, model, ...parts }, config: {} })
}

/** U+FEFF is none in Rust and one in JavaScript, U+0085 the other way round; U+2003 is one in both. Expected as tokenizers 0.22 of Python gives it. */
test('white space is that of the tokenizers library', () => {
  const [mark, next, wide] = ['\ufeff', '\x85', '\u2003']
  const around = (text: string) => `${next}${wide}${mark}${text}${mark}${next} `
  const read = (parts: object, text: string) => {
    const opened = bytes(parts)
    return opened.decode(opened.encode(text), { special: true })
  }
  const strip = { type: 'Strip', strip_left: true, strip_right: true }
  assert.is(read({ normalizer: strip }, around('a')), `${mark}a${mark}`)
  const left = { type: 'Sequence', normalizers: [{ ...strip, strip_right: false }] }
  assert.is(read({ normalizer: left }, around('a')), `${mark}a${mark}${next} `)
  assert.is(
    read({ normalizer: { ...strip, strip_left: false } }, around('a')),
    `${next}${wide}${mark}a${mark}`,
  )
  assert.is(
    read({ normalizer: { ...strip, strip_left: false, strip_right: false } }, around('a')),
    around('a'),
  )
  const level = { type: 'ByteLevel', add_prefix_space: false, use_regex: false }
  const bert = { type: 'Sequence', pretokenizers: [{ type: 'BertPreTokenizer' }, level] }
  assert.is(read({ pre_tokenizer: bert }, around('a,b')), `${mark}a,b${mark}`)
  const added = (ends: object) => ({ added_tokens: [{ id: 290, content: '<m>', special: false, ...ends }] })
  const text = `a${mark}${next} <m> ${next}${mark}b`
  assert.is(read(added({ lstrip: true }), text), `a${mark}<m> ${next}${mark}b`)
  assert.is(read(added({ rstrip: true }), text), `a${mark}${next} <m>${mark}b`)
  const normalized = { lstrip: true, rstrip: true, normalized: true }
  assert.is(read({ ...added(normalized), normalizer: { type: 'NFC' } }, text), `a${mark}<m>${mark}b`)
})

test('GPT-2 cuts by that white space as well, with a space put before the text', () => {
  const merges = [
    ['.', 'ï'],
    ['.', 'Â'],
    ['Ġ', '.'],
  ] as const
  const level = { type: 'ByteLevel', add_prefix_space: true, use_regex: true }
  const nested = { type: 'Sequence', pretokenizers: [{ type: 'Digits', individual_digits: true }, level] }
  for (const pre_tokenizer of [level, nested, { ...level, add_prefix_space: false }]) {
    const opened = bytes({ pre_tokenizer }, merges)
    const joined = (text: string) => [...opened.encode(text)].some((token) => token === 300 || token === 301)
    assert.equal(['a.\ufeff', 'a.\x85', 'a.\xa0'].map(joined), [true, false, false])
  }
})

test('every name is kept in a vocabulary, among merges, added and special tokens', () => {
  const letters = [...'_protcnsu', '__', 'pr', 'pro', 'prot', 'proto', '__proto', '__proto__']
  const vocab = JSON.parse(`{${letters.map((letter, id) => `"${letter}":${id}`).join()},"constructor":99}`)
  const PROTO_ID = letters.indexOf('__proto__')
  const merges = ['_ _', 'p r', 'pr o', 'pro t', 'prot o', '__ proto', '__proto __']
  const parts = { pre_tokenizer: null, post_processor: null, decoder: null, normalizer: null }
  const bare = { ...parts, added_tokens: [], model: { type: 'BPE', vocab, merges } }
  const opened = createTokenizer({ tokenizer: bare, config: {} })
  assert.equal([...opened.encode('__proto__')], [PROTO_ID])
  assert.is(opened.tokenText(PROTO_ID), '__proto__')
  const level = { ...bare, model: { type: 'WordLevel', vocab, unk_token: '__proto__' } }
  assert.equal([...createTokenizer({ tokenizer: level, config: {} }).encode('toString')], [PROTO_ID])
  const unknown = { ...level, model: { ...level.model, unk_token: 'toString' } }
  assert.throws(() => createTokenizer({ tokenizer: unknown, config: {} }), /'toString' outside/)
  const around = (name: string, id: number) => ({
    ...{ type: 'TemplateProcessing', single: [{ SpecialToken: { id: name } }, { Sequence: { id: 'A' } }] },
    special_tokens: JSON.parse(`{"${name}":{"id":"${name}","ids":[${id}]}}`),
  })
  const begun = { ...bare, post_processor: around('__proto__', PROTO_ID) }
  assert.equal(
    [...createTokenizer({ tokenizer: begun, config: {} }).encode('p', { begin: true })],
    [PROTO_ID, vocab.p],
  )
  for (const name of ['__proto__', 'valueOf'])
    assert.throws(
      () => createTokenizer({ tokenizer: { ...bare, post_processor: around(name, 3) }, config: {} }),
      /with the ids/,
    )
})

test('digits and punctuation are cut as asked, not as is usual', () => {
  const ids = (pre_tokenizer: object) => [...letters({ pre_tokenizer }).encode('12.,')]
  assert.equal(ids({ type: 'Digits', individual_digits: true }), [5, 6, 9])
  assert.equal(ids({ type: 'Digits', individual_digits: false }), [8, 9])
  assert.equal(ids({ type: 'Punctuation' }), [8, 3, 4])
  assert.equal(ids({ type: 'Punctuation', behavior: 'Contiguous' }), [8, 9])
  assert.equal(ids({ type: 'Punctuation', behavior: 'Removed' }), [8])
  const at = { String: '2' }
  assert.equal(ids({ type: 'Split', pattern: at, behavior: 'MergedWithPrevious', invert: false }), [8, 9])
  assert.equal(ids({ type: 'Split', pattern: at, behavior: 'MergedWithNext', invert: false }), [5, 6, 9])
  assert.equal(ids({ type: 'Split', pattern: at, behavior: 'Removed', invert: false }), [5, 9])
})

test('parts that are read only in part are refused by name', () => {
  const bpe = { type: 'BPE', vocab: { a: 0 }, merges: [] }
  const cut = { type: 'Split', behavior: 'Isolated' }
  const cases: readonly (readonly [object, object, RegExp])[] = [
    [{ model: { ...bpe, dropout: 0.1 } }, {}, /model\.dropout/],
    [{ model: { ...bpe, continuing_subword_prefix: '##' } }, {}, /continuing_subword_prefix/],
    [{ model: { type: 'Unigram', vocab: [['a', 0]], unk_id: 0, byte_fallback: true } }, {}, /byte_fallback/],
    [{ model: { ...bpe, type: 'Other' } }, {}, /model\.type/],
    [{ model: { ...bpe, merges: ['a b'] } }, {}, /merges: 'a b', with 'b' outside of the vocabulary/],
    [{ model: { ...bpe, vocab: { a: 0, b: 1 }, merges: [['a', 'b']] } }, {}, /with 'ab' outside/],
    [{ model: { ...bpe, vocab: { a: 3e9 } } }, {}, /model\.vocab\.a/],
    [{ model: { ...bpe, vocab: { a: 1.5 } } }, {}, /model\.vocab\.a/],
    [{ model: { ...bpe, vocab: ['a'] } }, {}, /model\.vocab/],
    [{ model: { type: 'WordLevel', vocab: { a: 0 }, unk_token: '[UNK]' } }, {}, /unk_token: '\[UNK\]'/],
    [{ added_tokens: [{ id: 3e9, content: '<x>', special: true }] }, {}, /added_tokens\.0\.id/],
    [
      {
        post_processor: {
          type: 'TemplateProcessing',
          special_tokens: { '<s>': { id: '<s>', ids: [2], tokens: ['<s>'] } },
        },
      },
      {},
      /TemplateProcessing: '<s>' with the ids \[2\]/,
    ],
    [{ normalizer: { type: 'Precompiled', precompiled_charsmap: '' } }, {}, /Precompiled/],
    [{ pre_tokenizer: { type: 'UnicodeScripts' } }, {}, /UnicodeScripts/],
    [{ pre_tokenizer: { type: 'FixedLength', length: 2 } }, {}, /FixedLength/],
    [{ pre_tokenizer: { type: 'Split', pattern: { String: 'a' }, behavior: 'Odd' } }, {}, /behavior "Odd"/],
    [
      { pre_tokenizer: { type: 'Split', pattern: { String: 'a' }, behavior: 'Contiguous', invert: true } },
      {},
      /Contiguous with invert/,
    ],
    [{ added_tokens: [{ id: 1, content: '<x>', special: true, single_word: true }] }, {}, /<x>.*single_word/],
    [{ pre_tokenizer: { ...cut, pattern: { Regex: ' ?[^\\s]++[\\r\\n]*' } } }, {}, /possessive/],
    [{ pre_tokenizer: { ...cut, pattern: { Regex: '(?>a+)b' } } }, {}, /atomic/],
    [
      {},
      { added_tokens_decoder: { 77: { content: '<y>', special: true } } },
      /added_tokens_decoder\.77.*<y>/,
    ],
    [{}, { split_special_tokens: true }, /split_special_tokens/],
  ]
  for (const [parts, config, named] of cases)
    assert.throws(
      () => letters(parts, { bos_token: null, eos_token: null, ...config }),
      (error: Error) =>
        error instanceof RlError && named.test(error.message) && error.message.startsWith('some/folder'),
      String(named),
    )
})

test('marks of quantifiers in classes and escapes are characters', () => {
  for (const Regex of ['[?+*]+', '\\++', '\\?+|a', '[^\\]*+]+'])
    letters({ pre_tokenizer: { type: 'Split', behavior: 'Isolated', pattern: { Regex } } }, {})
})

test('tokens that tokenizer_config.json names stand whole in a text, and are special', () => {
  const ids = (config: object) => [...letters({}, config).encode('a.,')]
  assert.equal([...letters({}).encode('a<s>')], [0, 10])
  const added = { added_tokens_decoder: { 1: { content: 'b', special: true } } }
  assert.is(letters({}, added).decode([0, 1, 0]), 'aa')
  for (const config of [
    { additional_special_tokens: ['.'] },
    { extra_special_tokens: { image: '.' } },
    { image_token: { content: '.' } },
  ]) {
    assert.equal(ids(config), [0, 3, 4], JSON.stringify(config))
    assert.is(letters({}, config).decode([0, 3, 0]), 'aa')
  }
  assert.equal(ids({ pad_token: '', image_token: null }), [0, 9])
})

test('a template knows tools, calls and their answers as transformers tells them', () => {
  const one =
    '{% if tools is not none %}{{ tools[0].function.name }} {% endif %}{% if pad_token is defined %}pad {% endif %}{% for m in messages %}{{ m.content }}{{ m.name }}{{ m.tool_call_id }}{% for c in m.tool_calls or [] %}{{ c.id }}{% endfor %}{% endfor %}'
  const chat = [
    { role: 'assistant' as const, content: 'x', toolCalls: [{ id: 'c1', name: 'f', arguments: {} }] },
    { role: 'tool' as const, content: 'y', toolCallId: 'c1', toolName: 'f' },
  ]
  const tools = [{ name: 'f', description: '', parameters: {} }]
  const plain = letters({}, { chat_template: one })
  assert.is(plain.renderChat(chat), 'xc1yfc1')
  assert.is(plain.renderChat(chat, { tools }), 'f xc1yfc1')
  const named = letters(
    {},
    {
      chat_template: [
        { name: 'default', template: 'no {{ messages[0].content }}' },
        { name: 'tool_use', template: `tools ${one}` },
      ],
    },
  )
  assert.is(named.renderChat(chat), 'no x')
  assert.is(named.renderChat(chat, { tools }), 'tools f xc1yfc1')
})

test('what is wrong with a chat names no folder: whoever asks a server reads it', () => {
  const chat = [{ role: 'user', content: 'a' }] as const
  for (const [config, why] of [
    [{ chat_template: '{{ raise_exception("roles must alternate") }}' }, /roles must alternate/],
    [{ chat_template: '{{ nothing|tojson }}' }, /tojson is not for what is undefined/],
    [{ chat_template: '{% broken' }, /chat template: ./],
    [{}, /this model has no chat template/],
  ] as const)
    assert.throws(
      () => letters({}, config).renderChat(chat),
      (error: RlError) => why.test(error.message) && !/some.folder/.test(`${error.message} ${error.hint}`),
    )
})

test('files that are no tokenizer are refused with their name', () => {
  assert.throws(() => createTokenizer({ tokenizer: {}, config: {} }, 'some/folder'), /some\/folder/)
  assert.throws(() => createTokenizer({ ...files, config: { eos_token: 5 } }), /eos_token/)
  const silent = createTokenizer({ ...files, config: { ...files.config, chat_template: undefined } })
  assert.throws(() => silent.renderChat([]), /no chat template/)
})

test.run()
