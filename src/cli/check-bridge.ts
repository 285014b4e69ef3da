/** Tries a bridge: plays some episodes of random actions, and tells what the other side lacks. */
import { z } from 'zod'
import { knowKeys, redact } from '../actors/runtime/redact.ts'
import { printLine, wholeNumber } from '../command-line.ts'
import { type Config, loadConfig } from '../config.ts'
import { defineCommand, type SettingCommand } from '../environments/command.ts'
import { openSetting } from '../environments/open.ts'
import type { Environment, Episode, Task } from '../environments/port.ts'
import { loadSetting } from '../environments/settings.ts'
import { explain, RlError } from '../errors.ts'
import { itemAt } from '../item-at.ts'
import { type Rng, rng, type Seed, seedOf } from '../random.ts'

const SEED = 20_000_003

/** The command `check` of a bridge. */
export function checkOf(name: string): SettingCommand {
  return defineCommand({
    help: `
rl ${name} check [--set KEY=VALUE ...] [--episodes N]

Plays episodes of random actions, and tells what the other side lacks: splits, seeds, bounds of its rewards,
ends. The last line is episodes=N faults=N; the exit status is 1 if there was a fault.

  --set KEY=VALUE   a key of the config; environment.KEY stands for environment.${name}.KEY
  --episodes N      number of episodes (5)`,
    options: { set: { type: 'string', multiple: true }, episodes: { type: 'string', default: '5' } },
    run: ({ values }) => checkBridge(name, values.set ?? [], wholeNumber('--episodes', values.episodes)),
  })
}

type Tried = { readonly texts: readonly string[]; readonly ended: string | null; readonly outcome: number }

async function checkBridge(name: string, set: readonly string[], count: number): Promise<number> {
  const setting = await loadSetting({ name, module: null })
  const keys = new Set(Object.keys(setting.config?.(z) ?? {}))
  const alone = ['rewardModel.mode=off', 'learning.reward=outcome', 'adaptation.enabled=false']
  const own = set.map((one) => ofSection(name, keys, one))
  const config = loadConfig({ set: [`environment={name: ${name}}`, ...alone, ...own] })
  knowKeys(config)
  const { environment } = await openSetting(config)
  const found = { faults: 0, played: 0 }
  const lacks = new Set<string>()
  try {
    const tasks = await splitsOf(environment, config, lacks)
    for (let index = 0; index < count; index++) {
      const task = itemAt(tasks, index % tasks.length)
      try {
        const one = await playOnce(environment, task, index, config)
        found.played++
        printLine(`${task.id}: ${one.texts.length - 1} steps, ended ${one.ended}, outcome ${one.outcome}`)
        if (one.ended === 'step-limit') lacks.add('an end: some episodes went on to the limit of steps')
        if (index === 0 && !(await isSame(environment, task, index, config, one)))
          lacks.add('seeds: the same seed and actions show something else (deterministic=false)')
      } catch (error) {
        found.faults++
        const code = error instanceof RlError ? error.code : 'fault'
        printLine(redact(`${task.id}: ${code}: ${explain(error)}`))
      }
    }
  } finally {
    await environment.close?.()
  }
  for (const one of lacks) printLine(`lacks ${one}`)
  printLine(`episodes=${found.played} faults=${found.faults}`)
  return found.faults === 0 && found.played === count ? 0 : 1
}

/** Returns `environment.openenv.url=X` for `environment.url=X`: the keys of the bridge may stand without its name. */
function ofSection(name: string, keys: ReadonlySet<string>, set: string): string {
  const [, key = ''] = /^environment\.([a-zA-Z]+)[=.]/.exec(set) ?? []
  return keys.has(key) ? set.replace('environment.', `environment.${name}.`) : set
}

async function splitsOf(
  environment: Environment,
  { environment: { splits } }: Config,
  lacks: Set<string>,
): Promise<readonly Task[]> {
  const tasks = await environment.tasks(splits.train ?? 'train')
  for (const [ours, theirs] of Object.entries(splits))
    if ((await environment.tasks(theirs)).length === 0) lacks.add(`the split '${theirs}' (${ours})`)
  if (tasks.length === 0)
    throw new RlError(`the split '${splits.train}' has no tasks`, {
      code: 'environment.empty-split',
      hint: 'name the split of the environment: --set environment.splits.train=NAME',
    })
  return tasks
}

async function playOnce(
  environment: Environment,
  task: Task,
  index: number,
  { environment: { maxSteps } }: Config,
): Promise<Tried> {
  const written = environment.written ?? (() => 'nothing')
  const choose = randomly(seedOf(SEED, 'act', index), written)
  let episode = await environment.reset(task, { seed: seedOf(SEED, index), maxSteps })
  const texts = [episode.turn.observation]
  try {
    while (!episode.turn.done) {
      episode = await episode.step(choose(episode.turn))
      texts.push(episode.turn.observation)
    }
    return { texts, ended: episode.turn.ended, outcome: episode.outcome() }
  } finally {
    await environment.release?.(episode)
  }
}

/** Whether a second play of the same seed shows the same. */
async function isSame(
  environment: Environment,
  task: Task,
  index: number,
  config: Config,
  { texts }: Tried,
): Promise<boolean> {
  const again = await playOnce(environment, task, index, config)
  return JSON.stringify(again.texts) === JSON.stringify(texts)
}

function randomly(seed: Seed, write: (random: Rng) => string): (turn: Episode['turn']) => string {
  const random = rng(seed)
  return ({ admissible }) => (admissible.length > 0 ? random.pick(admissible) : write(random))
}
