/** Values from outside, as a schema sees them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { safeParse } from '../src/safe-parse.ts'

const bare = Object.assign(Object.create(null), {})
const HOSTILE: Readonly<Record<string, unknown>> = {
  'a length that is a bare map': { length: bare },
  'a length that has no words': { length: { valueOf: 1, toString: 1 } },
  'a size that is a bare map': { size: bare },
  'a bare map': bare,
}

for (const [name, value] of Object.entries(HOSTILE))
  test(`a schema refuses ${name}, and throws nothing`, () => {
    for (const schema of [
      z.string().min(1).max(9),
      z.array(z.string()).min(1),
      z.number().max(3),
      z.map(z.string(), z.string()).min(1),
      z.strictObject({ inner: z.string().min(1) }),
    ]) {
      assert.is(safeParse(schema, value).success, false)
      assert.is(safeParse(schema, { inner: value }).success, false)
    }
  })

test('what fits is taken, and what does not is told as zod tells it', () => {
  assert.equal(safeParse(z.string().min(1), 'x'), { success: true, data: 'x' })
  const { error } = safeParse(z.strictObject({ n: z.number() }), { n: 'x' })
  assert.equal(error?.issues[0].path, ['n'])
})

test('nothing is checked past it', () => {
  const sources = ['src', 'packages'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.includes('node_modules') && !/(^|\/)test\//.test(path))
      .map((path) => join(folder, path)),
  )
  const past = sources.filter((path) => /\.safeParse\(/.test(readFileSync(path, 'utf8')))
  assert.equal(past, [join('src', 'safe-parse.ts')])
})

test.run()
