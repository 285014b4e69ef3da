/** Makes hostile inputs from real ones: bytes, texts, and trees of values. */
import type { Rng } from '../../src/random.ts'

/** Values at which programs break. */
const NUMBERS = [0, -0, 1, -1, 0.5, 2 ** 31, -(2 ** 31), 2 ** 32, 2 ** 53, -(2 ** 53), 1e308, Number.NaN]
const NAMES = [
  '__proto__',
  'constructor',
  'toString',
  'length',
  '',
  '\u0000',
  '\ufeff',
  '$blob',
  'id',
  'data',
]
const TEXTS = [
  ...['', ' ', '\n', '\u0000', '\ufeff', '\ud800', '../../etc/passwd', '\u202e', '%s%n', '$(id)', '{{ 1 }}'],
  ...['x'.repeat(70_000), '𝒳'.repeat(999), '9'.repeat(400), '-0', '1e999', 'NaN', 'null', 'true', '{}', '[]'],
]
const BYTES = [0x00, 0x01, 0x0a, 0x22, 0x5b, 0x7b, 0x7f, 0x80, 0xc0, 0xc1, 0xc6, 0xdd, 0xdf, 0xfe, 0xff]

/** A few edits: flips, cuts, insertions, repeats, and pieces of another input. */
export function mutateBytes(bytes: Uint8Array, other: Uint8Array, draw: Rng): Uint8Array {
  let now = Buffer.from(bytes)
  for (let edits = 1 + draw.below(4); edits > 0; edits--) {
    const at = draw.below(now.length + 1)
    const length = draw.below(Math.min(64, now.length - at + 1))
    const before = now.subarray(0, at)
    const after = now.subarray(at + length)
    switch (draw.below(7)) {
      case 0:
        now = Buffer.from(now)
        if (at < now.length) now[at] ^= 1 << draw.below(8)
        break
      case 1:
        now = Buffer.from(now)
        if (at < now.length) now[at] = draw.pick(BYTES)
        break
      case 2:
        now = before
        break
      case 3:
        now = Buffer.concat([before, after])
        break
      case 4:
        now = Buffer.concat([before, Buffer.from([draw.pick(BYTES), draw.below(256)]), now.subarray(at)])
        break
      case 5: {
        const piece = now.subarray(at, at + 1 + length)
        now = Buffer.concat([before, ...Array<Buffer>(1 + draw.below(40)).fill(piece), after])
        break
      }
      default: {
        const from = draw.below(other.length + 1)
        now = Buffer.concat([before, other.subarray(from, from + draw.below(256)), after])
      }
    }
  }
  return now
}

/** As bytes, and now and then in another encoding, or with a mark in front. */
export function mutateText(text: string, other: string, draw: Rng): Uint8Array {
  switch (draw.below(12)) {
    case 0:
      return Buffer.from(text, 'utf16le')
    case 1:
      return Buffer.from(text, 'latin1')
    case 2:
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(text)])
    case 3:
      return Buffer.from(text.replaceAll('\n', '\r'))
    default:
      return mutateBytes(Buffer.from(text), Buffer.from(other), draw)
  }
}

export type Tree = unknown

function isBranch(tree: Tree): tree is Record<string, Tree> | Tree[] {
  return typeof tree === 'object' && tree !== null && !ArrayBuffer.isView(tree)
}

/** A value that is none of what stands there. */
function otherValue(draw: Rng): Tree {
  switch (draw.below(8)) {
    case 0:
      return draw.pick(NUMBERS)
    case 1:
      return draw.pick(TEXTS)
    case 2:
      return draw.pick([null, true, false])
    case 3:
      return Array.from({ length: draw.below(50) }, () => draw.pick(NUMBERS))
    case 4:
      return nested(1 + draw.below(300), draw.uniform() < 0.5)
    case 5:
      return new Uint8Array(draw.below(100))
    case 6:
      return Object.fromEntries(Array.from({ length: draw.below(60) }, (_, index) => [`k${index}`, index]))
    default:
      return { [draw.pick(NAMES)]: draw.pick(TEXTS) }
  }
}

function nested(depth: number, isList: boolean): Tree {
  let tree: Tree = 0
  for (let level = 0; level < depth; level++) tree = isList ? [tree] : { a: tree }
  return tree
}

/** Changes one place of a tree: another value, a key less, a further key, a value twice, or one of another tree. */
export function mutateTree(tree: Tree, other: Tree, draw: Rng): Tree {
  if (!isBranch(tree) || draw.uniform() < 0.08) return draw.uniform() < 0.2 ? other : otherValue(draw)
  if (Array.isArray(tree)) {
    if (tree.length === 0) return [otherValue(draw)]
    const at = draw.below(tree.length)
    const list = [...tree]
    const kind = draw.below(5)
    if (kind === 0) list.splice(at, 1)
    else if (kind === 1) list.splice(at, 0, list[at])
    else list[at] = mutateTree(list[at], other, draw)
    return list
  }
  const keys = Object.keys(tree)
  if (keys.length === 0) return { [draw.pick(NAMES)]: otherValue(draw) }
  const key = draw.pick(keys)
  const entries = Object.entries(tree)
  const at = keys.indexOf(key)
  const kind = draw.below(6)
  if (kind === 0) entries.splice(at, 1)
  else if (kind === 1) entries.push([draw.pick(NAMES), otherValue(draw)])
  else if (kind === 2) entries[at] = [draw.pick(NAMES), tree[key]]
  else entries[at] = [key, mutateTree(tree[key], other, draw)]
  // Not Object.fromEntries alone: a key `__proto__` must stay a key.
  const made: Record<string, Tree> = {}
  for (const [name, value] of entries)
    Object.defineProperty(made, name, { value, enumerable: true, writable: true, configurable: true })
  return made
}
