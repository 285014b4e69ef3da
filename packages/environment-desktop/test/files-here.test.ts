import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder } from '../../../test/support/run.ts'
import { fileHere } from '../src/osworld/files-here.ts'

const root = temporaryFolder()
const folder = join(root, 'data')
mkdirSync(join(folder, 'files', 't1'), { recursive: true })
writeFileSync(join(root, 'secret'), 'x')
writeFileSync(join(folder, 'files', 't1', 'own.txt'), 'x')
writeFileSync(join(folder, 'files', 'two words.txt'), 'x')

test('a file is found by the last part of its address, of its task first', () => {
  assert.is(fileHere(folder, 't1', 'https://x/a/own.txt?download=1'), join(folder, 'files', 't1', 'own.txt'))
  assert.is(fileHere(folder, 't2', 'https://x/two%20words.txt'), join(folder, 'files', 'two words.txt'))
  assert.is(fileHere(folder, 't1', 'https://x/missing.txt'), null)
})

test('no address and no name of a task leads out of the folder', () => {
  const out = [
    '..%2f..%2fsecret',
    '%2e%2e%2f%2e%2e%2fsecret',
    '..%5csecret',
    '%00',
    '%',
    '.',
    '..',
    '',
    'http://[',
  ]
  for (const address of [...out, ...out.map((name) => `https://x/${name}`)])
    assert.is(fileHere(folder, 't1', address), null, address)
  for (const task of ['..', '../..', '', '.', 'a/b', 'a\\b'])
    assert.is(fileHere(folder, task, 'https://x/secret'), null)
})

test.run()
