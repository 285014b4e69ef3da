/**
 * The words of the generated family: shapes of input, and operations on a value. Each has the phrase that
 * asks for it, its Python, and its meaning. Programs use no quotes and no indentation, so a small word-level
 * model can write them.
 */

import type { Rng } from 'rlanything/environments'
import { itemAt } from 'rlanything/kit'

/** Kind of value between two operations. */
export type Kind = 'int' | 'pair' | 'triple' | 'list' | 'word' | 'words' | 'flag'

/** int: number; pair, triple, list: number[]; word: string; words: string[]; flag: boolean. */
export type Value = number | string | boolean | readonly number[] | readonly string[]

type Pair = readonly [number, number]
type Triple = readonly [number, number, number]

export type Shape = {
  readonly kind: Exclude<Kind, 'flag'>
  readonly phrase: string
  /** Python that reads the input into `r`. */
  readonly code: string
  readonly draw: (random: Rng) => Value
}

const WORDS =
  'apple bird cat deer eagle fish goat hat ice jam kiwi level moon noon otter pig radar sun tree wolf'.split(
    ' ',
  )
const digits = (random: Rng, count: number) => Array.from({ length: count }, () => random.below(10))
const INTEGERS = 'list(map(int, input().split()))'

export const SHAPES: readonly Shape[] = [
  { kind: 'int', phrase: 'read an integer', code: 'r = int(input())', draw: (random) => random.below(30) },
  {
    kind: 'pair',
    phrase: 'read two integers',
    code: `r = ${INTEGERS}`,
    draw: (random) => [random.below(20), 1 + random.below(9)],
  },
  {
    kind: 'triple',
    phrase: 'read three integers',
    code: `r = ${INTEGERS}`,
    draw: (random) => digits(random, 3),
  },
  {
    kind: 'list',
    phrase: 'read a list of integers',
    code: `r = ${INTEGERS}`,
    draw: (random) => digits(random, 3 + random.below(4)),
  },
  { kind: 'word', phrase: 'read a word', code: 'r = input()', draw: (random) => random.pick(WORDS) },
  {
    kind: 'words',
    phrase: 'read a list of words',
    code: 'r = input().split()',
    draw: (random) => Array.from({ length: 2 + random.below(3) }, () => random.pick(WORDS)),
  },
]

export type Operation = {
  readonly name: string
  readonly from: Kind
  readonly to: Kind
  /** Smallest and largest constant. Absent if the operation has none. */
  readonly range?: readonly [least: number, most: number]
  /** Difficulty to understand and write, 1 to 3. */
  readonly level: number
  /** `#` is replaced by the constant, here and in `code`. */
  readonly phrase: string
  /** A Python expression of `r`. */
  readonly code: string
  readonly apply: (value: never, constant: number) => Value
}

/** Python's // and %, which round down. */
const quotient = (a: number, b: number) => Math.floor(a / b)
const remainder = (a: number, b: number) => a - b * Math.floor(a / b)
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
const ascending = (values: readonly number[]) => [...values].sort((a, b) => a - b)
const reverse = (text: string) => [...text].reverse().join('')

type Row<V> = readonly [
  name: string,
  to: Kind,
  level: number,
  range: readonly [number, number] | null,
  phrase: string,
  code: string,
  apply: (value: V, constant: number) => Value,
]

function operations<V>(from: Kind, rows: readonly Row<V>[]): Operation[] {
  return rows.map(([name, to, level, range, phrase, code, apply]) => ({
    name: `${from}-${name}`,
    from,
    to,
    level,
    phrase,
    code,
    apply: apply as Operation['apply'],
    ...(range ? { range } : {}),
  }))
}

