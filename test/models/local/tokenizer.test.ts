import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
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

test('files that are no tokenizer are refused with their name', () => {
  assert.throws(() => createTokenizer({ tokenizer: {}, config: {} }, 'some/folder'), /some\/folder/)
  assert.throws(() => createTokenizer({ ...files, config: { eos_token: 5 } }), /eos_token/)
  const silent = createTokenizer({ ...files, config: { ...files.config, chat_template: undefined } })
  assert.throws(() => silent.renderChat([]), /no chat template/)
})

test.run()
