/** A folder's files are kept by their names: a page may ask for any path, as often as it likes. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openFolder } from '../../../src/environments/web/miniwob/folder.ts'

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

test.run()
