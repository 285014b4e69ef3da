/** Trains the agent of each SDK in examples/agents for two iterations, in a project that has the compiled package and the SDKs. */
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { EventData, EventType } from '../../src/events/catalogue.ts'
import { readInt32 } from '../../src/events/columns.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { replay } from '../../src/replay/replay.ts'
import { AGENT_FILES, AGENTS, changeOf, linesChanged } from './lines-changed.ts'
import type { Project } from './project.ts'
import type { ExampleResult } from './run.ts'

const MOST_LINES = 5
const INSTALL_MS = 300_000
const TRAIN_MS = 600_000
const PYTHON_CLIENT = 'openai==3.54.0'

/** @param names folders of examples/agents */
export async function runAgents(names: readonly string[], project: Project): Promise<ExampleResult[]> {
  const { folder, env } = project
  const lacking = installSdks(project)
  const model = spawnSync('node', [join(AGENTS, 'model.ts'), 'tiny-model'], {
    cwd: folder,
    env,
    encoding: 'utf8',
  })
  if (model.status !== 0) throw new Error(`the tiny model was not written: ${model.stderr}`)
  const results: ExampleResult[] = []
  for (const name of names) {
    const python = name === 'python' ? pythonWithClient(project) : null
    const reason = name === 'python' ? (python?.lacking ?? null) : lacking
    if (reason !== null) {
      process.stdout.write(`SKIP ${name}: ${reason}\n`)
      results.push('skipped')
      continue
    }
    const started = performance.now()
    const wrong = await trained(name, python?.python ?? null, project)
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    const lines = linesChanged(changeOf(name))
    const told = wrong ?? (lines > MOST_LINES ? `it changes ${lines} lines` : null)
    process.stdout.write(`${told === null ? 'ok  ' : 'FAIL'} ${name}  ${seconds} s  ${lines} lines changed\n`)
    if (told !== null) process.stdout.write(`     ${told}\n`)
    results.push(told === null ? 'ok' : 'failed')
  }
  return results
}

/** Returns why the SDKs could not be had, or null. */
function installSdks({ folder, env }: Project): string | null {
  const started = performance.now()
  const words = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const { status, error, stderr } = spawnSync('npm', words, {
    ...{ cwd: join(folder, AGENTS), env, encoding: 'utf8', timeout: INSTALL_MS },
  })
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  if (status === 0) {
    process.stdout.write(`the SDKs were installed in ${seconds} s\n`)
    return null
  }
  const [why = ''] = `${error?.message ?? stderr}`.trim().split('\n')
  return `the SDKs were not to be had in ${seconds} s: ${why.slice(0, 200)}`
}

/** A Python that has the client: one that is there, or a new environment. */
function pythonWithClient({ folder, env }: Project): {
  readonly python: string
  readonly lacking: string | null
} {
  const has = (python: string) => spawnSync(python, ['-c', 'import openai'], { env }).status === 0
  const own = process.env.RL_TEST_PYTHON ?? process.env.PYTHON ?? 'python3'
  if (has(own)) return { python: own, lacking: null }
  const python = join(folder, 'python', 'bin', 'python')
  const options = { env, timeout: INSTALL_MS } as const
  spawnSync('python3', ['-m', 'venv', join(folder, 'python')], options)
  spawnSync(python, ['-m', 'pip', 'install', '-q', PYTHON_CLIENT], options)
  return { python, lacking: has(python) ? null : `${own} has no openai, and it was not to be had` }
}

/** Returns what is wrong with the run, or null. */
async function trained(
  name: string,
  python: string | null,
  { folder, env }: Project,
): Promise<string | null> {
  const file = join(AGENTS, AGENT_FILES[name].agent)
  const run = `agents-${name}`
  const settings = ['environment.tasksPerIteration=2', 'evaluation.rollouts=1', 'backend=wasm']
  const { status, output } = await rl(
    [
      'train',
      ...(python === null ? [file] : ['--command', `${python} ${file}`]),
      ...['--tasks', join(AGENTS, 'tasks.jsonl'), '--grade', join(AGENTS, 'grade.ts')],
      ...['--model', 'tiny-model', '--iterations', '2', '--run', run],
      ...settings.flatMap((setting) => ['--set', setting]),
    ],
    folder,
    env,
  )
  if (status !== 0) return `rl train ended with ${status}: ${output.slice(-2_000)}`
  const verified = await rl(['log', run, 'verify'], folder, env)
  if (verified.status !== 0) return verified.output
  const log = openLogReader(join(folder, 'runs', run, 'events.db'))
  try {
    const wrong = wrongIn(log)
    return wrong && `${wrong}: ${output.slice(-2_000)}`
  } finally {
    log.close()
  }
}

function wrongIn(log: LogReader): string | null {
  const all = <T extends EventType>(type: T) =>
    [...log.events({ types: [type] })].map(({ data }) => data as EventData<T>)
  const calls = all('CallsRecorded').flatMap((rollout) => rollout.calls)
  if (!calls.some(({ tools }) => tools !== null)) return 'no call has tools'
  if (!calls.some(({ answer }) => JSON.parse(answer).tool_calls?.length > 0)) return 'no tool was called'
  if (!calls.some(({ answer }) => isStructured(JSON.parse(answer).content)))
    return 'no answer has the form of the schema'
  const played = all('TrajectoryCompleted').filter(({ steps }) => steps > 0)
  if (played.some(({ trainable }) => !trainable)) return 'a rollout has no token ids'
  for (const { segments } of played)
    for (const { tokensI32, maskU8, allowedI32 } of segments)
      if (maskU8.length !== readInt32(tokensI32).length || !allowedI32)
        return 'a segment lacks a column, or what was allowed'
  const learned = all('PolicyUpdated').some(
    ({ trainedOn, metrics }) => trainedOn.length > 0 && metrics.gradientNorm > 0,
  )
  if (!learned) return 'no update learned anything'
  const { difference, completed } = replay(log)
  if (difference !== null || !completed) return `its replay differs: ${JSON.stringify(difference)}`
  return null
}

function isStructured(content: unknown): boolean {
  return typeof content === 'string' && /^\{"number":"\d"\}$/.test(content)
}

/** Runs the command of the installed package, in a group of its own. */
function rl(
  words: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly status: number | null; readonly output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(join(cwd, 'node_modules', '.bin', 'rl'), words, {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    const late = setTimeout(() => child.kill('SIGINT'), TRAIN_MS)
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (part: Buffer) => {
        output += part
      })
    child.once('error', reject)
    child.once('exit', (status) => {
      clearTimeout(late)
      resolve({ status, output })
    })
  })
}
