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
import { temporaryFolder, until } from '../../support/run.ts'
import { makeTextWorldGame } from '../../support/textworld-game.ts'

const PYTHON = process.env.RL_TEST_GYM_PYTHON ?? 'python3'
const BAD = fileURLToPath(new URL('../../support/bad-sidecar.mjs', import.meta.url))

/** Whether the Python has a package; a line tells what is not tried without it. */
function has(name: string, ...modules: readonly string[]): boolean {
  const found = spawnSync(PYTHON, ['-c', `import ${modules.join(', ')}`]).status === 0
  if (!found)
    process.stdout.write(
      `SKIP ${name}: ${PYTHON} lacks it; RL_TEST_GYM_PYTHON names another Python that has ${modules.join(', ')}\n`,
    )
  return found
}

const { actings: _, ...setting } = settingOf({ name: 'gym', module: null })!

/** Opens the setting with a section of the config, as a run without a judge has it. */
function openGym(section: object) {
  const set = ['environment.name=gym', 'rewardModel.mode=off', 'learning.reward=outcome']
  return openSetting(loadConfig({ set: [...set, `environment.gym=${JSON.stringify(section)}`] }))
}

if (has('Gymnasium', 'gymnasium'))
  test('FrozenLake keeps to the contract of environments', async () => {
    const section = { python: [PYTHON], actions: ['left', 'down', 'right', 'up'], sessions: 2 }
    const tried = await testEnvironment(setting, { section, tasks: 3, maxSteps: 12 })
    assert.is(tried.episodes, 3)
  })

if (has('TextWorld', 'textworld')) {
  const made = makeTextWorldGame(PYTHON, temporaryFolder())

  test('a game of TextWorld begins with its objective, and shows no prompt and no picture', async () => {
    assert.is(made.status, 0, made.stderr)
    const section = { python: [PYTHON], id: made.file, sessions: 2 }
    const tried = await testEnvironment(setting, { section, tasks: 2, maxSteps: 6 })
    assert.is(tried.episodes, 2)
    const { environment } = await openGym(section)
    try {
      const [task] = await environment.tasks('train')
      const episode = await environment.reset(itemAt([task], 0)!, { seed: [1, 2], maxSteps: 4 })
      assert.match(episode.turn.observation, /TextWorld! .*task.*\n-= /s)
      const looked = await episode.step('look')
      assert.match(looked.turn.observation, /^-= .* =-\n/)
      for (const { turn } of [episode, looked]) assert.not.match(turn.observation, /\$|\n>/)
    } finally {
      await environment.close?.()
    }
  })
}

if (spawnSync('java', ['-version']).error)
  process.stdout.write('SKIP ScienceWorld: there is no Java on this machine\n')
else if (has('ScienceWorld', 'scienceworld')) {
  const section = { python: [PYTHON], id: 'scienceworld:find-animal', sessions: 2 }

  test('ScienceWorld keeps to the contract of environments', async () => {
    const tried = await testEnvironment(setting, { section, tasks: 2, maxSteps: 6 })
    assert.is(tried.episodes, 2)
  })

  test('a task of ScienceWorld says what is to be done, pays its share, and varies by its seed', async () => {
    const { environment } = await openGym(section)
    try {
      const tasks = await environment.tasks('train')
      const starts = new Set<string>()
      for (const task of tasks.slice(0, 3)) {
        const episode = await environment.reset(task, { seed: [1, 2], maxSteps: 8 })
        assert.match(episode.turn.observation, /^Task Description:\nYour task is to find a/)
        starts.add(episode.turn.observation)
        const opens = episode.turn.admissible.find((action) => action.startsWith('open door to '))
        const next = await episode.step(opens ?? 'open door')
        assert.match(next.turn.observation, /door is now open/)
        await environment.release?.(next)
      }
      assert.ok(starts.size > 1, 'each seed has the same start')
    } finally {
      await environment.close?.()
    }
  })

  for (const [what, more, said] of [
    ['a task', { id: 'scienceworld:find-dragon' }, /no task find-dragon; there are .*find-animal/],
    [
      'an option',
      { options: { simplification: 'easy' } },
      /no option simplification; there is simplifications/,
    ],
  ] as const)
    test(`${what} that ScienceWorld lacks is named beside those that it has`, async () => {
      const { environment } = await openGym({ ...section, ...more })
      const fault = await faultOf(async () => {
        const [task] = await environment.tasks('train')
        await environment.reset(itemAt([task], 0)!, { seed: [1, 2], maxSteps: 8 })
      })
      await environment.close?.()
      assert.match(fault.message, said)
    })
}

/** Words that give Playwright its folder of browsers: a sidecar gets no variables of ours. */
const { PLAYWRIGHT_BROWSERS_PATH: browsers } = process.env
const BROWSERS = browsers === undefined ? [] : ['env', `PLAYWRIGHT_BROWSERS_PATH=${browsers}`]

if (has('BrowserGym', 'browsergym.core'))
  test('a page of BrowserGym is told by its tree, and an action that fails by its error', async () => {
    const page = `data:text/html,${encodeURIComponent('<h1>Shop</h1><button>Buy</button>')}`
    const section = {
      ...{ python: [...BROWSERS, PYTHON], id: 'browsergym/openended', acting: 'texts' },
      options: { task_kwargs: { start_url: page, goal: 'buy it' } },
    }
    const { environment } = await openGym(section)
    try {
      const [task] = await environment.tasks('train')
      const episode = await environment.reset(itemAt([task], 0)!, { seed: [1, 2], maxSteps: 4 })
      const { observation } = episode.turn
      assert.match(observation, /^goal: buy it\naddress: data:text/)
      const [, button] = /\[(\w+)\] button 'Buy'/.exec(observation) ?? []
      const clicked = await episode.step(`click('${button}')`)
      assert.not.match(clicked.turn.observation, /error:/)
      const failed = await clicked.step("click('nothing')")
      assert.match(failed.turn.observation, /error: .*nothing/s)
    } finally {
      await environment.close?.()
    }
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
