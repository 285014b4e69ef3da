import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { errorSites } from '../../scripts/docs/error-sites.ts'
import { errorsDoc } from '../../scripts/docs/errors.ts'
import { temporaryFolder } from '../support/run.ts'

const IMPORT = "import { RlError } from './errors.ts'\n"

/** Sites of a few files, without the folder in which they lie. */
function sitesOf(files: Readonly<Record<string, string>>) {
  const folder = join(temporaryFolder(), 'src')
  mkdirSync(folder)
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return errorSites([folder]).map(({ code, message, hint, file }) => [
    code,
    message,
    hint,
    file.slice(folder.length + 1),
  ])
}

test('docs/errors.md is current; if not: npm run docs', () => {
  const { path, text } = errorsDoc()
  assert.is(readFileSync(path, 'utf8'), text)
})

test('a value becomes a word, and both ways of a condition are told', () => {
  const text = `${IMPORT}
    const LIMIT = 8
    export function check(folder: { path: string }, names: string[], isOld: boolean) {
      throw new RlError(\`\${folder.path} has \${names.length} files, at most \${LIMIT}: \${names.join(', ')}\`, {
        code: isOld ? 'folder.old' : 'folder.full',
        hint: 'remove ' + names[0],
      })
    }`
  const told = '<folder> has <count> files, at most 8: <names>'
  assert.equal(sitesOf({ 'check.ts': text }), [
    ['folder.old', told, 'remove <names>', 'check.ts'],
    ['folder.full', told, 'remove <names>', 'check.ts'],
  ])
})

test('a function that makes errors is told once for each of its messages, also in other files', () => {
  const files = {
    'refused.ts': `${IMPORT}
      export function refused(path: string, why: string): RlError {
        return new RlError(\`\${path}: \${why}\`, { code: 'file.refused' })
      }`,
    'read.ts': `import { refused } from './refused.ts'
      const fail = (code: string, why: string) => refused(code, \`it \${why}\`)
      export function read(file: string) {
        if (file === '') throw refused(file, 'it has no name')
        throw fail(file, 'is empty')
      }`,
  }
  assert.equal(sitesOf(files), [
    ['file.refused', '<path>: it is empty', null, 'read.ts'],
    ['file.refused', '<path>: it has no name', null, 'read.ts'],
  ])
})

test('every code that stands in the source as a word is in the page', () => {
  const { text } = errorsDoc()
  for (const code of [
    'config.unknown-key',
    'bus.timeout',
    'head.role-fails',
    'model.not-found',
    'event.not-allowed',
  ])
    assert.ok(text.includes(`| \`${code}\` |`), code)
})

test.run()
