/** Gymnasium by its sidecar: the contract, and sidecars that break the rules. */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadConfig } from '../../../src/config.ts'
import { openSetting } from '../../../src/environments/open.ts'
import type { SessionEnvironment } from '../../../src/environments/sessions/environment.ts'
import { settingOf } from '../../../src/environments/settings.ts'
import { itemAt } from '../../../src/item-at.ts'
import { testEnvironment } from '../../../src/testing/environment.ts'
import { faultOf } from '../../support/error-of.ts'
import { until } from '../../support/run.ts'

const PYTHON = process.env.RL_TEST_GYM_PYTHON ?? 'python3'
const BAD = fileURLToPath(new URL('../../support/bad-sidecar.mjs', import.meta.url))

if (spawnSync(PYTHON, ['-c', 'import gymnasium']).status !== 0)
  process.stdout.write('SKIP Gymnasium: python3 has no gymnasium; RL_TEST_GYM_PYTHON names another Python\n')
else
  test('FrozenLake keeps to the contract of environments', async () => {
    const { actings: _, ...setting } = settingOf({ name: 'gym', module: null })!
    const section = { python: [PYTHON], actions: ['left', 'down', 'right', 'up'], sessions: 2 }
    const tried = await testEnvironment(setting, { section, tasks: 3, maxSteps: 12 })
    assert.is(tried.episodes, 3)
  })

const CODES: Readonly<Record<string, string>> = {
  hang: 'rollout.infra',
  die: 'rollout.infra',
  orphan: 'rollout.infra',
  'lie-reward': 'environment.reward',
}

const ATTACKS = [
  'hang',
  'die',
  'orphan',
  'no-json',
  'large',
  'lie-reward',
  'lie-done',
  'other-version',
  'flood',
]

for (const attack of ATTACKS)
  test(`a sidecar that does this costs its rollout alone, and leaves no process: ${attack}`, async () => {
    const seconds = attack === 'hang' ? 1 : 60
    const { environment } = await openSetting(
      loadConfig({
        set: [
          ...['environment.name=gym', 'rewardModel.mode=off', 'learning.reward=outcome'],
          `environment.gym.python=${JSON.stringify([process.execPath, BAD, attack])}`,
          `environment.gym.timeoutSeconds=${seconds}`,
        ],
      }),
    )
    const fault = await faultOf(async () => {
      const [task] = await environment.tasks('train')
      let episode = await environment.reset(itemAt([task], 0)!, {
        seed: [1, 2],
        maxSteps: attack === 'flood' ? 10_000 : 4,
      })
      while (!episode.turn.done) episode = await episode.step('0')
    })
    assert.is(fault.code, CODES[attack] ?? 'environment.answer')
    assert.is((environment as SessionEnvironment).sessions(), 0)
    await environment.close?.()
    await until('no process is left', () => processesOf(attack).length === 0)
  })

/** Processes of the sidecar, and of the child that it set free. */
function processesOf(attack: string): readonly string[] {
  if (process.platform !== 'linux') return []
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
      return (words.includes(BAD) && words.includes(attack)) || words.includes('7654321')
    } catch {
      return false // It has ended.
    }
  })
}

test.run()
