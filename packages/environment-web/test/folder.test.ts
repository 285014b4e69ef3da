/** A folder's files are kept by their names: a page may ask for any path, as often as it likes. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { addressOf, openFolder } from '../src/miniwob/folder.ts'

test('what is there is kept once, what is not there or has an endless path is not', async () => {
  const root = mkdtempSync(join(tmpdir(), 'rl-pages-'))
  try {
    for (const name of ['core', 'miniwob']) mkdirSync(join(root, name))
    writeFileSync(join(root, 'core', 'core.js'), 'core')
    const { serve } = openFolder(root)
    const [one, other] = [await serve('/core/core.js'), await serve('/core//./core.js')]
    assert.is(String(one?.body), 'core')
    assert.ok(one?.body === other?.body)
    assert.is(await serve('/miniwob/later.html'), null)
    writeFileSync(join(root, 'miniwob', 'later.html'), 'later')
    assert.is(String((await serve('/miniwob/later.html'))?.body), 'later')
    assert.is(await serve(`/core/${'./'.repeat(1_000)}core.js`), null)
    assert.is(await serve('/../core/core.js'), null)
  } finally {
    rmSync(root, { recursive: true })
  }
})

test('a page may have any name, and what it loads has its type by any ending', async () => {
  const root = mkdtempSync(join(tmpdir(), 'rl-pages-'))
  try {
    for (const name of ['core', 'miniwob', 'miniwob/part.html']) mkdirSync(join(root, name))
    const page = '<script src="../core/core.js"></script>'
    const names = ['a+b #1?.html', 'v1.2.html', '日本.html', "it's 100%.html", 'old.htm', 'LOUD.HTML']
    for (const name of names) writeFileSync(join(root, 'miniwob', name), page)
    for (const name of ['.hidden.html', 'part.htm', 'index.html', 'readme.md'])
      writeFileSync(join(root, 'miniwob', name), '')
    writeFileSync(join(root, 'core', 'core.js'), '')
    const { pages, serve } = openFolder(root)
    assert.equal([...pages].sort(), ['a+b #1?', 'v1.2', '日本', "it's 100%", 'old.htm', 'LOUD.HTML'].sort())
    for (const page of pages) {
      const { pathname } = new URL(addressOf(page), 'http://page.test')
      assert.match((await serve(decodeURIComponent(pathname)))?.mediaType ?? '', /^text\/html/, page)
    }
    const typeOf = async (name: string) => {
      writeFileSync(join(root, name), '')
      return (await serve(`/${name}`))?.mediaType.split(';')[0]
    }
    assert.is(await typeOf('a.mjs'), 'text/javascript')
    assert.is(await typeOf('a.WASM'), 'application/wasm')
    assert.is(await typeOf('a.jpeg'), 'image/jpeg')
    assert.is(await typeOf('a.woff2'), 'font/woff2')
    assert.is(await typeOf('a.xhtml'), 'application/xhtml+xml')
    assert.is(await typeOf('a'), 'application/octet-stream')
  } finally {
    rmSync(root, { recursive: true })
  }
})

test.run()
