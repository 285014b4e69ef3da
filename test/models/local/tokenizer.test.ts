import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../../src/errors.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { CHAT_END, splitWords, trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'

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

test('files that are no tokenizer are refused with their name', () => {
  assert.throws(() => createTokenizer({ tokenizer: {}, config: {} }, 'some/folder'), /some\/folder/)
  assert.throws(() => createTokenizer({ ...files, config: { eos_token: 5 } }), /eos_token/)
  const silent = createTokenizer({ ...files, config: { ...files.config, chat_template: undefined } })
  assert.throws(() => silent.renderChat([]), /no chat template/)
})

test.run()
