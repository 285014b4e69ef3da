/** Messages of hostile shapes and sizes, for each subject that a tool or a worker may use. */
import { uuidv7 } from 'uuidv7'
import { pack } from '../../src/events/msgpack.ts'
import { subjectsOf } from '../../src/events/subjects.ts'

const subjects = subjectsOf('test')
const MEGABYTE = 1024 * 1024
const append = subjects.append('policy-worker')

function header(tag: number, size: number): Buffer {
  const bytes = Buffer.alloc(5, tag)
  bytes.writeUInt32BE(size, 1)
  return bytes
}

/** So many times the same bytes behind a header. */
function many(tag: number, part: readonly number[], count: number): Buffer {
  return Buffer.concat([header(tag, count), Buffer.alloc(part.length * count, Buffer.from(part))])
}

/** Values of some size that take long to read, to check, or to complain about. */
export const HOSTILE: Readonly<Record<string, (bytes: number) => Buffer>> = {
  bytes: (n) => many(0xc6, [0], n),
  'a text': (n) => many(0xdb, [0x61], n),
  'a text of half characters': (n) => many(0xdb, [0xff], n),
  'an extension': (n) => Buffer.concat([header(0xc9, n), Buffer.alloc(n + 1)]),
  numbers: (n) => many(0xdd, [7], n),
  floats: (n) => many(0xdd, [0xcb, 1, 2, 3, 4, 5, 6, 7, 8], n / 9),
  'empty maps': (n) => many(0xdd, [0x80], n),
  'tiny groups': (n) => many(0xdd, [0x91, 0xc4, 1, 0], n / 4),
  'one group of tiny events': (n) => Buffer.concat([Buffer.from([0x91]), many(0xdd, [0xc4, 1, 0], n / 3)]),
  'deep lists': (n) => Buffer.alloc(n, 0x91),
  'deep maps': (n) => Buffer.alloc(n, Buffer.from([0x81, 0xa1, 0x61])),
  'a key again and again': (n) => many(0xdf, [0xa1, 0x61, 0], n / 3),
  'numbers for keys': (n) => many(0xdf, [5, 5], n / 2),
  'many keys': (n) => {
    const bytes = many(0xdf, [0xa7, 0x6b, 0x6b, 0x6b, 0x6b, 0x6b, 0x6b, 0x6b, 0], n / 9)
    for (let key = 0; 13 + 9 * key <= bytes.length; key++)
      bytes.write(key.toString(36).padStart(7, 'k'), 6 + 9 * key, 'latin1')
    return bytes
  },
  'a long key': (n) => Buffer.concat([Buffer.from([0x81]), many(0xdb, [0x62], n), Buffer.from([0])]),
  'a text that is cut off': (n) => many(0xdb, [0x61], n).subarray(0, n),
  'a map that is cut off': (n) => many(0xdf, [0xa0], n),
}

/** A map of which one field is hostile. */
function withField(fields: Readonly<Record<string, unknown>>, name: string, value: Uint8Array): Buffer {
  const others = Object.entries(fields).filter(([key]) => key !== name)
  const pairs = others.flatMap(([key, other]) => [pack(key), pack(other)])
  return Buffer.concat([Buffer.from([0x81 + others.length]), ...pairs, pack(name), value])
}

const stall = { owner: 'x', waitingFor: 'y', from: 'z', since: 1, deadline: 2 }
export const envelope = (type: string) => ({
  ...{ id: uuidv7(), type, v: 1, run: 'test', actor: 'policy/x', time: 1, cause: null, data: stall },
})

/** Requests and other messages that a hostile value stands in, as the user `policy-worker` may send them in a run `test`. */
export function messagesOf(kind: string): readonly (readonly [subject: string, body: Uint8Array])[] {
  const make = HOSTILE[kind]
  const [large, inline, small] = [make(6 * MEGABYTE), make(200_000), make(3_000)]
  const group = (body: Uint8Array) => pack([[body]])
  const asked = ['read', 'has', 'head'] as const
  return [
    ...asked.map((name) => [subjects.log(name), large] as const),
    [subjects.blob('get'), large],
    [subjects.put('policy-worker'), large],
    [subjects.call('actors'), large],
    [append, large],
    [append, make(900_000)],
    [append, group(inline)],
    [append, group(withField(envelope('StallDetected'), 'data', inline))],
    [append, group(withField(envelope('TrajectoryCompleted'), 'data', inline))],
    [append, group(withField({ ...envelope('StallDetected') }, 'cause', inline))],
    [append, group(withField(envelope('StallDetected'), 'data', withField(stall, 'owner', inline)))],
    [subjects.log('read'), withField({ from: 1 }, 'types', small)],
    [subjects.log('read'), withField({ from: 1 }, 'seen', small)],
    [subjects.log('has'), withField({}, 'keys', inline)],
    [
      subjects.put('policy-worker'),
      withField({ sha256: 'a'.repeat(64), bytes: 9, offset: 0 }, 'chunk', inline),
    ],
    [subjects.tapOf('heartbeat', 'policy-worker'), large],
    [subjects.tapOf('heartbeat', 'policy-worker'), withField({ role: 'policy' }, 'waits', inline)],
    [subjects.tapOf('fault', 'policy-worker'), large],
  ]
}
