/** MCP servers as environments: the contract, tasks, tools by episode, and servers that break the rules. */
import { spawnSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { actingByPrompt } from '../../../src/actors/policy/endpoint-worker.ts'
import { loadConfig } from '../../../src/config.ts'
import { runSealed } from '../../../src/environments/mcp/sealed-program.ts'
import { openSetting } from '../../../src/environments/open.ts'
import type { Environment, Task } from '../../../src/environments/port.ts'
import type { SessionEnvironment } from '../../../src/environments/sessions/environment.ts'
import { settingOf } from '../../../src/environments/settings.ts'
import { writeCall } from '../../../src/environments/tool-calls.ts'
import { itemAt } from '../../../src/item-at.ts'
import { testEnvironment } from '../../../src/testing/environment.ts'
import { HTTP_ATTACKS, startCounterServer } from '../../support/counter-http.ts'
import { faultOf } from '../../support/error-of.ts'
import { startProcess } from '../../support/processes.ts'
import { until } from '../../support/run.ts'

const COUNTER = fileURLToPath(new URL('../../support/counter-mcp.mjs', import.meta.url))
const ORPHAN = '7654322'
const ALONE = ['environment.name=mcp', 'rewardModel.mode=off', 'learning.reward=outcome']
const CHECKER = 'environment.mcp.checker={tool: read, equals: {count: 3}}'
const OPTIONS = { seed: [3, 4] as const, maxSteps: 4 }

type Playing = Environment & Partial<SessionEnvironment>

const program = (...words: readonly string[]) => ({ command: [process.execPath, COUNTER, ...words] })

async function playing(
  servers: object,
  set: readonly string[],
  play: (environment: Playing) => Promise<void>,
): Promise<void> {
  const own = [`environment.mcp.servers=${JSON.stringify(servers)}`, CHECKER, ...set]
  const { environment } = await openSetting(loadConfig({ set: [...ALONE, ...own] }))
  try {
    await play(environment)
    assert.is((environment as Playing).sessions?.(), 0)
  } finally {
    await environment.close?.()
  }
}

const first = async (environment: Environment) =>
  environment.reset(itemAt(await environment.tasks('train'), 0), OPTIONS)

/** Processes of this machine whose command line has the word. */
function processesWith(word: string): number {
  if (process.platform !== 'linux') return 0
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word)
    } catch {
      return false // It has ended.
    }
  }).length
}

for (const acting of ['choices', 'texts'])
  test(`it keeps to the contract of environments (${acting})`, async () => {
    const { actings: _, ...setting } = settingOf({ name: 'mcp', module: null, mcp: { acting } })!
    assert.is(setting.acting?.kind, acting)
    const checker = { tool: 'read', equals: { count: 3 } }
    const section = { servers: { counter: program() }, acting, checker, deterministic: true }
    const answer = () => writeCall('add', { by: 2 })
    const tried = await testEnvironment(setting, { section, tasks: 2, maxSteps: 3, answer })
    assert.is(tried.episodes, 2)
  })

test('an episode ends by finish or by words, and at the limit of steps, and its checker judges it', () =>
  playing({ counter: program() }, [], async (environment) => {
    const added = await (await first(environment)).step(writeCall('add', { by: 3 }))
    assert.is(added.turn.observation, 'the counter is 3')
    const ended = await added.step('It is done.')
    assert.equal([ended.turn.ended, ended.outcome()], ['goal', 1])
    const early = await (await first(environment)).step(writeCall('finish', {}))
    assert.equal([early.turn.ended, early.outcome()], ['gave-up', 0])
    const three = { seed: OPTIONS.seed, maxSteps: 3 }
    let long = await environment.reset(early.task, three)
    for (let step = 0; step < 3; step++) long = await long.step(writeCall('add', { by: 1 }))
    assert.equal([long.turn.ended, long.outcome()], ['goal', 1])
    let short = await environment.reset(early.task, three)
    for (let step = 0; step < 3; step++) short = await short.step(writeCall('add', { by: 2 }))
    assert.equal([short.turn.ended, short.outcome()], ['step-limit', 0])
  }))

