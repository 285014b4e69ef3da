/**
 * `--dry-run` shows the effective config, the plan, and the policy's first text as the policy reads it. It starts
 * nothing.
 */
import { stringify } from 'yaml'
import { runFolder } from '../../../broker/connection.ts'
import { wrap } from '../../../columns.ts'
import { policyWorkerOf } from '../../../config/roles.ts'
import { type Config, loggable } from '../../../config.ts'
import { openSetting } from '../../../environments/open.ts'
import type { Task } from '../../../environments/port.ts'
import type { OpenSetting } from '../../../environments/setting.ts'
import { loadSetting } from '../../../environments/settings.ts'
import { tasksOf } from '../../../environments/split-tasks.ts'
import { explain } from '../../../errors.ts'
import type { HubCopy } from '../../../models/hub-folder.ts'
import { sourceOf } from '../../decider/task-counts.ts'
import { type FirstTurn, firstTurns } from '../../first-turns.ts'
import type { StartOptions } from '../../start-options.ts'
import { backendLine } from './backend-line.ts'
import { inColumns, planLines } from './plan.ts'
import { runtimeLine } from './runtime-line.ts'

const PROMPTS = 3

type Print = (text: string) => void

export async function dryRun(
  run: string,
  config: Config,
  options: StartOptions,
  hub: HubCopy | null,
): Promise<number> {
  const print: Print = (text) => process.stdout.write(`${text}\n`)
  print(stringify(loggable(config)))
  const backend = await backendLine(config, print)
  const runtime = await runtimeLine(config, options)
  const { simulated } = await loadSetting(config.environment)
  const plan = { run, folder: runFolder(run), config, resumed: false, options, backend, hub, runtime }
  for (const line of planLines(plan)) print(line)
  if (simulated) {
    row(print, 'none: the learner is simulated')
    return 0
  }
  const opened = await openSetting(config)
  try {
    await showPrompts(config, opened, hub, print)
  } finally {
    // An open browser or desktop would keep this process alive.
    await opened.environment.close?.()
  }
  return 0
}

async function showPrompts(
  config: Config,
  opened: OpenSetting,
  hub: HubCopy | null,
  print: Print,
): Promise<void> {
  if (config.environment.player !== 'own' || !opened.setting.acting) {
    row(print, 'agents outside bring their own; they are told the goals')
    const tasks = await tasksOf(opened.environment, 'train', sourceOf('train', config.environment))
    for (const [index, { goal, ...task }] of tasks.slice(0, PROMPTS).entries())
      print(`--- goal ${index + 1}: ${titleOf(task)}\n${wrapped(goal)}\n`)
    return
  }
  if (policyWorkerOf(config, opened.setting)?.startsWith('scripted')) {
    row(print, 'none: a script acts')
    return
  }
  if (hub?.missing) {
    row(print, 'told when the model is here: its tokenizer is fetched with it')
    return
  }
  const { how, turns } = await firstTurns(config, opened, { count: PROMPTS, vocabulary: 'cold-start' })
  row(print, how)
  for (const [index, turn] of turns.entries()) {
    const title = `--- prompt ${index + 1}: ${titleOf(turn.task)}`
    const [size, text] = 'fault' in turn ? ['', explain(turn.fault)] : [sizeOf(turn), turn.text]
    print(`${title}${size}\n${wrapped(text)}\n`)
    if ('spelled' in turn && turn.spelled !== null) print(`tokens: ${wrapped(turn.spelled)}\n`)
  }
}

const row = (print: Print, text: string) => {
  for (const line of inColumns('prompts', text)) print(line)
}

/** Wraps each line of a text for a terminal. Only spaces become ends of lines. */
const wrapped = (text: string) =>
  text
    .split('\n')
    .flatMap((line) => wrap(line))
    .join('\n')

const titleOf = ({ id, kind }: Pick<Task, 'id' | 'kind'>) => `${id} (${kind})`

function sizeOf({ tokens, fits }: FirstTurn): string {
  if (tokens === null) return ''
  return `, ${tokens} tokens${fits ? '' : ', with which no action fits into the context'}`
}
