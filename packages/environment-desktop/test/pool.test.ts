/** Desktops that are lent: who wants one when all are in use gets one that nobody works on. */
import type { RlError } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startEpisode } from '../src/episode.ts'
import { openDesktop } from '../src/local/desktop.ts'
import { readTaskFile } from '../src/osworld/task-file.ts'
import { createPool } from '../src/pool.ts'
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

if (canRun('desktops that break'))
  test('a desktop that breaks while an episode is done again on it is given back at once', async () => {
    let opened = 0
    const open = async () => {
      const desktop = await openDesktop()
      if (++opened === 2) await desktop.execute('kill -9 $(pidof Xvfb)', { shell: true }).catch(() => {})
      return desktop
    }
    const pool = createPool({ open, size: 2, idleMs: 3_600_000, waitMs: 1_000 })
    try {
      const file = readTaskFile({ id: 'a', instruction: 'go', evaluator: { func: 'infeasible' } }, 'a')
      const task = { id: 'a', environment: 'desktop', kind: '', goal: 'go', recipe: {} }
      const own = { file, programs: [], texts: [], oracle: [], wrong: [] }
      const first = await startEpisode(task, own, { pool, grammar: 'commands', maxSteps: 5, folder: null })
      await first.step('press tab')
      const fault = await Promise.resolve(first.step('press tab')).catch((error: RlError) => error.code)
      assert.is(fault, 'rollout.infra')
      assert.ok((await pool.lease()).isHeld())
    } finally {
      await pool.close()
    }
  })

test.run()