export const OPERATIONS: readonly Operation[] = [
  ...operations<number>('int', [
    ['plus', 'int', 1, [1, 9], 'add #', 'r + #', (n, c) => n + c],
    ['minus', 'int', 1, [1, 9], 'subtract #', 'r - #', (n, c) => n - c],
    ['times', 'int', 1, [2, 5], 'multiply by #', 'r * #', (n, c) => n * c],
    ['from', 'int', 2, [10, 40], 'subtract it from #', '# - r', (n, c) => c - n],
    ['square', 'int', 1, null, 'square it', 'r * r', (n) => n * n],
    ['over', 'int', 2, [2, 5], 'divide by # and round down', 'r // #', (n, c) => quotient(n, c)],
    ['mod', 'int', 2, [2, 7], 'take the remainder by #', 'r % #', (n, c) => remainder(n, c)],
    ['least', 'int', 2, [3, 20], 'take the larger of it and #', 'max(r, #)', (n, c) => Math.max(n, c)],
    ['most', 'int', 2, [3, 20], 'take the smaller of it and #', 'min(r, #)', (n, c) => Math.min(n, c)],
    ['distance', 'int', 2, [5, 20], 'take its distance to #', 'abs(r - #)', (n, c) => Math.abs(n - c)],
    [
      'digits',
      'int',
      3,
      null,
      'take the sum of its digits',
      'sum(map(int, str(abs(r))))',
      (n) => sum([...String(Math.abs(n))].map(Number)),
    ],
    [
      'upto',
      'int',
      2,
      null,
      'sum all integers below it',
      'sum(range(r))',
      (n) => (n > 0 ? (n * (n - 1)) / 2 : 0),
    ],
    ['above', 'flag', 1, [3, 20], 'is it greater than #', 'r > #', (n, c) => n > c],
    ['below', 'flag', 1, [3, 20], 'is it less than #', 'r < #', (n, c) => n < c],
    ['even', 'flag', 1, null, 'is it even', 'r % 2 == 0', (n) => remainder(n, 2) === 0],
    ['divisible', 'flag', 2, [3, 5], 'is it divisible by #', 'r % # == 0', (n, c) => remainder(n, c) === 0],
  ]),
  ...operations<Pair>('pair', [
    ['sum', 'int', 1, null, 'add them', 'r[0] + r[1]', ([a, b]) => a + b],
    ['difference', 'int', 1, null, 'subtract the second from the first', 'r[0] - r[1]', ([a, b]) => a - b],
    ['product', 'int', 1, null, 'multiply them', 'r[0] * r[1]', ([a, b]) => a * b],
    ['max', 'int', 1, null, 'take the larger', 'max(r)', ([a, b]) => Math.max(a, b)],
    ['min', 'int', 1, null, 'take the smaller', 'min(r)', ([a, b]) => Math.min(a, b)],
    ['distance', 'int', 2, null, 'take their distance', 'abs(r[0] - r[1])', ([a, b]) => Math.abs(a - b)],
    [
      'over',
      'int',
      2,
      null,
      'divide the first by the second and round down',
      'r[0] // r[1]',
      ([a, b]) => quotient(a, b),
    ],
    [
      'mod',
      'int',
      2,
      null,
      'take the remainder of the first by the second',
      'r[0] % r[1]',
      ([a, b]) => remainder(a, b),
    ],
    ['squares', 'int', 2, null, 'add their squares', 'r[0] * r[0] + r[1] * r[1]', ([a, b]) => a * a + b * b],
    ['first', 'int', 1, null, 'take the first', 'r[0]', ([a]) => a],
    ['second', 'int', 1, null, 'take the second', 'r[1]', ([, b]) => b],
    ['ordered', 'flag', 1, null, 'is the first greater than the second', 'r[0] > r[1]', ([a, b]) => a > b],
    [
      'divides',
      'flag',
      2,
      null,
      'does the second divide the first',
      'r[0] % r[1] == 0',
      ([a, b]) => remainder(a, b) === 0,
    ],
  ]),
  ...operations<Triple>('triple', [
    ['sum', 'int', 1, null, 'add them', 'sum(r)', (v) => sum(v)],
    ['max', 'int', 1, null, 'take the largest', 'max(r)', (v) => Math.max(...v)],
    ['min', 'int', 1, null, 'take the smallest', 'min(r)', (v) => Math.min(...v)],
    ['middle', 'int', 2, null, 'take the middle one', 'sorted(r)[1]', (v) => ascending(v)[1] ?? Number.NaN],
    [
      'range',
      'int',
      2,
      null,
      'subtract the smallest from the largest',
      'max(r) - min(r)',
      (v) => Math.max(...v) - Math.min(...v),
    ],
    ['product', 'int', 2, null, 'multiply them', 'r[0] * r[1] * r[2]', ([a, b, c]) => a * b * c],
    [
      'mixed',
      'int',
      2,
      null,
      'multiply the first two and add the third',
      'r[0] * r[1] + r[2]',
      ([a, b, c]) => a * b + c,
    ],
    [
      'ascending',
      'flag',
      2,
      null,
      'are they in ascending order',
      'r == sorted(r)',
      (v) => v.join() === ascending(v).join(),
    ],
  ]),
  ...operations<readonly number[]>('list', [
    ['sum', 'int', 1, null, 'add them', 'sum(r)', (v) => sum(v)],
    ['max', 'int', 1, null, 'take the largest', 'max(r)', (v) => Math.max(...v)],
    ['min', 'int', 1, null, 'take the smallest', 'min(r)', (v) => Math.min(...v)],
    ['length', 'int', 1, null, 'count them', 'len(r)', (v) => v.length],
    ['first', 'int', 1, null, 'take the first', 'r[0]', (v) => itemAt(v, 0)],
    ['last', 'int', 1, null, 'take the last', 'r[-1]', (v) => itemAt(v, v.length - 1)],
    [
      'range',
      'int',
      2,
      null,
      'subtract the smallest from the largest',
      'max(r) - min(r)',
      (v) => Math.max(...v) - Math.min(...v),
    ],
    [
      'evens',
      'int',
      2,
      null,
      'count the even ones',
      'sum(v % 2 == 0 for v in r)',
      (v) => v.filter((n) => remainder(n, 2) === 0).length,
    ],
    [
      'above',
      'int',
      2,
      [2, 7],
      'count those greater than #',
      'sum(v > # for v in r)',
      (v, c) => v.filter((n) => n > c).length,
    ],
    [
      'count',
      'int',
      2,
      [0, 9],
      'count how often # is there',
      'r.count(#)',
      (v, c) => v.filter((n) => n === c).length,
    ],
    ['distinct', 'int', 2, null, 'count the distinct ones', 'len(set(r))', (v) => new Set(v).size],
    [
      'argmax',
      'int',
      3,
      null,
      'take the position of the largest from 0',
      'r.index(max(r))',
      (v) => v.indexOf(Math.max(...v)),
    ],
    [
      'mean',
      'int',
      3,
      null,
      'take their mean and round down',
      'sum(r) // len(r)',
      (v) => quotient(sum(v), v.length),
    ],
    [
      'ascending',
      'flag',
      2,
      null,
      'are they in ascending order',
      'r == sorted(r)',
      (v) => v.join() === ascending(v).join(),
    ],
    ['has', 'flag', 1, [0, 9], 'is # among them', '# in r', (v, c) => v.includes(c)],
    ['sort', 'list', 1, null, 'sort them', 'sorted(r)', (v) => ascending(v)],
    ['reverse', 'list', 1, null, 'reverse their order', 'r[::-1]', (v) => [...v].reverse()],
    ['each-plus', 'list', 2, [1, 9], 'add # to each', '[v + # for v in r]', (v, c) => v.map((n) => n + c)],
    [
      'each-times',
      'list',
      2,
      [2, 5],
      'multiply each by #',
      '[v * # for v in r]',
      (v, c) => v.map((n) => n * c),
    ],
    ['squares', 'list', 2, null, 'square each', '[v * v for v in r]', (v) => v.map((n) => n * n)],
    [
      'keep-above',
      'list',
      3,
      [1, 4],
      'keep those greater than #',
      '[v for v in r if v > #]',
      (v, c) => v.filter((n) => n > c),
    ],
    [
      'keep-even',
      'list',
      3,
      null,
      'keep the even ones',
      '[v for v in r if v % 2 == 0]',
      (v) => v.filter((n) => remainder(n, 2) === 0),
    ],
    ['rest', 'list', 1, null, 'leave out the first', 'r[1:]', (v) => v.slice(1)],
    ['front', 'list', 1, null, 'leave out the last', 'r[:-1]', (v) => v.slice(0, -1)],
    [
      'unique',
      'list',
      2,
      null,
      'sort them without repeats',
      'sorted(set(r))',
      (v) => ascending([...new Set(v)]),
    ],
  ]),
  ...operations<string>('word', [
    ['length', 'int', 1, null, 'count its letters', 'len(r)', (s) => s.length],
    ['distinct', 'int', 2, null, 'count its distinct letters', 'len(set(r))', (s) => new Set(s).size],
    [
      'firsts',
      'int',
      2,
      null,
      'count how often its first letter is there',
      'r.count(r[0])',
      (s) => s.split(s.charAt(0)).length - 1,
    ],
    ['palindrome', 'flag', 2, null, 'is it the same backwards', 'r == r[::-1]', (s) => s === reverse(s)],
    ['longer', 'flag', 1, [3, 4], 'has it more than # letters', 'len(r) > #', (s, c) => s.length > c],
    ['reverse', 'word', 1, null, 'reverse it', 'r[::-1]', (s) => reverse(s)],
    ['upper', 'word', 1, null, 'write it in capitals', 'r.upper()', (s) => s.toUpperCase()],
    [
      'capital',
      'word',
      1,
      null,
      'write its first letter as a capital and the others small',
      'r.capitalize()',
      (s) => s.slice(0, 1).toUpperCase() + s.slice(1).toLowerCase(),
    ],
    ['repeat', 'word', 1, [2, 3], 'repeat it # times', 'r * #', (s, c) => s.repeat(c)],
    ['prefix', 'word', 1, [1, 2], 'take its first # letters', 'r[:#]', (s, c) => s.slice(0, c)],
    ['suffix', 'word', 2, [1, 2], 'take its last # letters', 'r[-#:]', (s, c) => s.slice(-c)],
    ['rest', 'word', 1, null, 'leave out its first letter', 'r[1:]', (s) => s.slice(1)],
    [
      'every-other',
      'word',
      2,
      null,
      'take every other letter',
      'r[::2]',
      (s) => [...s].filter((_, i) => i % 2 === 0).join(''),
    ],
    ['mirror', 'word', 3, null, 'put its reverse after it', 'r + r[::-1]', (s) => s + reverse(s)],
    ['sort', 'word', 3, null, 'sort its letters', 'str().join(sorted(r))', (s) => [...s].sort().join('')],
  ]),
  ...operations<readonly string[]>('words', [
    ['count', 'int', 1, null, 'count them', 'len(r)', (w) => w.length],
    [
      'letters',
      'int',
      2,
      null,
      'count all their letters',
      'sum(map(len, r))',
      (w) => sum(w.map((s) => s.length)),
    ],
    [
      'lengths',
      'list',
      2,
      null,
      'take the length of each',
      '[len(v) for v in r]',
      (w) => w.map((s) => s.length),
    ],
    ['first', 'word', 1, null, 'take the first', 'r[0]', (w) => itemAt(w, 0)],
    ['last', 'word', 1, null, 'take the last', 'r[-1]', (w) => itemAt(w, w.length - 1)],
    [
      'longest',
      'word',
      3,
      null,
      'take the longest, the first of equals',
      'max(r, key=len)',
      (w) => w.reduce((best, s) => (s.length > best.length ? s : best)),
    ],
    ['reverse', 'words', 1, null, 'reverse their order', 'r[::-1]', (w) => [...w].reverse()],
    ['sort', 'words', 1, null, 'sort them', 'sorted(r)', (w) => [...w].sort()],
    ['each-reverse', 'words', 2, null, 'reverse each', '[v[::-1] for v in r]', (w) => w.map(reverse)],
    [
      'each-upper',
      'words',
      2,
      null,
      'write each in capitals',
      '[v.upper() for v in r]',
      (w) => w.map((s) => s.toUpperCase()),
    ],
    ['join', 'word', 2, null, 'join them to one word', 'str().join(r)', (w) => w.join('')],
  ]),
]

export const operationNamed = (name: string): Operation | undefined =>
  OPERATIONS.find((operation) => operation.name === name)

/** Returns the text that Python's print writes. */
export function printed(value: Value): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return typeof value === 'object' ? value.join(' ') : String(value)
}

/** Python that prints `r` of this kind. */
export const printCode = (kind: Kind) =>
  kind === 'list' || kind === 'words' || kind === 'pair' || kind === 'triple' ? 'print(*r)' : 'print(r)'
