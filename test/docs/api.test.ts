import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { apiDocs, publicEntries, signaturesOf } from '../../scripts/docs/api.ts'
import { sentencesOf } from '../../scripts/docs/prose.ts'
import { temporaryFolder } from '../support/run.ts'

const pages = apiDocs()

for (const { path, text } of pages)
  test(`${path} is current; if not: npm run docs`, () => {
    assert.is(readFileSync(path, 'utf8'), text)
  })

test('docs/api has a page for each entry and no other', () => {
  assert.is(pages.length, publicEntries().length)
  assert.equal(
    readdirSync('docs/api')
      .map((file) => `docs/api/${file}`)
      .sort(),
    pages.map(({ path }) => path).sort(),
  )
})

test('pages name no file of this machine, and have no sentence', () => {
  for (const { path, text } of pages) {
    assert.not.match(text, /import\(|node_modules/)
    assert.not.ok(text.includes(process.cwd()))
    assert.equal(sentencesOf(path, text), [])
  }
})

test('names are sorted, and signatures have no bodies, defaults, comments and private members', () => {
  const file = join(temporaryFolder(), 'entry.ts')
  writeFileSync(
    file,
    `/** A pair. */
     export type Pair<T> = { readonly first: T }
     export class Box {
       /** What it holds. */
       readonly size: number
       private hidden = 1
       constructor(size = this.hidden) {
         this.size = size
       }
       has(text: string) {
         return text.length < this.size
       }
     }
     type Options = { readonly most: number }
     export const add = (a: number, b: number) => a + b
     export async function first<T>({ first }: Pair<T>, { most }: Options, scale = 2) {
       return { first, most: most * scale }
     }`,
  )
  const program = ts.createProgram([file], { strict: true, target: ts.ScriptTarget.ES2022, types: [] })
  assert.equal(signaturesOf(program, file), [
    `class Box {
  readonly size: number
  constructor(size?: number)
  has(text: string): boolean
}`,
    `type Pair<T> = {
  readonly first: T
}`,
    'const add: (a: number, b: number) => number',
    `function first<T>(pair: Pair<T>, options: Options, scale?: number): Promise<{
  first: T
  most: number
}>`,
  ])
})

test.run()
