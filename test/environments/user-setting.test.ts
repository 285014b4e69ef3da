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

/** What a setting gives at a place, in place of what makes sense. */
const spoilt = (turn: unknown) => ({ open: () => environmentOf(turn as Partial<Turn>) })

test('a turn that makes no sense is refused by field, with the task', async () => {
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [{ observation: undefined }, /\.turn\.observation: .*expected string/],
    [{ observation: 'x'.repeat(5_000_000) }, /\.turn\.observation: 5000000 characters, and at most/],
    [{ admissible: ['go', 'stay', 'go'] }, /\.turn\.admissible\[2\]: 'go' stands twice/],
    [{ admissible: ['go', Promise.resolve('stay')] }, /\.turn\.admissible\[1\]: .*expected string/],
    [{ admissible: Array.from({ length: 50_000 }, (_, i) => `go ${i}`) }, /50000 actions, and at most/],
    [{ done: 'no' }, /\.turn\.done: .*expected boolean/],
    [{ done: true }, /\.turn\.ended: is null, and the episode is over/],
    [{ ended: 'won' }, /\.turn\.ended: /],
    [{ ended: 'goal' }, /\.turn\.done: is false, and ended says 'goal'/],
  ]
  for (const [turn, message] of cases) {
    const started = open(spoilt(turn)).then((one) => one.reset(task, { seed: [1, 2], maxSteps: 3 }))
    const told = await refusal(started)
    assert.match(told, message)
    assert.match(told, /^mine\.ts: reset\(\).*\(task 'a'\)$/)
  }
})

test('an outcome that makes no sense is refused: none, beyond its range, a promise, success before the end', async () => {
  const over: Turn = { observation: 'o', admissible: [], done: true, ended: 'gave-up' }
  const told = async (value: unknown, turn = over) => {
    const episode = { ...endless(), turn, outcome: () => value as number }
    const environment = await open({ open: () => ({ ...environmentOf(), reset: async () => episode }) })
    const first = await environment.reset(task, { seed: [1, 2], maxSteps: 3 })
    return refusal((async () => first.outcome())())
  }
  assert.match(await told(undefined), /outcome\(\): .*expected number.* \(task 'a', after 0 steps\)/)
  assert.match(await told(Number.NaN), /outcome\(\): .*expected number/)
  assert.match(await told(50), /outcome\(\): .*<=1/)
  assert.match(await told(Promise.resolve(1)), /outcome\(\): expected a value at once, got a promise/)
  assert.match(await told(1, endless().turn), /outcome\(\): is 1, and the episode is not over/)
  assert.is(await told(0, endless().turn), 'it was taken')
})

