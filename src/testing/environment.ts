/**
 * The contract of an environment, tried on some of its tasks:
 * - The same seed gives the same episode, and episodes are values.
 * - Admissible actions exist and differ.
 * - An ended episode has an outcome.
 * - Rewrites are proven.
 * - Tasks are plain JSON.
 * - Each call keeps the limit that it has in a run (`run.deadlines`).
 */
import assert from 'node:assert/strict'
import { type Config, loadConfig } from '../config.ts'
import type { Episode, Task, Turn } from '../environments/port.ts'
import { sectionOf } from '../environments/sections.ts'
import type { OpenSetting, Setting } from '../environments/setting.ts'
import { checkTask, userSetting } from '../environments/user-setting.ts'
import { type Rng, rng, type Seed, seedOf } from '../random.ts'

export type EnvironmentTest = {
  /** Keys of the config, in the form of `--set`. */
  readonly set?: readonly string[]
  /** Values of the setting's own keys. */
  readonly section?: Readonly<Record<string, unknown>>
  /** Splits that must have tasks. Default: train. */
  readonly splits?: readonly string[]
  /** Number of tasks to play. Default: 3. */
  readonly tasks?: number
  readonly maxSteps?: number
  /** The agent's action if a turn lists no admissible action. */
  readonly answer?: (task: Task, random: Rng) => string | Promise<string>
}

/** Numbers of tried episodes, steps and rewrites. */
export type EnvironmentTested = {
  readonly episodes: number
  readonly steps: number
  /** Rewrites that were proposed and refused, in both directions. */
  readonly rewrites: { readonly proposed: number; readonly refused: number }
}

const SEED = 20_000_003

/**
 * Plays some tasks of a setting and checks the contract.
 *
 * @throws AssertionError, or RlError `setting.broken`; both name the setting and the broken rule
 * @example await testEnvironment(setting, { set: ['environment.tasks=20'], tasks: 5 })
 */
export async function testEnvironment(
  tested: Setting,
  { set = [], section = {}, splits = ['train'], tasks = 3, maxSteps = 12, answer }: EnvironmentTest = {},
): Promise<EnvironmentTested> {
  const setting = userSetting(tested, `the setting '${tested.name}'`)
  const config = configFor(setting, set, section)
  const [first, second] = [await open(setting, config), await open(setting, config)]
  const count = { episodes: 0, steps: 0, rewrites: { proposed: 0, refused: 0 } }
  try {
    for (const split of splits) {
      const listed = await first.environment.tasks(split)
      assert.ok(listed.length > 0, `${setting.name}: the split '${split}' has no tasks`)
      assert.deepEqual(
        await second.environment.tasks(split),
        listed,
        `${setting.name}: tasks('${split}') differ between two openings`,
      )
      const ids = new Set(listed.map(({ id }) => id))
      assert.equal(ids.size, listed.length, `${setting.name}: an id stands twice in '${split}'`)
      for (const task of listed) checkTask(task, `${setting.name}: tasks('${split}'), ${task.id}`)
      if (!setting.acting) continue
      for (const task of listed.slice(0, tasks)) {
        const played = await playTwice([first, second], task, { maxSteps, answer })
        count.episodes++
        count.steps += played.actions.length
        await checkProgress(first, task, played)
        await checkExpert(first, task, maxSteps)
        await checkRewrites(first, task, count.rewrites)
      }
    }
  } finally {
    await first.environment.close?.()
    await second.environment.close?.()
  }
  return count
}

function configFor(
  setting: Setting,
  set: readonly string[],
  section: Readonly<Record<string, unknown>>,
): Config {
  const { name } = setting
  const own = setting.config ? [`environment.${name}=${JSON.stringify(section)}`] : []
  const alone = ['rewardModel.mode=off', 'learning.reward=outcome']
  if (!setting.acting) alone.push('environment.player=gateway')
  return loadConfig({ set: [`environment={name: ${name}}`, ...alone, ...own, ...set] }, setting)
}

async function open(setting: Setting, config: Config): Promise<OpenSetting> {
  return { setting, environment: await setting.open(config, sectionOf(setting, config.environment)) }
}

type Played = { readonly seed: Seed; readonly actions: readonly string[]; readonly ended: Episode }

