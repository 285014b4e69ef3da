/** Streams of events, wherever their bytes are cut. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { eventReader } from '../../src/models/openai/events.ts'

function read(...parts: readonly Uint8Array[]) {
  const reader = eventReader()
  const events = [...parts.flatMap((part) => reader.push(part)), ...reader.end()]
  return events.map(({ type, lines }) => `${type} ${lines.join('\n')}`)
}

const bytes = (text: string) => Buffer.from(text)

for (const [what, stream, expected] of [
  ['lines that end by CR LF', 'data: a\r\ndata: b\r\n\r\n', ['message a\nb']],
  ['lines that end by CR', 'data: a\rdata: b\r\rdata: c\r\r', ['message a\nb', 'message c']],
  [
    'ends of lines of every kind',
    'data: a\r\rdata: b\n\r\ndata: c\r\n\n',
    ['message a', 'message b', 'message c'],
  ],
  ['a byte order mark', '\ufeffdata: a\n\n', ['message a']],
  ['comments', ': still there\n\n:\ndata: a\n: b\ndata: c\n\n', ['message a\nc']],
  ['names of events', 'event: error\ndata: a\n\ndata: b\n\n', ['error a', 'message b']],
  ['fields that mean nothing here', 'id: 7\nretry: 10\nother: x\ndata: a\n\nid: 8\n\n', ['message a']],
  ['one space after the colon, and no other', 'data:  a \n\ndata:b\n\n', ['message  a ', 'message b']],
  ['a field without a colon', 'data\n\ndata\ndata\n\n', ['message ', 'message \n']],
  ['an end without an empty line', 'data: a', ['message a']],
] as const)
  test(`events are read with ${what}`, () => {
    assert.equal(read(bytes(stream)), expected)
    assert.equal(read(...[...bytes(stream)].map((byte) => Uint8Array.of(byte))), expected)
  })

test('the same events come however the bytes are cut', () => {
  const whole = bytes('\ufeffevent: x\r\ndata: où\r\r\n: é\rdata: 東京\ndata: 🙂\n\ndata: last\r\n\r\n')
  const expected = ['x où', 'message 東京\n🙂', 'message last']
  fc.assert(
    fc.property(fc.array(fc.nat(whole.length), { maxLength: 8 }), (cuts) => {
      const ends = [0, ...cuts.sort((a, b) => a - b), whole.length]
      assert.equal(read(...ends.slice(1).map((end, i) => whole.subarray(ends[i], end))), expected)
    }),
  )
})

test('bytes that are no UTF-8 are refused by name', () => {
  assert.throws(() => read(bytes('data: a\n'), Uint8Array.of(0x64, 0xff)), /not UTF-8/)
  assert.throws(() => read(Uint8Array.of(0x64, 0xc3)), /not UTF-8/)
})

test.run()
