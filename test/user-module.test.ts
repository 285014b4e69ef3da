import { createHash } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../src/errors.ts'
import { loadUserModule } from '../src/user-module.ts'

const folder = mkdtempSync(join(tmpdir(), 'rl-module-'))
test.after(() => rmSync(folder, { recursive: true, force: true }))

const refused = async (name: string): Promise<RlError> => {
  try {
    await loadUserModule(name, 'learning.module')
  } catch (error) {
    assert.instance(error, RlError)
    return error as RlError
  }
  throw new Error(`${name} was loaded`)
}

test('a TypeScript file is loaded once and has a digest', async () => {
  const file = join(folder, 'mine.ts')
  writeFileSync(file, 'export const answer: number = 42\n')
  const module = await loadUserModule(file, 'learning.module')
  assert.is(module.exports.answer, 42)
  assert.is(module.digest, createHash('sha256').update(readFileSync(file)).digest('hex'))
  assert.is(await loadUserModule(file, 'learning.module'), module)
})

test('a package is found from the working folder', async () => {
  const module = await loadUserModule('yaml', 'learning.module')
  assert.type(module.exports.parse, 'function')
})

test('what is missing or broken is named with its key', async () => {
  const missing = await refused('./not-here.ts')
  assert.is(missing.code, 'module.missing')
  assert.match(missing.message, /learning\.module: there is no file .*not-here\.ts/)
  assert.match((await refused('no-such-package-of-anyone')).hint ?? '', /npm install/)
  const file = join(folder, 'broken.ts')
  writeFileSync(file, "throw new Error('not today')\n")
  const broken = await refused(file)
  assert.is(broken.code, 'module.broken')
  assert.match(broken.message, /broken\.ts cannot be loaded: .*not today/)
})

test('a folder is loaded by its main module, and refused by name if it has none', async () => {
  const inFolder = (name: string, files: Readonly<Record<string, string>>) => {
    const place = join(folder, name)
    mkdirSync(place)
    for (const [file, text] of Object.entries(files)) writeFileSync(join(place, file), text)
    return place
  }
  const text = 'export const answer = 42\n'
  const whole: readonly Readonly<Record<string, string>>[] = [
    { 'package.json': '{"main": "mine.mjs"}', 'mine.mjs': text },
    { 'index.ts': text },
    { 'index.mjs': text },
  ]
  for (const files of whole) {
    const place = inFolder(`with-${Object.keys(files)[0]}`, files)
    assert.is((await loadUserModule(place, 'learning.module')).exports.answer, 42)
  }
  const none = await refused(inFolder('without', { 'mine.ts': text }))
  assert.is(none.code, 'module.missing')
  assert.match(none.message, /learning\.module: the folder .*without has no main module/)
})

test('the line is told at which loading ended: of a text that is none, of what throws, of an import that is not there', async () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['odd.mjs', 'export const a = 1\nexport const b = {\n  c: 1,,\n}\n', /odd\.mjs:3: Unexpected token ','/],
    ['odd.ts', 'export const a: number = 1\nexport const b: = 2\n', /odd\.ts:2: /],
    ['top.ts', 'const nobody = undefined\nnobody.name\n', /top\.ts:2:\d+: Cannot read properties/],
    ['import.mjs', "import { nothing } from 'node:fs'\n", /import\.mjs:1: .*'nothing'/],
  ]
  for (const [name, text, message] of cases) {
    const file = join(folder, name)
    writeFileSync(file, text)
    assert.match((await refused(file)).message, message)
  }
})

test('a module that never ends to load, or throws nothing at all, is told like any that is broken', async () => {
  const file = join(folder, 'waits.mjs')
  writeFileSync(file, 'await new Promise(() => {})\n')
  const late = await loadUserModule(file, 'learning.module', 50).catch((error: unknown) => error as RlError)
  assert.is((late as RlError).code, 'module.broken')
  assert.match((late as RlError).message, /learning\.module: .*waits\.mjs cannot be loaded: .*within 0\.05 s/)
  const nothing = join(folder, 'nothing.mjs')
  writeFileSync(nothing, 'throw undefined\n')
  assert.match((await refused(nothing)).message, /nothing\.mjs cannot be loaded/)
})

test.run()
