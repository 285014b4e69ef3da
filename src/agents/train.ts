/** Trains a user's agent: the head, the gateway and the agents, from the first line to the proof. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { runFolder } from '../broker/connection.ts'
import { RlError } from '../errors.ts'
import { openLogReader } from '../events/log-reader.ts'
import { hasBegun } from '../events/starts.ts'
import { type Gateway, joinRun } from '../gateway/start.ts'
import { nodeWords, PACKAGE_ROOT } from '../package.ts'
import { openCommandAgent } from './command.ts'
import { type Cost, costOf } from './cost.ts'
import { openNoGrade } from './next-message.ts'
import { play } from './play.ts'
import { type Proof, proofOf } from './proof.ts'
import { type Recording, recordingSettings } from './recording.ts'
import { type Judge, openRubric } from './rubric.ts'
import { setWords } from './set-words.ts'
import { type AgentTasks, HELD_OUT, settingLines } from './tasks.ts'
import { openUserWorker, type UserWorker } from './worker.ts'

export type TrainOptions = {
  readonly run: string
  /** Module of the agent, or a command for the shell. */
  readonly agent: { readonly module: string } | { readonly command: string }
  /**
   * Module of the grade, or a rubric with the model that grades by it. Version 0 of the policy grades if no model is
   * named. Null if the agent tells its outcome.
   */
  readonly grade:
    | { readonly module: string }
    | { readonly rubric: string; readonly judge: Judge | null }
    /** Nobody grades: verdicts on the calls are the reward, and the measure. */
    | 'verdicts'
    | null
  readonly tasks: AgentTasks
  /** Rollouts of another run that are learned from. Null to play the tasks. */
  readonly recording: Recording | null
  readonly model: string
  readonly iterations: number
  /** Minutes that the run may take. Without it only the number of iterations ends the run. */
  readonly minutes?: number
  readonly concurrency: number
  readonly agentSeconds: number
  /** Config of the head. config/train.yaml if absent. */
  readonly config?: string
  /** Further words for the head, e.g. `--set`, `policy.training.learningRate=1e-4`. */
  readonly words: readonly string[]
  /** Waits for the head, which makes its plan first. The signal ends the waiting. */
  readonly awaitHead: (signal: AbortSignal) => Promise<void>
  readonly say: (line: string) => void
  readonly signal: AbortSignal
}

export type Trained = {
  /** Exit status of the head: 0 if the run is complete, 130 if it was paused. */
  readonly status: number
  /** Null if the run is not complete. */
  readonly proof: Proof | null
  /** Null if the run is not complete. */
  readonly cost: Cost | null
}

/** Words that start a head. */
export const HEAD = [...nodeWords(new URL('../main.ts', import.meta.url)), '--role', 'head']
/** Environment variables with the key of the judge, and with that of the policy's own endpoint. */
export const JUDGE_KEY = 'RL_JUDGE_API_KEY'
const POLICY_KEY = 'RL_GATEWAY_POLICY_KEY'
/** How the head says that a run goes on. Without agents it would wait for ever. */
const HEAD_ALONE = /^ {2}go on: +npm start -- --role head /
const GRADE_MS = 60_000
/** Exit status of a head that was paused. */
export const PAUSED = 130
const MOST_TASKS_AT_A_TIME = 8
/** Seconds beside the agent's own time in which a rollout must end. */
const SPARE_S = 120
/** The head's config if no other is named. */
export const CONFIG = join(PACKAGE_ROOT, 'config/train.yaml')

/** @throws RlError of the gateway, and `agents.module` before the run is begun if the agent or the grade cannot be loaded */
export async function train(options: TrainOptions): Promise<Trained> {
  const { run, say, signal } = options
  const agents = Array.from({ length: options.concurrency }, () => openAgent(options))
  let grade = openGradeModule(options)
  const closeWorkers = () => {
    for (const worker of [...agents, grade]) worker?.close()
  }
  try {
    await Promise.all([agents[0]?.load?.(), grade?.load?.()])
  } catch (error) {
    closeWorkers()
    throw error
  }
  if (signal.aborted) {
    closeWorkers()
    return { status: PAUSED, proof: null, cost: null }
  }
  const head = startHead(options)
  const ended = new Promise<number>((resolve) => head.once('exit', (status) => resolve(status ?? 1)))
  const leaving = new AbortController()
  const pause = () => void head.kill('SIGINT')
  signal.addEventListener('abort', pause, { once: true })
  let gateway: Gateway | null = null
  try {
    await Promise.race([options.awaitHead(leaving.signal), ended])
    const token = randomBytes(24).toString('base64url')
    if (head.exitCode === null && !signal.aborted) {
      gateway = await Promise.race([
        joinRun({ run, nats: null, port: 0, token, say, takesAnswers: options.recording !== null }),
        ended.then(() => null),
      ])
    }
    if (gateway !== null) grade ??= openGrade(options, gateway)
    const playing =
      gateway === null
        ? new Promise<never>(() => {})
        : play({
            gateway: gateway.server.url,
            token,
            agents,
            grade,
            agentMs: options.agentSeconds * 1000,
            gradeMs: GRADE_MS,
            recording: options.recording,
            onFault: say,
            signal: leaving.signal,
          }).then(() => new Promise<never>(() => {}))
    const status = await Promise.race([ended, playing])
    return { status, ...(status === 0 ? measured(options) : { proof: null, cost: null }) }
  } finally {
    leaving.abort()
    signal.removeEventListener('abort', pause)
    closeWorkers()
    if (head.exitCode === null) head.kill('SIGINT')
    await gateway?.close()
    await ended
  }
}

