/** Desktops that are lent: who wants one when all are in use gets one that nobody works on. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openDesktop } from '../../../src/environments/desktop/local/desktop.ts'
import { createPool } from '../../../src/environments/desktop/pool.ts'
import { canRun } from './support.ts'

if (canRun('the pool of desktops'))
  test('a desktop is not taken in the middle of long work, and is once it has rested', async () => {
    const pool = createPool({ open: () => openDesktop(), size: 1, idleMs: 100, waitMs: 60_000 })
    try {
      const first = await pool.lease()
      const work = first.use((desktop) => desktop.execute('sleep 2; echo done', { shell: true }))
      const second = pool.lease()
      assert.is((await work).output, 'done\n')
      assert.ok((await second).isHeld())
      assert.not.ok(first.isHeld())
    } finally {
      await pool.close()
    }
  })

test.run()
