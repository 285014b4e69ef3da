/** Text of a growing sequence: the same as that of the whole, at a cost of each token alone. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { growingText } from '../../../src/models/local/growing-text.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../../src/models/local/word-tokenizer.ts'
import { byteTokenizer } from '../../support/byte-tokenizer.ts'

const bytes = createTokenizer(byteTokenizer())
const words = createTokenizer(trainWordTokenizer({ words: ['go to cabinet 1', "don't (a=b)."] }))

/** Of Llama 2's make: the space before a text is no part of it, bytes for what the vocabulary lacks. */
const pieces = ['<s>', '▁', 'h', '▁hi', '\uFFFD', ...[0xc3, 0xa9, 0xf0, 0x9f, 0x98, 0x80].map(byteName)]
const spaced = createTokenizer({
  tokenizer: {
    added_tokens: [{ id: 0, content: '<s>', special: true }],
    ...{ normalizer: null, pre_tokenizer: null, post_processor: null },
    decoder: {
      type: 'Sequence',
      decoders: [
        { type: 'Replace', pattern: { String: '▁' }, content: ' ' },
        { type: 'ByteFallback' },
        { type: 'Fuse' },
        { type: 'Strip', content: ' ', start: 1, stop: 0 },
      ],
    },
    model: { type: 'BPE', vocab: Object.fromEntries(pieces.map((piece, id) => [piece, id])), merges: [] },
  },
  config: {},
} as never)

function byteName(byte: number): string {
  return `<0x${byte.toString(16).toUpperCase()}>`
}

for (const [name, tokenizer] of Object.entries({ bytes, words, spaced })) {
  const token = fc.oneof(
    fc.nat(tokenizer.size - 1),
    // Parts of characters, and special tokens among them.
    fc.constantFrom(0xf0, 0x9f, 0x98, 0x80, 0xc3, 0xa9, 256).map((id) => id % tokenizer.size),
  )
  test(`${name}: what is told is the whole text but for an unfinished character`, () => {
    fc.assert(
      fc.property(fc.array(token, { maxLength: 60 }), (tokens) => {
        const grown = growingText((ids) => tokenizer.decode(ids))
        const told = tokens.map((id) => grown(id)).join('')
        const whole = tokenizer.decode(tokens)
        assert.ok(whole.startsWith(told), `${JSON.stringify(told)} of ${JSON.stringify(whole)}`)
        assert.match(whole.slice(told.length), /^\uFFFD*$/)
      }),
      { numRuns: 300 },
    )
  })
}

for (const [name, next] of Object.entries({
  letters: () => 0x61,
  'parts of characters': (i: number) => [0xf0, 0x9f, 0x98, 0x80][i % 4],
  'bytes that are no character': () => 0x80,
  'beginnings of characters': () => 0xf0,
  'special tokens': (i: number) => (i === 0 ? 0x61 : 256),
}))
  test(`each token of ${name} costs the same, however many there were`, () => {
    let decoded = 0
    const grown = growingText((ids) => {
      decoded += ids.length
      return bytes.decode(ids)
    })
    const count = 2_000
    let told = 0
    for (let i = 0; i < count; i++) told += grown(next(i)).length
    assert.ok(decoded < 60 * count, `${decoded} tokens were decoded for ${count}`)
    assert.ok(told > 0)
  })

test.run()
