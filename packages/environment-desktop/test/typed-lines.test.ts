/** Lines that are typed into programs arrive as they were typed. */
import { rng, seedOf } from 'rlanything/environments'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { calculation, drawLines, type Line } from '../src/typed/lines.ts'
import { TYPED_PROGRAMS, type TypedProgram } from '../src/typed/programs.ts'
import { lostLines, typeLines } from '../src/typed/type-lines.ts'
import { canRun } from './support.ts'

const asLines = (...texts: readonly string[]): readonly Line[] =>
  texts.map((typed) => ({ typed, wanted: typed }))

test('equal seeds draw equal lines, all of them different, with every kind of character', () => {
  for (const { name, draw } of TYPED_PROGRAMS) {
    const lines = drawLines(draw, 1, name, 200)
    assert.equal(drawLines(draw, 1, name, 200), lines, name)
    assert.not.equal(drawLines(draw, 2, name, 200), lines, name)
    assert.is(new Set(lines.map(({ typed }) => typed)).size, 200, name)
  }
  const [mousepad] = TYPED_PROGRAMS
  const text = drawLines(mousepad.draw, 1, 'mousepad', 200)
    .map(({ typed }) => typed)
    .join('\n')
  for (const kind of [/[a-z]/, /[A-Z]/, /[0-9]/, /[;'/\\]/, /[!?"{]/, /^ /m, / $/m, /(.)\1/, /[äЖ日]/, /😀/u])
    assert.match(text, kind)
})

test('a calculation has the same result from left to right', () => {
  const random = rng(seedOf(1, 'calculation'))
  for (let i = 0; i < 200; i++) {
    const { typed, wanted } = calculation(random)
    const [first, ...rest] = typed.split(/(?=[-+*/])/)
    const result = rest.reduce((value, part) => {
      const number = Number(part.slice(1))
      if (part.startsWith('/')) return value / number
      if (part.startsWith('*')) return value * number
      return part.startsWith('+') ? value + number : value - number
    }, Number(first))
    assert.is(String(result), wanted, typed)
  }
})

const CASES: readonly (readonly [what: string, found: readonly string[], lost: readonly string[]])[] = [
  ['nothing', ['ab', 'cd', 'ef', ''], []],
  ['a key', ['ab', 'd', 'ef', ''], ['cd']],
  ['the end of a line', ['abcd', 'ef', ''], ['ab', 'cd']],
  ['the last line', ['ab', 'cd', ''], ['ef']],
  ['all', [''], ['ab', 'cd', 'ef']],
  ['nothing, but an end of a line came twice', ['ab', '', 'cd', 'ef', ''], ['cd']],
]
for (const [what, found, lost] of CASES)
  test(`${what} was lost, and the lines are told`, () => {
    assert.equal(
      lostLines(asLines('ab', 'cd', 'ef'), found).map(({ wanted }) => wanted),
      lost,
    )
  })

for (const [name, count] of [
  ['mousepad', 10],
  ['xterm', 10],
  ['pcmanfm', 4],
  ['chromium', 10],
] as const) {
  const program = TYPED_PROGRAMS.find((one) => one.name === name) as TypedProgram
  if (canRun(`lines typed into ${name}`, program.program))
    test(`${count} lines that an agent types into ${name} arrive whole`, async () => {
      assert.equal(await typeLines(program, { seed: 1, count }), [])
    })
}

test.run()