test('wrong arguments are told before they are sent, and errors of tools are observations', () =>
  playing({ counter: program() }, [], async (environment) => {
    const turnAfter = async (action: string) => {
      const episode = await first(environment)
      const { turn } = await episode.step(action)
      await environment.release?.(await episode)
      return turn
    }
    for (const [action, said] of [
      [writeCall('add', {}), /^! the argument 'by' is missing/],
      [writeCall('add', { by: 7 }), /^! the argument 'by' does not fit/],
      [writeCall('add', { by: 1, more: 2 }), /^! there is no argument 'more'/],
      [writeCall('other', {}), /^! there is no tool 'other'/],
      ['<tool_call>what?</tool_call>', /^! the call is no JSON/],
    ] as const) {
      const turn = await turnAfter(action)
      assert.match(turn.observation, said)
      assert.is(turn.void, true)
    }
    const failed = await turnAfter(writeCall('fail', {}))
    assert.equal([failed.observation, failed.failed, failed.void], ['error: it failed', true, undefined])
    const picture = await turnAfter(writeCall('picture', {}))
    assert.is(picture.observation, '[image: image/png, 3 bytes, blob 709e80c88487a241]')
    assert.equal(picture.files, [new Uint8Array(3)])
    const read = await turnAfter(writeCall('read', {}))
    assert.is(read.observation, '{"count":0}')
    const two = await turnAfter(`${writeCall('add', { by: 1 })}${writeCall('add', { by: 2 })}`)
    assert.is(two.observation, 'the counter is 1\n\nthe counter is 3')
  }))

