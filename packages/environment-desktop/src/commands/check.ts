import type { Task } from 'rlanything/environments'
import { explain, wholeNumber } from 'rlanything/kit'
import type { Computer } from '../computer.ts'
import { readFolder } from '../environment.ts'
import { type DesktopEpisode, startEpisode } from '../episode.ts'
import { openDesktop } from '../local/desktop.ts'
import { isOnDesktops, missingParts, programPath } from '../local/sandbox.ts'
import { forgetDoneTasks, recordDoneTasks } from '../osworld/done-tasks.ts'
import { evaluate, INFEASIBLE } from '../osworld/evaluate.ts'
import { setUp } from '../osworld/setup.ts'
import type { TaskFile } from '../osworld/task-file.ts'
import { createPool, type Pool } from '../pool.ts'
import { KINDS, ownTask } from '../tasks/index.ts'
import type { DesktopTask, TaskKind } from '../tasks/task.ts'

type Values = {
  readonly kind?: readonly string[]
  readonly desktops: string
  readonly seed: string
  readonly data?: string
  readonly record?: boolean
}

const MOST_STEPS = 40
const FOREVER_MS = 3_600_000

export async function check({ kind: wanted, desktops, seed, data, record = false }: Values): Promise<number> {
  if (data !== undefined) return checkFolder(data, record)
  const kinds = KINDS.filter(
    ({ kind }) => !wanted || wanted.some((name) => kind === name || kind.startsWith(`${name}-`)),
  )
  const here = kinds.filter((kind) => {
    const missing = kind.programs.filter((name) => programPath(name) === null)
    if (missing.length > 0) process.stdout.write(`SKIP ${kind.kind}: ${missing.join(', ')} missing\n`)
    return missing.length === 0
  })
  const size = wholeNumber('--desktops', desktops, 1)
  const pool: Pool<Computer> = createPool({
    open: () => openDesktop(),
    size,
    idleMs: FOREVER_MS,
    waitMs: FOREVER_MS,
  })
  const count = { tasks: 0, solved: 0, wrong: 0, differences: 0, faults: 0 }
  const queue = [...here]
  const work = async () => {
    for (let kind = queue.shift(); kind; kind = queue.shift()) {
      const { solved, wrong, different, faults } = await checkKind(pool, kind, wholeNumber('--seed', seed))
      count.tasks++
      count.solved += solved ? 1 : 0
      count.wrong += wrong ? 1 : 0
      count.differences += different ? 1 : 0
      count.faults += faults
      const verdict = solved && !wrong && !different && faults === 0 ? 'ok' : 'FAILED'
      process.stdout.write(`${kind.kind}: ${verdict}\n`)
    }
  }
  try {
    await Promise.all(Array.from({ length: size }, work))
  } finally {
    await pool.close()
  }
  const { tasks, solved, wrong, differences, faults } = count
  const skipped = kinds.length - here.length
  process.stdout.write(
    `tasks=${tasks} solved=${solved} wrong=${wrong} differences=${differences} faults=${faults} skipped=${skipped}\n`,
  )
  return solved === tasks && wrong + differences + faults === 0 ? 0 : 1
}

async function checkKind(pool: Pool<Computer>, kind: TaskKind, seed: number) {
  const own = ownTask(kind, seed, 'check', 0)
  const tell = (what: string) => process.stdout.write(`${kind.kind}: ${what}\n`)
  const right = await play(pool, own, own.oracle)
  const wrong = await play(pool, own, own.wrong)
  const faults = [right, wrong].filter(({ outcome }) => outcome === null).length
  const different = faults === 0 && right.first !== wrong.first
  if (right.outcome !== 1) tell(`the oracle got ${right.outcome}. ${right.told}`)
  if (wrong.outcome !== 0) tell(`done wrongly it got ${wrong.outcome}. ${wrong.told}`)
  if (different) tell(`two set-ups differ:\n${right.first}\n---\n${wrong.first}`)
  return { solved: right.outcome === 1, wrong: (wrong.outcome ?? 0) > 0, different, faults }
}

type PlayedOut = { readonly outcome: number | null; readonly first: string; readonly told: string }

/** Plays a task. A fault of the infrastructure is no outcome. */
async function play(pool: Pool<Computer>, own: DesktopTask, actions: readonly string[]): Promise<PlayedOut> {
  const { id, instruction } = own.file
  const task: Task = { id, environment: 'desktop', kind: '', goal: instruction, recipe: {} }
  let first = ''
  let told = ''
  let episode: DesktopEpisode | null = null
  try {
    episode = await startEpisode(task, own, { pool, grammar: 'commands', maxSteps: MOST_STEPS, folder: null })
    first = episode.turn.observation
    for (const action of actions) {
      if (!episode.turn.admissible.includes(action)) told += `'${action}' is not admissible. `
      episode = (await episode.step(action)) as DesktopEpisode
      if (episode.turn.observation.startsWith('Not done')) told += episode.turn.observation.split('\n')[0]
    }
    told += `At the end:\n${episode.turn.observation}`
    return { outcome: (await episode.settle()).outcome(), first, told }
  } catch (error) {
    await episode?.abandon()
    return { outcome: null, first, told: `${told}${explain(error)}` }
  }
}

/** Sets each task up, does nothing, and looks whether it counts as done: then nobody could learn from it. */
async function checkFolder(folder: string, record: boolean): Promise<number> {
  if (record) forgetDoneTasks(folder)
  const { bySplit, leftOut, infeasible } = readFolder(folder, isOnDesktops)
  const files = ['train', 'in-domain', 'ood'].flatMap((split) => bySplit(split).map(({ file }) => file))
  const tasks = new Map(files.map((file) => [file.id, file]))
  const names = [...leftOut].sort(([, one], [, other]) => other - one)
  for (const [name, count] of names) process.stdout.write(`not supported: ${name}, of ${count} tasks\n`)
  const missing = missingParts()
  if (missing.length > 0) process.stdout.write(`SKIP set-up of each task: ${missing.join(', ')} missing\n`)
  const computer = missing.length === 0 && tasks.size > 0 ? await openDesktop() : null
  let unfit = 0
  const done: string[] = []
  try {
    for (const file of computer ? tasks.values() : []) {
      const why = await whyUnfit(computer as Computer, file, folder)
      if (why === null) continue
      unfit++
      if (why.isDone) done.push(file.id)
      process.stdout.write(`not fit: ${file.id}: ${why.reason}\n`)
    }
  } finally {
    await computer?.close()
  }
  if (record && computer) recordDoneTasks(folder, done)
  if (infeasible.tasks > 0)
    process.stdout.write(
      `${infeasible.tasks} of ${infeasible.of} tasks are solved by saying that they cannot be done\n`,
    )
  process.stdout.write(`supported=${tasks.size - unfit} unfit=${unfit} unsupported_kinds=${names.length}\n`)
  return unfit > 0 ? 1 : 0
}

type Unfit = { readonly reason: string; readonly isDone: boolean }

async function whyUnfit(computer: Computer, file: TaskFile, folder: string): Promise<Unfit | null> {
  const context = { computer, task: file.id, folder, cache: new Map<string, Uint8Array>() }
  try {
    await computer.reset()
    await setUp(context, file.config)
    if (file.evaluator.func === INFEASIBLE) return null
    const outcome = await evaluate(context, file, false)
    return outcome === 0 ? null : { reason: `it counts ${outcome} before anything is done`, isDone: true }
  } catch (error) {
    return { reason: explain(error), isDone: false }
  }
}
