/** `rl ablate` as a user has it: killed in the middle of a run, then gone on with. */
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { stringify } from 'yaml'
import { runFolder } from '../../src/broker/connection.ts'
import { loggable } from '../../src/config.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { nodeWords } from '../../src/package.ts'
import { worldConfig } from '../simulation/config.ts'
import { temporaryFolder, until } from '../support/run.ts'

const RL = nodeWords(new URL('../../src/rl.ts', import.meta.url))
const ROOT = fileURLToPath(new URL('../..', import.meta.url))

test('an ablation that was killed is gone on with at once: its run ends in good order', async () => {
  const root = temporaryFolder()
  const out = join(root, 'out')
  const config = join(root, 'config.yaml')
  writeFileSync(config, stringify(loggable(worldConfig({ run: { iterations: 150 } }))))

  function ablate(...words: readonly string[]) {
    const child = spawn(process.execPath, [...RL, 'ablate', '--out', out, ...words], {
      cwd: ROOT,
      env: { ...process.env, RL_RUNS: join(root, 'runs') },
    })
    let told = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (part) => (told += part))
    const status = new Promise((resolve) => child.once('close', resolve))
    return { child, status, told: () => told }
  }

  const first = ablate('--config', config, '--settings', 'outcome-only', '--seeds', '1')
  await until('its run is on the way', () => first.told().includes('iteration 5/150'))
  first.child.kill('SIGKILL')
  await first.status
  const { rows } = JSON.parse(readFileSync(join(out, 'ablation.json'), 'utf8'))
  assert.is(rows.length, 0)

  const second = ablate('--resume')
  assert.is(await second.status, 0, second.told())
  const [run] = readdirSync(join(root, 'runs')).filter((name) => name.endsWith('-s1'))
  const log = openLogReader(runFolder(run, join(root, 'runs')).log)
  const count = log.countByType()
  log.close()
  assert.equal([count.RunPaused, count.RunResumed], [1, 1], 'the run stopped with its ablation')
  assert.match(second.told(), new RegExp(`complete: ${join(out, 'ablation.md')}\n$`))
  assert.ok(existsSync(join(out, 'ablation.md')))
  const third = ablate('--resume')
  await third.status
  assert.match(third.told(), /0 runs are to be played \(1 rows are there\)[\s\S]*complete: /)
})

test.run()