test('a task brings its start, its tools and its checker; the policy is told its tools', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rl-mcp-'))
  const file = join(folder, 'tasks.jsonl')
  const task = (recipe: object) => JSON.stringify({ goal: 'say it', recipe })
  writeFileSync(
    file,
    [
      task({
        start: [{ tool: 'set', arguments: { to: 7, why: 'a task' } }],
        tools: ['read'],
        checker: { contains: '7' },
      }),
      task({ checker: { tool: 'read', number: 'count' } }),
    ].join('\n'),
  )
  const data = [`environment.source=data`, `environment.data=${file}`]
  try {
    await playing({ counter: program() }, data, async (environment) => {
      const [one, two] = await environment.tasks('train')
      const episode = await environment.reset(one as Task, OPTIONS)
      assert.equal(
        episode.tools?.map(({ name }) => name),
        ['read', 'finish'],
      )
      const config = loadConfig({
        set: [...ALONE, CHECKER, 'environment.mcp.servers={a: {url: "http://127.0.0.1"}}'],
      })
      const setting = settingOf({ name: 'mcp', module: null })!
      const acting = actingByPrompt({ setting, environment }, { ...config.policy, acting: 'free' })
      const { request } = acting(
        {
          ...{ rollout: 'r', task: 't', kind: 'k', goal: 'g', actions: [], admissible: [], packedTokens: 0 },
          ...{ policyVersion: 0, seed: [1, 2], evaluation: false },
          observations: [episode.turn.observation],
          tools: episode.tools,
        },
        { temperature: 1, topP: 1, maxTokens: 10 } as never,
      )
      const prompt = request?.prompt
      assert.ok(prompt && 'messages' in prompt)
      assert.equal(prompt.tools, episode.tools)
      assert.match(String(prompt.messages.at(-1)?.content), /A counter\./)
      assert.is((await episode.step(writeCall('finish', { answer: 'it is 7' }))).outcome(), 1)
      const counted = await environment.reset(two as Task, OPTIONS)
      const added = await counted.step(writeCall('add', { by: 1 }))
      assert.is((await added.step('done')).outcome(), 1)
      const high = await (await environment.reset(two as Task, OPTIONS)).step(writeCall('add', { by: 2 }))
      assert.is((await faultOf(() => high.step('done'))).code, 'environment.reward')
    })
    for (const [recipe, said] of [
      [{ cheker: { contains: '7' } }, /recipe\.cheker is no key/],
      [{ tool: ['read'] }, /recipe\.tool is no key/],
      [{ difficulty: 3 }, /nothing judges it/],
    ] as const) {
      writeFileSync(file, task(recipe))
      await playing(
        { counter: program() },
        [...data, 'environment.mcp.checker=null'],
        async (environment) => {
          const fault = await faultOf(() => environment.tasks('train'))
          assert.is(fault.code, 'mcp.task')
          assert.match(fault.message, said)
        },
      )
    }
    writeFileSync(file, task({ servers: { own: { command: ['true'] } } }))
    await playing({ counter: program() }, data, async (environment) => {
      const fault = await faultOf(() => environment.tasks('train'))
      assert.is(fault.code, 'mcp.task')
      assert.match(fault.message, /servers of its own/)
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

const CHECKS = fileURLToPath(new URL('../../support/checker-program.mjs', import.meta.url))
const checkedBy = (mode: string, more: object = { number: true }) =>
  `environment.mcp.checker=${JSON.stringify({ command: [process.execPath, CHECKS, ...mode.split(' ')], ...more })}`

if (process.platform !== 'linux' || spawnSync('bwrap', ['--version']).error)
  process.stdout.write('SKIP a checker that is a program: there is no bubblewrap\n')
else {
  test('a program in a sandbox judges: it reads the task and the answer, and changes nothing outside', async () => {
    const said = { contains: 'train-00000 ' }
    await playing({ counter: program() }, [checkedBy('length')], async (environment) => {
      assert.is((await (await first(environment)).step('x'.repeat(4))).outcome(), 0.4)
    })
    await playing({ counter: program() }, [checkedBy('task', said)], async (environment) => {
      assert.is((await (await first(environment)).step('done')).outcome(), 1)
    })
    const sealed = { equals: 'no file, no network, no home, no sockets, one temporary file' }
    const server = await startCounterServer()
    try {
      const mode = `escape ${new URL(server.url).port}`
      await playing({ counter: program() }, [checkedBy(mode, sealed)], async (environment) => {
        assert.is((await (await first(environment)).step('done')).outcome(), 1)
      })
    } finally {
      await server.close()
    }
  })

  /** What a command of the shell says as a checker's program, in a folder and with a home. */
  async function saidFrom(cwd: string, home: string, words: readonly string[]): Promise<string> {
    const { HOME } = process.env
    const before = process.cwd()
    process.chdir(cwd)
    process.env.HOME = home
    try {
      return (await runSealed(words, '{}', 20_000)).trim()
    } finally {
      process.chdir(before)
      if (HOME === undefined) delete process.env.HOME
      else process.env.HOME = HOME
    }
  }

  const LOOK = ['sh', '-c', 'ls -A "$HOME" /run /var/tmp | grep -v : | wc -w; : >/var/tmp/own && echo own']

  test('a sealed program sees no more if it starts in a folder above the home folder', async () => {
    const home = mkdtempSync(join(tmpdir(), 'rl-home-'))
    writeFileSync(join(home, 'secret'), 'x')
    try {
      for (const cwd of ['/', '/var', '/run', '/var/tmp', tmpdir()])
        assert.is(await saidFrom(cwd, home, LOOK), '0\nown', cwd)
    } finally {
      rmSync(home, { recursive: true })
    }
  })

  test('a sealed program starts if the home folder is a link, missing or the root; the true one is hidden', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'rl-home-'))
    const { homedir: own } = userInfo()
    mkdirSync(join(folder, 'home'))
    writeFileSync(join(folder, 'home', 'secret'), 'x')
    symlinkSync(join(folder, 'home'), join(folder, 'link'))
    try {
      for (const home of [join(folder, 'link'), join(folder, 'missing'), '/', '']) {
        const count = `ls -A ${folder}/home "${own}" | grep -c -e secret -e '^[.]ssh' || true`
        const said = await saidFrom('/', home, ['sh', '-c', count])
        assert.is(said, home.endsWith('link') ? '0' : '1', home)
      }
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('a sealed program of the home folder is found, by each of its links', async () => {
    const home = realpathSync(mkdtempSync(join(tmpdir(), 'rl-home-')))
    for (const folder of ['bin', 'venv/bin', 'store/v1/bin', 'other'])
      mkdirSync(join(home, folder), { recursive: true })
    for (const file of ['check', 'bin/check', 'store/v1/bin/check'])
      writeFileSync(join(home, file), '#!/bin/sh\necho "$(ls -A ~)"', { mode: 0o755 })
    symlinkSync(join(home, 'store', 'v1'), join(home, 'latest'))
    symlinkSync(join(home, 'latest', 'bin', 'check'), join(home, 'venv', 'bin', 'check'))
    try {
      assert.is(await saidFrom('/', home, [join(home, 'check')]), 'check')
      assert.is(await saidFrom('/', home, [join(home, 'bin', 'check')]), 'bin')
      assert.is(await saidFrom('/', home, [join(home, 'venv', 'bin', 'check')]), 'latest\nstore\nvenv')
    } finally {
      rmSync(home, { recursive: true })
    }
  })

  test('a sealed program reaches no socket in a folder of sockets, such as that of tmux', async () => {
    const folder = mkdtempSync('/tmp/rl-sockets-')
    const server = createServer((socket) => socket.destroy())
    await new Promise<void>((listening) => server.listen(join(folder, 'default'), listening))
    try {
      assert.is(await saidFrom('/', '/', ['sh', '-c', `ls ${folder} | wc -l`]), '0')
    } finally {
      server.close()
      rmSync(folder, { recursive: true })
    }
  })

  test('a program that is not there is refused before anything is played', () =>
    playing(
      { counter: program() },
      ['environment.mcp.checker={command: [pyhton3, check.py], number: true}'],
      async (environment) => {
        const fault = await faultOf(() => environment.tasks('train'))
        assert.is(fault.code, 'program.sandbox')
        assert.match(fault.message, /'pyhton3' is no program/)
      },
    ))

  for (const [mode, code, said] of [
    ['fail', 'environment.answer', /status 3: no such test/],
    ['flood', 'environment.answer', /more than 1048576 bytes/],
    ['hang', 'rollout.infra', /not done within 2 s/],
    ['none', 'environment.answer', /no number/],
  ] as const)
    test(`a checker's program that does this costs the rollout, and earns nothing: ${mode}`, () =>
      playing(
        { counter: program() },
        [checkedBy(mode), 'environment.mcp.timeoutSeconds=2'],
        async (environment) => {
          const episode = await first(environment)
          const fault = await faultOf(() => episode.step('done'))
          assert.is(fault.code, code)
          assert.match(fault.message, said)
        },
      ))
}

test('without bubblewrap a checker that is a program is refused before anything is played', async () => {
  const servers = `environment.servers=${JSON.stringify({ counter: program() })}`
  const words = ['src/rl.ts', 'mcp', 'check', '--set', servers, '--set', checkedBy('length')]
  const { status, output } = startProcess(words, { PATH: '' })
  assert.is(await status, 1)
  assert.match(output(), /needs a sandbox, and bubblewrap does not work here/)
})

test('a task that brings a program of its own as its checker is refused', () =>
  playing({ counter: program() }, [], async (environment) => {
    const [task] = await environment.tasks('train')
    const recipe = { checker: { command: ['true'], equals: '' } }
    const fault = await faultOf(() => environment.reset({ ...(task as Task), recipe }, OPTIONS))
    assert.is(fault.code, 'mcp.task')
    assert.match(fault.message, /checker with a program of its own/)
  }))

test('tools of several servers have the names of their servers', () =>
  playing(
    { one: program(), two: program() },
    ['environment.mcp.checker={tool: two_read, equals: {count: 2}}'],
    async (environment) => {
      const episode = await first(environment)
      assert.is(episode.tools?.length, 13)
      const added = await episode.step(writeCall('two_add', { by: 2 }))
      assert.is((await added.step('done')).outcome(), 1)
    },
  ))

test('a server that speaks the protocol of 2026-07-28 alone is played', async () => {
  const server = await startCounterServer({ modern: true })
  try {
    await playing({ counter: { url: server.url } }, [], async (environment) => {
      let episode = await first(environment)
      assert.ok(itemAt(episode.tools ?? [], 0))
      episode = await episode.step(writeCall('add', { by: 3 }))
      assert.match(episode.turn.observation, /3/)
      const ended = await episode.step(writeCall('finish', { answer: '' }))
      assert.is(ended.outcome(), 1)
    })
  } finally {
    await server.close()
  }
})

test('a list to choose from holds more than the end', () =>
  playing(
    { counter: program() },
    ['environment.mcp.acting=choices', 'environment.mcp.tools=[secret]'],
    async (environment) => {
      assert.is((await faultOf(() => first(environment))).code, 'mcp.tools')
    },
  ))

test('a program gets the variables that are named, and no others', async () => {
  process.env.RL_TEST_MCP_SECRET = 'hidden'
  const reads = async (env: readonly string[]) => {
    let said = ''
    await playing({ counter: { ...program(), env } }, [], async (environment) => {
      const episode = await first(environment)
      const next = await episode.step(writeCall('secret', { name: 'RL_TEST_MCP_SECRET' }))
      said = next.turn.observation
      await environment.release?.(next)
    })
    return said
  }
  assert.is(await reads([]), 'nothing')
  assert.is(await reads(['RL_TEST_MCP_SECRET']), 'hidden')
  delete process.env.RL_TEST_MCP_SECRET
})

for (const events of [false, true])
  test(`a server by HTTP is played, and its sessions end (events: ${events})`, async () => {
    process.env.RL_TEST_MCP_TOKEN = 'token'
    const server = await startCounterServer({ events, token: 'token' })
    const spec = { url: server.url, tokenEnv: 'RL_TEST_MCP_TOKEN' }
    try {
      await playing({ counter: spec }, [], async (environment) => {
        const added = await (await first(environment)).step(writeCall('add', { by: 3 }))
        assert.is((await added.step('done')).outcome(), 1)
        await environment.release?.(await first(environment))
      })
      assert.is(server.sessions(), 0)
    } finally {
      await server.close()
      delete process.env.RL_TEST_MCP_TOKEN
    }
  })

const CODES: Readonly<Record<string, string>> = {
  hang: 'rollout.infra',
  die: 'rollout.infra',
  orphan: 'rollout.infra',
  'hang-start': 'rollout.infra',
  'die-start': 'rollout.infra',
  refuse: 'rollout.infra',
  'hang-end': 'rollout.infra',
}
const SLOW = ['hang', 'hang-start', 'hang-end']
/** A message of 100 MB takes its time on a busy machine. */
const limitOf = (attack: string) => `environment.mcp.timeoutSeconds=${SLOW.includes(attack) ? 2 : 60}`

const PROGRAM_ATTACKS = [
  ...['hang', 'die', 'orphan', 'flood', 'pings', 'nonsense', 'no-json', 'large', 'endless', 'lie-result'],
  ...['other-version', 'pages', 'hang-start', 'die-start'],
]

for (const attack of PROGRAM_ATTACKS)
  test(`a program that does this costs its rollout alone, and leaves no process: ${attack}`, async () => {
    await playing({ counter: program(attack) }, [limitOf(attack)], async (environment) => {
      const fault = await faultOf(async () => {
        await (await first(environment)).step(writeCall('add', { by: 1 }))
      })
      assert.is(fault.code, CODES[attack] ?? 'environment.answer', fault.message)
    })
    await until('its processes ended', () => processesWith(attack) + processesWith(ORPHAN) === 0)
  })

for (const attack of HTTP_ATTACKS)
  test(`a server by HTTP that does this costs its rollout alone: ${attack}`, async () => {
    const server = await startCounterServer({ attack })
    try {
      await playing({ counter: { url: server.url } }, [limitOf(attack)], async (environment) => {
        const fault = await faultOf(async () => {
          await (await first(environment)).step(writeCall('add', { by: 1 }))
        })
        assert.is(fault.code, CODES[attack] ?? 'environment.answer', fault.message)
      })
    } finally {
      await server.close()
    }
  })

test.run()
