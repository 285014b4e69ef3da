/** ORS servers as environments: the contract, tasks, rewards, and servers that break the rules. */
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadConfig } from '../../../src/config.ts'
import { openSetting } from '../../../src/environments/open.ts'
import type { Environment, Episode } from '../../../src/environments/port.ts'
import type { SessionEnvironment } from '../../../src/environments/sessions/environment.ts'
import { settingOf } from '../../../src/environments/settings.ts'
import { writeCall } from '../../../src/environments/tool-calls.ts'
import { itemAt } from '../../../src/item-at.ts'
import { testEnvironment } from '../../../src/testing/environment.ts'
import { faultOf } from '../../support/error-of.ts'
import { ORS_ATTACKS, type OrsServer, startOrsServer } from '../../support/ors-server.ts'
import { lacks, PYTHON } from '../../support/python.ts'
import { until } from '../../support/run.ts'

const COUNTING = fileURLToPath(new URL('../../support/ors_counting.py', import.meta.url))
const ALONE = ['environment.name=ors', 'rewardModel.mode=off', 'learning.reward=outcome']
const OPTIONS = { seed: [3, 4] as const, maxSteps: 4 }

type Playing = Environment & Partial<SessionEnvironment>

async function opened(set: readonly string[], play: (environment: Playing) => Promise<void>): Promise<void> {
  const { environment } = await openSetting(loadConfig({ set: [...ALONE, ...set] }))
  try {
    await play(environment)
    assert.is((environment as Playing).sessions?.(), 0)
  } finally {
    await environment.close?.()
  }
}

async function playing(
  options: Parameters<typeof startOrsServer>[0],
  set: readonly string[],
  play: (environment: Playing, server: OrsServer) => Promise<void>,
): Promise<void> {
  const server = await startOrsServer(options)
  try {
    await opened([`environment.ors.url=${server.url}`, ...set], (environment) => play(environment, server))
    await until('all sessions were deleted', () => server.sessions() === 0)
  } finally {
    await server.close()
  }
}

const first = async (environment: Environment) =>
  environment.reset(itemAt(await environment.tasks('train'), 0), OPTIONS)

for (const acting of ['choices', 'texts'])
  test(`it keeps to the contract of environments (${acting})`, async () => {
    const { url, close } = await startOrsServer()
    try {
      const { actings: _, ...setting } = settingOf({ name: 'ors', module: null, ors: { acting } })!
      assert.is(setting.acting?.kind, acting)
      const section = { url, acting, deterministic: true }
      const answer = () => writeCall('add', { by: 2 })
      const tried = await testEnvironment(setting, { section, tasks: 3, maxSteps: 4, answer })
      assert.is(tried.episodes, 3)
    } finally {
      await close()
    }
  })

test('tasks, tools and prompt come from the server, and its tools pay', () =>
  playing({}, [], async (environment) => {
    const tasks = await environment.tasks('train')
    assert.equal([tasks.length, tasks[1]?.id, tasks[1]?.goal], [3, 'count-4', 'count to 4'])
    assert.equal(await environment.tasks('ood'), [])
    const episode = await first(environment)
    assert.is(episode.turn.observation, 'Count to 3.\n[image: image/png, 3 bytes, blob 709e80c88487a241]')
    assert.equal(
      episode.tools?.map(({ name }) => name),
      ['add', 'look', 'secret'],
    )
    const looked = await episode.step(writeCall('look', {}))
    assert.is(looked.turn.observation, 'the count is 0')
    const won = await looked.step(writeCall('add', { by: 3 }))
    assert.equal([won.turn.ended, won.outcome()], ['goal', 1])
    const missed = await (await first(environment)).step(
      writeCall('add', { by: 2 }) + writeCall('add', { by: 2 }) + writeCall('look', {}),
    )
    assert.is(missed.turn.observation, 'the count is 2\n\nthe count is 4')
    assert.equal([missed.turn.ended, missed.outcome()], ['gave-up', 0])
  }))