test('tasks hold what JSON has, and are of a bounded size', async () => {
  const told = async (given: unknown) => {
    const environment = await open({
      open: () => ({ ...environmentOf(), tasks: async () => given as never }),
    })
    return refusal(environment.tasks('train'))
  }
  const circle: Record<string, unknown> = {}
  circle.self = circle
  const cases: readonly (readonly [unknown, RegExp])[] = [
    [undefined, /tasks\('train'\): expected a list of tasks, and got undefined/],
    [[{ ...task, recipe: { when: new Date(0) } }], /\[0\]\.recipe\.when: a Date is nothing that JSON has/],
    [[{ ...task, recipe: { share: Number.NaN } }], /\.recipe\.share: NaN is no number of JSON/],
    [
      [{ ...task, recipe: { list: [1, undefined] } }],
      /\.recipe\.list\[1\]: undefined is nothing that JSON has/,
    ],
    [[{ ...task, recipe: { big: 5n } }], /\.recipe\.big: a bigint/],
    [[{ ...task, recipe: circle }], /\.recipe\.self.*: it holds itself/],
    [[{ ...task, recipe: { text: 'x'.repeat(2_000_000) } }], /\.recipe: \d+ characters of JSON/],
    [[{ ...task, goal: 'x'.repeat(200_000) }], /\[0\]\.goal: 200000 characters/],
    [[task, task], /\[1\]\.id: 'a' stands twice/],
    [[{ ...task, environment: 'other' }], /\[0\]\.environment: 'other' is not the setting's name/],
  ]
  for (const [given, message] of cases) assert.match(await told(given), message)
})

test('every part that throws is named with file, line and task; one that hangs with its limit', async () => {
  const boom = (): never => {
    throw new TypeError('boom')
  }
  const limited = {
    ...config,
    run: { ...config.run, deadlines: { ...config.run.deadlines, stepSeconds: 0.02 } },
  }
  const never = () => new Promise<never>(() => {})
  const over: Turn = { observation: 'o', admissible: [], done: true, ended: 'gave-up' }
  const settingOf = (fail: () => never | Promise<never>): Setting =>
    settingWith({
      acting: { kind: 'choices', words: fail as never, view: fail as never },
      judging: { by: 'steps', causes: { praises: { a: 'a' }, complaints: {}, wordFor: fail as never } },
      open: () => ({
        tasks: fail,
        reset: async () => ({ ...endless(), turn: over, step: fail, outcome: fail as never }),
        settle: fail,
        close: fail,
      }),
      rewriting: { rewrite: fail, validate: fail },
      expert: fail as never,
      progress: fail,
      runtime: fail,
      doctor: fail,
      check: fail as never,
    })
  const asked = async (fail: () => never | Promise<never>) => {
    const setting = settingOf(fail)
    const environment = await setting.open(limited, {})
    const episode = await environment.reset(task, { seed: [1, 2], maxSteps: 3 })
    const { acting, judging, rewriting } = setting
    assert.ok(acting?.kind === 'choices' && judging?.by === 'steps' && rewriting)
    const of = { task } as never
    const told: Record<string, () => unknown> = {
      "step\\('go'\\)": () => episode.step('go'),
      'settle\\(\\)': () => environment.settle?.(episode),
      'close\\(\\)': () => environment.close?.(),
      'progress\\(\\)': () => setting.progress?.(environment, task, [1, 2], []),
      'rewriting\\.rewrite\\(\\)': () => rewriting.rewrite(environment, of),
      'rewriting\\.validate\\(\\)': () => rewriting.validate(environment, task),
      'runtime\\(\\)': () => setting.runtime?.(environment),
    }
    const atOnce: typeof told = {
      'outcome\\(\\)': () => episode.outcome(),
      'acting\\.words\\(\\)': () => acting.words?.(environment),
      'acting\\.view\\(\\)': () => acting.view?.(environment),
      'judging\\.causes\\.wordFor\\(\\)': () =>
        judging.causes.wordFor({ task: 'a', action: 'go', earlier: [], progress: 0, label: 1 }),
      'expert\\(\\)': () => setting.expert?.(environment, over),
      'check\\(\\)': () => setting.check?.(limited, boom, {}),
    }
    return { told, atOnce, other: { "tasks\\('train'\\)": () => environment.tasks('train') } }
  }
  const thrown = await asked(boom)
  for (const [part, ask] of Object.entries({ ...thrown.told, ...thrown.atOnce, ...thrown.other })) {
    const message = await refusal((async () => ask())())
    assert.match(message, new RegExp(`user-setting\\.test\\.ts:\\d+:\\d+: ${part} failed: TypeError: boom`))
    if (/step|settle|progress|rewrit|outcome|wordFor/.test(part)) assert.match(message, /\(task 'a'/)
  }
  const hung = await asked(never)
  for (const [part, ask] of Object.entries(hung.told))
    assert.match(
      await refusal((async () => ask())()),
      new RegExp(`mine\\.ts: ${part}: no answer within 0\\.02 s`),
    )
  for (const [part, ask] of Object.entries(hung.atOnce))
    assert.match(
      await refusal((async () => ask())()),
      new RegExp(`mine\\.ts: ${part}: expected a value at once`),
    )
})

test('what check refuses stays what it refuses', () => {
  const setting = settingWith({
    check: (_, refuse) => refuse('environment.mine.x', 'is odd', 'take another'),
  })
  const refuse = () => {
    throw new RlError('is odd', { code: 'config.invalid' })
  }
  try {
    setting.check?.(config, refuse, {})
    assert.unreachable()
  } catch (error) {
    assert.is((error as RlError).code, 'config.invalid')
  }
})

test('an environment that never opens is waited for no longer than the config says', async () => {
  const message = await refusal(open({ open: () => new Promise<Environment>(() => {}) }))
  assert.match(message, /mine\.ts: open\(\): no answer within 0\.05 s/)
})

test.run()
