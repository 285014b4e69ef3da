/** Tasks in Chromium look for what their page says; who only types it has not done them. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type DesktopEpisode, startEpisode } from '../src/episode.ts'
import { openDesktop } from '../src/local/desktop.ts'
import { createPool } from '../src/pool.ts'
import { CHROMIUM } from '../src/tasks/chromium.ts'
import { ownTask } from '../src/tasks/index.ts'
import { canRun } from './support.ts'

const WAIT_MS = 600_000

if (canRun('tasks in Chromium', 'chromium'))
  test('what is typed into a field or as an address is not what the page says', async () => {
    const pool = createPool({ open: () => openDesktop(), size: 1, idleMs: WAIT_MS, waitMs: WAIT_MS })
    const options = { pool, grammar: 'commands', maxSteps: 9, folder: null } as const
    try {
      for (const [name, into] of [
        ['chromium-form', 'click "Name"'],
        ['chromium-link', 'press ctrl+l'],
      ]) {
        const kind = CHROMIUM.find((one) => one.kind === name)!
        const own = ownTask(kind, 1, 'train', 0)
        const { id, instruction: goal, evaluator } = own.file
        const said = /(?:welcome to|all about) \w+/.exec(JSON.stringify(evaluator.expected))![0]
        const task = { id, environment: 'desktop', kind: name, goal, recipe: {} }
        let episode = await startEpisode(task, own, options)
        for (const action of [into, `type ${said}`, 'done'])
          episode = (await episode.step(action)) as DesktopEpisode
        assert.is((await episode.settle()).outcome(), 0, name)
      }
    } finally {
      await pool.close()
    }
  })

test.run()
