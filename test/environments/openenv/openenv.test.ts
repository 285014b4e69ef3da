/** OpenEnv servers as environments: the contract, tasks, errors by their codes, and servers that break the rules. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadConfig } from '../../../src/config.ts'
import { openSetting } from '../../../src/environments/open.ts'
import type { Environment, Episode } from '../../../src/environments/port.ts'
import type { SessionEnvironment } from '../../../src/environments/sessions/environment.ts'
import { settingOf } from '../../../src/environments/settings.ts'
import { itemAt } from '../../../src/item-at.ts'
import { testEnvironment } from '../../../src/testing/environment.ts'
import { faultOf } from '../../support/error-of.ts'
import {
  ATTACKS,
  type GuessOptions,
  type GuessServer,
  startGuessServer,
} from '../../support/openenv-server.ts'
import { until } from '../../support/run.ts'

const ALONE = ['environment.name=openenv', 'rewardModel.mode=off', 'learning.reward=outcome']
const OPTIONS = { seed: [3, 4] as const, maxSteps: 4 }

/** Opens the environment of a server, and closes both afterwards. */
async function playing(
  options: GuessOptions,
  set: readonly string[],
  play: (environment: Environment & Partial<SessionEnvironment>, server: GuessServer) => Promise<void>,
): Promise<void> {
  const server = await startGuessServer(options)
  try {
    const own = [`environment.openenv.url=${server.url}`, 'environment.openenv.timeoutSeconds=1', ...set]
    const { environment } = await openSetting(loadConfig({ set: [...ALONE, ...own] }))
    try {
      await play(environment, server)
    } finally {
      await environment.close?.()
    }
    await until('all sessions ended', () => server.sessions() === 0)
  } finally {
    await server.close()
  }
}

const first = async (environment: Environment) =>
  environment.reset(itemAt(await environment.tasks('train'), 0), OPTIONS)

for (const acting of ['choices', 'texts'])
  test(`it keeps to the contract of environments (${acting})`, async () => {
    const { url, close } = await startGuessServer()
    try {
      const setting = settingOf({ name: 'openenv', module: null, openenv: { acting } })
      assert.is(setting?.acting?.kind, acting)
      const { actings: _, ...plain } = setting!
      const answer = () => '{"guess": 4}'
      const tried = await testEnvironment(plain, { section: { url, acting }, tasks: 3, maxSteps: 4, answer })
      assert.is(tried.episodes, 3)
    } finally {
      await close()
    }
  })

test('tasks come from the task API if the server has one', () =>
  playing({ tasks: 7 }, [], async (environment) => {
    const tasks = await environment.tasks('train')
    assert.is(tasks.length, 7)
    assert.equal([tasks[2]?.id, tasks[2]?.goal], ['guess-2', 'guess it'])
    assert.equal(await environment.tasks('ood'), [])
  }))

test('an episode gives its session back at its end, and when nobody goes on with it', () =>
  playing({}, ['environment.openenv.sessions=1'], async (environment) => {
    let episode: Episode = await first(environment)
    while (!episode.turn.done) episode = await episode.step('guess 1')
    assert.is(environment.sessions?.(), 0)
    await environment.release?.(await first(environment))
    assert.is(environment.sessions?.(), 0)
  }))

test('an action that the schema refuses is told, and the episode goes on', () =>
  playing({}, ['environment.openenv.acting=texts'], async (environment) => {
    const episode = await (await first(environment)).step('{"other": 1}')
    assert.match(episode.turn.observation, /^! guess: a number is missing/)
    assert.is(episode.turn.void, true)
    assert.is((await (await first(environment)).step('what?')).turn.void, true)
  }))

test('a full server is waited for, and no longer than the section says', () =>
  playing({ maxSessions: 1 }, ['environment.openenv.capacitySeconds=0.3'], async (environment, server) => {
    const held = await first(environment)
    const fault = await faultOf(() => first(environment))
    assert.is(fault.code, 'rollout.infra')
    assert.match(fault.message, /stayed full/)
    await environment.release?.(held)
    await until('the session ended', () => server.sessions() === 0)
    await environment.release?.(await first(environment))
  }))

test('a server without determinism is not played from an older step', () =>
  playing({ byChance: true }, ['environment.openenv.deterministic=false'], async (environment) => {
    const start = await first(environment)
    const after = await start.step('guess 0')
    assert.is((await faultOf(() => start.step('guess 0'))).code, 'environment.not-deterministic')
    await environment.release?.(after)
  }))

test('a server that hides its chance is found out', () =>
  playing({ byChance: true }, [], async (environment) => {
    const start = await first(environment)
    const after = await start.step('guess 0')
    assert.is((await faultOf(() => start.step('guess 0'))).code, 'environment.differs')
    await environment.release?.(after)
  }))

/** A message of 100 MB takes its time on a busy machine. */
const timeLimit = (attack: string) => (attack === 'hang' ? [] : ['environment.openenv.timeoutSeconds=60'])

const CODES: Readonly<Record<string, string>> = {
  hang: 'rollout.infra',
  die: 'rollout.infra',
  'lie-reward': 'environment.reward',
  execution: 'openenv.execution',
}

for (const attack of ATTACKS.filter((one) => one !== 'flood'))
  test(`a server that does this costs its rollout alone: ${attack}`, () =>
    playing({ attack }, timeLimit(attack), async (environment) => {
      const start = await first(environment)
      const fault = await faultOf(() => start.step('guess 0'))
      assert.is(fault.code, CODES[attack] ?? 'environment.answer')
      assert.is(environment.sessions?.(), 0)
    }))

test('a server that floods loses its session', () =>
  playing({ attack: 'flood' }, [], async (environment) => {
    const fault = await faultOf(async () => {
      let episode: Episode = await first(environment)
      while (!episode.turn.done) episode = await episode.step('guess 0')
    })
    assert.is(fault.code, 'environment.answer')
    assert.is(environment.sessions?.(), 0)
  }))

test.run()