/** Plays an episode of random actions in one environment, and repeats it with the same seed in the other. */
async function playTwice(
  [one, other]: readonly [OpenSetting, OpenSetting],
  task: Task,
  { maxSteps, answer }: Pick<EnvironmentTest, 'answer'> & { readonly maxSteps: number },
): Promise<Played> {
  const what = `${one.setting.name}, task '${task.id}'`
  const seed = seedOf(SEED, task.id)
  const random = rng(seedOf(seed, 'test'))
  const actions: string[] = []
  let episode = await one.environment.reset(task, { seed, maxSteps })
  let twin = await other.environment.reset(task, { seed, maxSteps })
  for (;;) {
    checkTurn(one.setting, what, episode, actions.length)
    assert.deepEqual(
      twin.turn,
      episode.turn,
      `${what}: after ${actions.length} actions the same seed gives another turn`,
    )
    if (episode.turn.done) break
    assert.ok(actions.length < maxSteps, `${what}: goes on after ${maxSteps} steps`)
    const { admissible } = episode.turn
    const free = answer ? await answer(task, random) : 'nothing'
    const action = admissible.length > 0 ? random.pick(admissible) : free
    const before = structuredClone(episode.turn)
    const next = await episode.step(action)
    if (admissible.length > 0) await one.environment.release?.(await episode.step(random.pick(admissible)))
    assert.deepEqual(episode.turn, before, `${what}: step changed the episode that it was called on`)
    const again = await episode.step(action)
    assert.deepEqual(
      again.turn,
      next.turn,
      `${what}: the same action from the same episode gives another turn`,
    )
    await one.environment.release?.(again)
    actions.push(action)
    episode = next
    twin = await twin.step(action)
  }
  const [ended, same] = [await settled(one, episode), await settled(other, twin)]
  const value = ended.outcome()
  assert.ok(value >= 0 && value <= 1, `${what}: the outcome ${value} is not in [0, 1]`)
  assert.equal(same.outcome(), value, `${what}: the same episode has another outcome`)
  if (ended.turn.ended === 'goal') assert.equal(value, 1, `${what}: ended at the goal with outcome ${value}`)
  return { seed, actions, ended }
}

async function settled({ environment }: OpenSetting, episode: Episode): Promise<Episode> {
  return (await environment.settle?.(episode)) ?? episode
}

function checkTurn(setting: Setting, what: string, { turn, steps }: Episode, actions: number): void {
  const { admissible, done, ended }: Turn = turn
  assert.equal(steps, actions, `${what}: steps is ${steps} after ${actions} actions`)
  assert.equal(done, ended !== null, `${what}: done is ${done}, and ended ${ended}`)
  const twice = admissible.find((action, index) => admissible.indexOf(action) !== index)
  assert.equal(twice, undefined, `${what}: the admissible action '${twice}' stands twice`)
  if (done) assert.deepEqual(admissible, [], `${what}: it is over, and actions are admissible`)
  else if (setting.acting?.kind === 'choices')
    assert.ok(admissible.length > 0, `${what}: after ${actions} actions nothing is admissible`)
}

async function checkProgress(opened: OpenSetting, task: Task, { seed, actions }: Played): Promise<void> {
  const { setting, environment } = opened
  const tell = () => setting.progress?.(environment, task, seed, actions)
  const progress = await tell()
  if (!progress) return
  const what = `${setting.name}, task '${task.id}'`
  assert.equal(progress.length, actions.length, `${what}: progress has not a value an action`)
  assert.ok(progress.every(Number.isFinite), `${what}: progress holds ${progress}`)
  assert.deepEqual(await tell(), progress, `${what}: progress differs when it is asked for again`)
}

async function checkExpert(
  { setting, environment }: OpenSetting,
  task: Task,
  maxSteps: number,
): Promise<void> {
  if (!setting.expert) return
  let episode = await environment.reset(task, { seed: seedOf(SEED, task.id, 'expert'), maxSteps })
  const expert = setting.expert(environment, episode.turn, task)
  while (!episode.turn.done) {
    const action = expert.advise(episode.turn)
    assert.ok(
      episode.turn.admissible.includes(action),
      `${setting.name}, task '${task.id}': the expert advises '${action}', which is not admissible`,
    )
    episode = await episode.step(action)
    expert.observe(action, episode.turn)
  }
}

async function checkRewrites(
  { setting, environment }: OpenSetting,
  task: Task,
  count: { proposed: number; refused: number },
): Promise<void> {
  const { rewriting } = setting
  if (!rewriting) return
  for (const direction of ['harder', 'easier'] as const) {
    const what = `${setting.name}, task '${task.id}' made ${direction}`
    const accuracy = direction === 'harder' ? 1 : 0
    const seed = seedOf(SEED, task.id, direction)
    const request = { task, direction, accuracy, critique: '', taken: [task.id], seed }
    const rewrite = await rewriting.rewrite(environment, request)
    assert.deepEqual(
      await rewriting.rewrite(environment, request),
      rewrite,
      `${what}: the same request gives another task`,
    )
    if ('refused' in rewrite) {
      assert.ok(rewrite.refused !== '', `${what}: refused without a reason`)
      count.refused++
      continue
    }
    count.proposed++
    checkTask(rewrite.task, what)
    assert.notEqual(rewrite.task.id, task.id, `${what}: it has the id of its parent`)
    assert.deepEqual(
      await rewriting.validate(environment, rewrite.task),
      { ok: true },
      `${what}: the new task does not hold`,
    )
    const { turn } = await environment.reset(rewrite.task, { seed, maxSteps: 4 })
    assert.equal(turn.done, false, `${what}: it is over at its start`)
    const again = await rewriting.rewrite(environment, {
      ...request,
      taken: [task.id, rewrite.task.id],
    })
    if ('task' in again)
      assert.notEqual(again.task.id, rewrite.task.id, `${what}: a task that is taken came out again`)
  }
}
