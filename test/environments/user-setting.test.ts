/** A setting of somebody else's where it meets the loop: what it may be made of, and what it gives when it is played. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadConfig } from '../../src/config.ts'
import type { Environment, Episode, Task, Turn } from '../../src/environments/port.ts'
import type { Setting } from '../../src/environments/setting.ts'
import { userSetting } from '../../src/environments/user-setting.ts'
import { RlError } from '../../src/errors.ts'

const config = loadConfig({ set: ['run.deadlines.loadTasksSeconds=0.05'] })
const task: Task = { id: 'a', environment: 'mine', kind: 'k', goal: 'g', recipe: {} }

/** An episode that goes on for as long as it is played. */
function endless(turn: Partial<Turn> = {}, steps = 0): Episode & { readonly page: string } {
  return {
    ...{ task, steps, page: `page ${steps}` },
    turn: { observation: 'o', admissible: ['go'], done: false, ended: null, ...turn },
    step: () => endless(turn, steps + 1),
    outcome: () => 0,
  }
}

const environmentOf = (turn?: Partial<Turn>): Environment => ({
  tasks: async () => [task],
  reset: async () => endless(turn),
})

function settingWith(parts: Partial<Setting>): Setting {
  const base = {
    name: 'mine',
    summary: '',
    acting: { kind: 'choices' } as const,
    open: () => environmentOf(),
  }
  return userSetting({ ...base, ...parts }, 'mine.ts')
}

const open = async (parts: Partial<Setting>) => settingWith(parts).open(config, {})

async function refusal(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
  } catch (error) {
    assert.instance(error, RlError)
    assert.is((error as RlError).code, 'setting.broken')
    return (error as RlError).message
  }
  return 'it was taken'
}

test('an episode that goes on after its last step is told, and not played for ever', async () => {
  const environment = await open({})
  let episode = await environment.reset(task, { seed: [1, 2], maxSteps: 3 })
  for (let step = 0; step < 2; step++) episode = await episode.step('go')
  const last = (async () => episode.step('go'))()
  assert.match(await refusal(last), /mine\.ts: step\('go'\)\.turn\.done: goes on after as many steps/)
})

test('a turn without anything to choose is told: it is no outcome of whoever cannot act', async () => {
  const nothing = { open: () => environmentOf({ admissible: [] }) }
  const start = async (parts: Partial<Setting>) =>
    (await open({ ...nothing, ...parts })).reset(task, { seed: [1, 2], maxSteps: 3 })
  assert.match(await refusal(start({})), /reset\(\)\.turn\.admissible: nothing is admissible/)
  assert.is((await start({ acting: { kind: 'texts' } })).steps, 0)
  const seeing = () => ({ prompt: '', invalid: () => null, brief: () => '' })
  const picture = () => Promise.reject(new Error('nobody looks'))
  assert.is((await start({ pictures: { seeing, picture } })).steps, 0)
})

test('a setting of a class keeps what stands in its prototype, and its private fields', async () => {
  class Rewriting {
    readonly #refused = 'none is harder'
    rewrite = async () => ({ refused: this.#refused })
    validate() {
      return { ok: false as const, reason: this.#refused }
    }
  }
  class Mine {
    readonly name = 'mine'
    readonly summary = ''
    readonly #environment = environmentOf()
    readonly rewriting = new Rewriting()
    open() {
      return this.#environment
    }
    async runtime() {
      return `${this.name} runs ${(await this.#environment.tasks('train')).length}`
    }
  }
  const setting = userSetting(new Mine(), 'mine.ts')
  assert.is(await setting.runtime?.(await setting.open(config, {})), 'mine runs 1')
  const { rewriting } = setting
  assert.equal(await rewriting?.validate(...([] as unknown as Parameters<typeof rewriting.validate>)), {
    ok: false,
    reason: 'none is harder',
  })
})

test('a part is asked about the episode that its environment made', async () => {
  const shown: unknown[] = []
  const setting = settingWith({
    pictures: {
      seeing: () => null,
      async picture(_, episode) {
        shown.push((episode as ReturnType<typeof endless>).page)
        return { bytes: new Uint8Array(), width: 1, height: 1 }
      },
    },
  })
  const environment = await setting.open(config, {})
  const episode = await environment.reset(task, { seed: [1, 2], maxSteps: 3 })
  await setting.pictures?.picture(environment, episode)
  await setting.pictures?.picture(environment, await episode.step('go'))
  assert.equal(shown, ['page 0', 'page 1'])
})

test('an environment may be an object of a class with private fields, and is asked as itself', async () => {
  class Server implements Environment {
    #open = true
    readonly #inner = environmentOf()
    tasks = (split: string) => this.#inner.tasks(split)
    reset(of: Task, options: Parameters<Environment['reset']>[1]) {
      return this.#inner.reset(of, options)
    }
    isOpen() {
      return this.#open
    }
    async close() {
      this.#open = false
    }
  }
  const made = new Server()
  const environment = (await open({ open: () => made })) as Server
  assert.instance(environment, Server)
  assert.ok(environment.isOpen())
  await environment.close()
  assert.not(made.isOpen())
})

test('what types allow is allowed: tools of a model that acts by texts', () => {
  const tools = [{ name: 'search', description: 'finds', parameters: { type: 'object' } }]
  const { acting } = settingWith({ acting: { kind: 'texts', tools } })
  assert.ok(acting?.kind === 'texts')
  assert.equal(acting.tools, tools)
})

test('rewrites and progress are checked, with file and field', async () => {
  const rewrite = (given: unknown) => {
    const { rewriting } = settingWith({
      rewriting: { rewrite: async () => given as never, validate: async () => ({ ok: true }) },
    })
    return refusal(Promise.resolve(rewriting?.rewrite(environmentOf(), {} as never)))
  }
  assert.match(await rewrite(undefined), /mine\.ts: rewriting\.rewrite\(\): .*expected object/)
  assert.match(await rewrite({ task: { ...task, goal: 7 } }), /rewriting\.rewrite\(\)\.task\.goal: /)
  assert.match(await rewrite({ refused: true }), /rewriting\.rewrite\(\)\.refused: /)
  assert.is(await rewrite({ refused: 'no other is left' }), 'it was taken')
  assert.is(await rewrite({ task }), 'it was taken')

  const progress = (told: readonly number[] | null) => {
    const setting = settingWith({ progress: async () => told && Float32Array.from(told) })
    return refusal(setting.progress?.(environmentOf(), task, [1, 2], ['a', 'b']) as Promise<unknown>)
  }
  assert.is(await progress([0, 1]), 'it was taken')
  assert.is(await progress(null), 'it was taken')
  for (const wrong of [[1], [1, Number.NaN]])
    assert.match(await progress(wrong), /mine\.ts: progress\(\): expected null or 2 finite numbers/)
})

test('an environment that never opens is waited for no longer than the config says', async () => {
  const message = await refusal(open({ open: () => new Promise<Environment>(() => {}) }))
  assert.match(message, /mine\.ts: open\(\) has given no environment within 0\.05 s/)
})

test.run()