test('wrong calls are told and not sent', () =>
  playing({}, [], async (environment) => {
    let episode: Episode = await first(environment)
    for (const [action, said] of [
      ['I count.', /^! this is no call/],
      [writeCall('add', { by: 9 }), /^! the argument 'by' does not fit/],
      [writeCall('other', {}), /^! there is no tool/],
    ] as const) {
      episode = await episode.step(action)
      assert.match(episode.turn.observation, said)
      assert.is(episode.turn.void, true)
    }
    await environment.release?.(episode)
  }))

test('variables that are named reach the server as secrets and as its key', async () => {
  process.env.RL_TEST_ORS_KEY = 'key'
  process.env.RL_TEST_ORS_SECRET = 'hidden'
  try {
    const named = ['environment.ors.tokenEnv=RL_TEST_ORS_KEY', 'environment.ors.secrets=[RL_TEST_ORS_SECRET]']
    await playing({ key: 'key' }, named, async (environment) => {
      const episode = await first(environment)
      const next = await episode.step(writeCall('secret', { name: 'RL_TEST_ORS_SECRET' }))
      assert.is(next.turn.observation, 'hidden')
      await environment.release?.(next)
    })
  } finally {
    delete process.env.RL_TEST_ORS_KEY
    delete process.env.RL_TEST_ORS_SECRET
  }
})

test('an environment that the server lacks is refused', () =>
  playing({}, [], async (_, { url }) => {
    const set = [...ALONE, `environment.ors.url=${url}`, 'environment.ors.environment=other']
    assert.is((await faultOf(() => openSetting(loadConfig({ set })))).code, 'ors.environment')
  }))

const CODES: Readonly<Record<string, string>> = {
  hang: 'rollout.infra',
  die: 'rollout.infra',
  'no-end': 'rollout.infra',
  gone: 'rollout.infra',
  'hang-end': 'rollout.infra',
  'lie-reward': 'environment.reward',
  execution: 'ors.failed',
  'error-500': 'ors.failed',
}

for (const attack of ORS_ATTACKS)
  test(`a server that does this costs its rollout alone: ${attack}`, () => {
    // A message of 100 MB takes its time on a busy machine.
    const seconds = attack.startsWith('hang') ? 2 : 60
    return playing({ attack }, [`environment.ors.timeoutSeconds=${seconds}`], async (environment) => {
      const fault = await faultOf(async () => {
        await (await first(environment)).step(writeCall('add', { by: 1 }))
      })
      assert.is(fault.code, CODES[attack] ?? 'environment.answer', fault.message)
    })
  })

const without = lacks('ors')
if (without !== null) process.stdout.write(`SKIP ors-sdk: ${without}\n`)
else
  test('a server of the package is started, played and ended', () =>
    opened(
      [`environment.ors.command=${JSON.stringify([PYTHON, COUNTING, '{port}', 'failing'])}`],
      async (environment) => {
        const tasks = await environment.tasks('train')
        assert.is(tasks.length, 3)
        const won = await (await first(environment)).step(writeCall('add', { by: 3 }))
        assert.equal([won.turn.ended, won.outcome()], ['goal', 1])
        assert.ok(won.turn.observation.endsWith('é'), 'long results come whole')
        const episode = await first(environment)
        assert.is((await faultOf(() => episode.step(writeCall('fail', {})))).code, 'ors.failed')
      },
    ))

for (const [what, options] of [
  ['two tools of a name', { twice: 'tool' }],
  ['two tasks of an id', { twice: 'task' }],
  ['more actions than a log can hold', { more: 60 }],
] as const)
  test(`a server that has ${what} is at fault`, () =>
    playing(options, ['environment.ors.acting=choices'], async (environment) => {
      assert.is((await faultOf(() => first(environment))).code, 'environment.answer')
    }))

test.run()