/** Opens the user's own grade. Returns null if there is none. */
export function openGradeModule({ grade, say }: TrainOptions): UserWorker | null {
  return grade !== null && grade !== 'verdicts' && 'module' in grade
    ? openUserWorker(grade.module, 'grade', outputOf('grade', say), agentEnvironment())
    : null
}

/** Opens a grade that is no module of the user's. */
function openGrade({ grade }: TrainOptions, gateway: Gateway): UserWorker | null {
  if (grade === 'verdicts') return openNoGrade()
  if (grade === null || 'module' in grade) return null
  if (grade.judge !== null) return openRubric(grade.rubric, grade.judge)
  const { key, ...target } = gateway.modelOf(0)
  if (key !== null) process.env[POLICY_KEY] = key
  return openRubric(grade.rubric, { ...target, apiKeyEnv: POLICY_KEY })
}

export function openAgent({ agent, say }: TrainOptions): UserWorker {
  const hear = outputOf('agent', say)
  return 'command' in agent
    ? openCommandAgent(agent.command, hear, agentEnvironment())
    : openUserWorker(agent.module, 'agent', hear, agentEnvironment())
}

/** Says what a user's process prints, line by line. */
function outputOf(name: string, say: (line: string) => void) {
  return (text: string) => {
    for (const line of text.split('\n')) if (line.trim() !== '') say(`  ${name}: ${line.slice(0, 300)}`)
  }
}

function startHead(options: TrainOptions): ChildProcess {
  const { run, say, words } = options
  const { folder, log } = runFolder(run)
  const begun = hasBegun(log)
  if (!begun) mkdirSync(folder, { recursive: true, mode: 0o700 })
  const own = begun ? [] : settings(options, join(folder, 'tasks.jsonl'))
  const head = spawn(
    process.execPath,
    [...HEAD, '--run', run, ...own, ...words],
    // In a group of its own: Ctrl-C comes once, from here.
    { stdio: ['ignore', 'pipe', 'inherit'], detached: process.platform !== 'win32' },
  )
  createInterface({ input: head.stdout! }).on('line', (line) => {
    if (!HEAD_ALONE.test(line)) say(line)
  })
  return head
}

/** Writes the tasks to a file. Returns the keys that the shipped config leaves open. */
export function settings(
  { tasks, recording, model, iterations, minutes, agentSeconds, config = CONFIG }: TrainOptions,
  file: string,
): string[] {
  writeFileSync(file, settingLines(tasks), { mode: 0o600 })
  const words = setWords({
    'environment.data': file,
    'environment.tasksPerIteration': Math.min(MOST_TASKS_AT_A_TIME, tasks.train.length),
    'policy.model': model,
    'evaluation.splits': tasks.heldOut.length > 0 ? `[${HELD_OUT}]` : '[]',
    'run.iterations': iterations,
    'run.evaluateEvery': iterations,
    ...(minutes === undefined ? {} : { 'run.minutes': minutes }),
    ...(recording === null ? {} : recordingSettings(recording)),
    'run.deadlines.rolloutSeconds': agentSeconds + SPARE_S,
    'run.deadlines.scoringSeconds': agentSeconds + 2 * SPARE_S,
  })
  return ['--config', config, ...words]
}

function measured({ run, grade }: TrainOptions): Omit<Trained, 'status'> {
  const { log: path } = runFolder(run)
  const log = openLogReader(path)
  try {
    return { proof: proofOf(log, grade === 'verdicts' ? 'verdicts' : 'outcomes'), cost: costOf(log) }
  } finally {
    log.close()
  }
}

/** Agents get no keys of the broker, of the gateway and of the judge. */
function agentEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(NATS_|RL_GATEWAY_|RL_JUDGE_)/.test(name)),
  )
}

/** Agents that play at a time, if nobody says how many. */
export function usualConcurrency(): number {
  return Math.max(4, 2 * availableParallelism())
}

export function noGrade(): RlError {
  return new RlError('nobody says how well the agent did', {
    code: 'cli.usage',
    hint: 'give --grade FILE with grade(task, result), --rubric FILE for a model that grades, or let the agent return { success } or { score } and say --own-outcome',
  })
}
