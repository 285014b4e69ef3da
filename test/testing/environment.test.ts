/** The contract test on every setting of ours and on a user's; and a fault of each kind, which it must tell. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { setting as agents } from '../../src/environments/agents.ts'
import { setting as alfworld } from '../../src/environments/alfworld/setting.ts'
import { setting as coding } from '../../src/environments/coding/setting.ts'
import type { Environment, Episode } from '../../src/environments/port.ts'
import type { Setting } from '../../src/environments/setting.ts'
import { loadSetting } from '../../src/environments/settings.ts'
import { type EnvironmentTest, testEnvironment } from '../../src/testing/index.ts'
import { openProvider } from '../environments/coding/sandboxes.ts'
import { setting as nim } from '../environments/nim.ts'
import { temporaryFolder } from '../support/run.ts'

const provider = await openProvider('bwrap')
await provider?.close()

test('alfworld keeps the contract', async () => {
  const { episodes, rewrites } = await testEnvironment(alfworld, {
    set: ['environment.tasks=6', 'evaluation.tasks=4'],
    splits: ['train', 'ood'],
    tasks: 2,
  })
  assert.is(episodes, 4)
  assert.ok(rewrites.proposed > 0)
})

test('coding keeps the contract', async () => {
  if (!provider) return
  const { episodes, rewrites } = await testEnvironment(coding, {
    set: ['environment.tasks=4', 'rewardModel.judging=group', 'policy.acting=free', 'evaluation.tasks=2'],
    tasks: 2,
    answer: () => 'print(1)',
  })
  assert.is(episodes, 2)
  assert.ok(rewrites.proposed > 0)
})

test('agents have tasks and no episodes', async () => {
  const data = join(temporaryFolder(), 'tasks.jsonl')
  writeFileSync(data, '{"id": "a", "goal": "do it"}\n')
  const set = ['player=gateway', 'source=data', `data=${data}`].map((word) => `environment.${word}`)
  assert.equal(await testEnvironment(agents, { set }), {
    episodes: 0,
    steps: 0,
    rewrites: { proposed: 0, refused: 0 },
  })
})

const SECTION: EnvironmentTest = { section: { most: 9 } }

test("a user's own keeps it", async () => {
  const { episodes, rewrites } = await testEnvironment(nim, SECTION)
  assert.is(episodes, 3)
  assert.ok(rewrites.proposed >= 3)
})

type Change = (episode: Episode, drawn: () => number) => Episode

/** The game with one fault in its episodes. */
function withFault(change: Change): Setting {
  let draws = 0
  return {
    ...(nim as Setting),
    async open(config, section): Promise<Environment> {
      const environment = await (nim as Setting).open(config, section)
      return {
        ...environment,
        reset: async (task, options) => change(await environment.reset(task, options), () => draws++),
      }
    },
  }
}

async function failure(setting: Setting): Promise<string> {
  try {
    await testEnvironment(setting, SECTION)
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return 'it passes'
}

test('every fault is told with the setting and what does not hold', async () => {
  const turnWith = (changes: object): Change => {
    return (episode) => ({ ...episode, turn: { ...episode.turn, ...changes } })
  }
  const faults: readonly (readonly [Change, RegExp])[] = [
    [
      (episode, drawn) => ({ ...episode, turn: { ...episode.turn, observation: `${drawn()}` } }),
      /nim, task .*same seed gives another turn/,
    ],
    [turnWith({ admissible: [] }), /nothing is admissible/],
    [turnWith({ admissible: ['take 1', 'take 1'] }), /'take 1' stands twice/],
    [turnWith({ observation: 7 }), /reset\(\)\.turn\.observation: .*expected string/],
    [(episode) => ({ ...episode, steps: 1 }), /steps is 1 after 0 actions/],
  ]
  for (const [change, message] of faults) assert.match(await failure(withFault(change)), message)

  const rewriting = {
    ...nim.rewriting,
    rewrite: async (_: unknown, { task }: { task: object }) => ({
      task: { ...task, id: 'x', recipe: { counters: 0 } },
    }),
  }
  const unproven = { ...nim, rewriting } as unknown as Setting
  assert.match(await failure(unproven), /the new task does not hold/)
})

test('a step that never resolves, and one that throws, are told with task, step and action', async () => {
  const set = ['run.deadlines.llmCallSeconds=0.01', 'run.deadlines.stepSeconds=0.05']
  const told = async (step: (action: string) => Promise<never>) => {
    try {
      await testEnvironment(
        withFault((episode) => ({ ...episode, step })),
        { ...SECTION, set },
      )
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
    return 'it passes'
  }
  const place = String.raw`\(task 'nim-\d+-\d+', step 1\)`
  assert.match(
    await told(() => new Promise(() => {})),
    new RegExp(String.raw`step\('take \d'\): no answer within 0\.05 s ${place}`),
  )
  assert.match(
    await told(async (action) => Promise.reject(new Error(`no ${action}`))),
    new RegExp(String.raw`environment\.test\.ts:\d+:\d+: step\('take \d'\) failed: no take \d ${place}`),
  )
})

test('an outcome is asked for at the end alone', async () => {
  let early = 0
  const counting = (episode: Episode): Episode => ({
    ...episode,
    async step(action) {
      return counting(await episode.step(action))
    },
    outcome() {
      if (!episode.turn.done) early++
      return episode.outcome()
    },
  })
  await testEnvironment(withFault(counting), SECTION)
  assert.is(early, 0)
})

test('a module whose setting is none is refused with its file and field', async () => {
  const folder = temporaryFolder()
  const mistakes: readonly (readonly [string, RegExp])[] = [
    ['export const setting = { name: "mine", summary: "" }', /a\.ts: setting\.open: expected a function/],
    [
      'export const seting = {}',
      /b\.ts: setting: there is no export of this name; the module exports seting/,
    ],
    [
      'export const setting = { name: "coding", summary: "", open() {} }',
      /c\.ts: setting\.name: there is a setting 'coding'/,
    ],
    [
      'export const setting = { name: "mine", summary: "", open() {}, reward: 1 }',
      /d\.ts: setting.*"reward"/,
    ],
    [
      'export const setting = { name: "mine", summary: "", open() {}, acting: { kind: "words" } }',
      /e\.ts: setting\.acting\.kind/,
    ],
    [
      'export default { name: "mine", summary: "", open() {} }',
      /f\.ts: setting: there is no export of this name; there is a default export/,
    ],
  ]
  for (const [index, [text, message]] of mistakes.entries()) {
    const module = join(folder, `${'abcdef'[index]}.ts`)
    writeFileSync(module, text)
    try {
      await loadSetting({ name: 'x', module })
      assert.unreachable(text)
    } catch (error) {
      assert.match(error instanceof Error ? error.message : '', message)
    }
  }
})

test.run()
