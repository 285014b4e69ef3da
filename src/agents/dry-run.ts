/** A look at a training without it: the first call of the agent, and how much is to be played. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Config, openConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import { itemAt } from '../item-at.ts'
import type { AgentTask, AgentTasks } from './tasks.ts'
import { CONFIG, HEAD, openAgent, openGradeModule, settings, type TrainOptions } from './train.ts'
import type { UserWorker } from './worker.ts'

/** Most bytes of a first call that are read. */
const MOST_BODY = 1_000_000

/** Characters of a task and of a call that are shown. */
const MOST_SHOWN = 2_000

/**
 * Shows what a training would do: the plan, the first task, the first call of the agent, and how much is played. It
 * starts no run.
 *
 * @throws RlError `config.invalid`, and `agents.module` if the agent or the grade cannot be loaded
 */
export async function dryRun(options: TrainOptions): Promise<void> {
  const { run, say, tasks, words, model, agentSeconds } = options
  const folder = mkdtempSync(join(tmpdir(), 'rl-train-'))
  const agent = openAgent(options)
  const grade = openGradeModule(options)
  try {
    await grade?.load?.()
    const own = settings(options, join(folder, 'tasks.jsonl'))
    await sayPlan([...HEAD, '--run', run, '--dry-run', ...own, ...words], say)
    const set = [...own, ...words].filter((_, i, all) => all[i - 1] === '--set')
    const { training, measuring, calls } = amountOf(
      tasks,
      await openConfig({ file: options.config ?? CONFIG, set }),
    )
    const task = itemAt(tasks.train, 0)
    say(`first task: ${JSON.stringify(task).slice(0, MOST_SHOWN)}`)
    const call = await firstCall(agent, task, model, agentSeconds * 1000)
    say(
      call.kind === 'none'
        ? `first call: none - the agent: ${call.why}`
        : `first call: POST ${call.path} ${call.body.slice(0, MOST_SHOWN)}`,
    )
    say(
      options.minutes === undefined
        ? `it will play at most ${training} rollouts to train and ${measuring} to measure: ${calls} calls at most`
        : `it will play ${measuring} rollouts to measure, and train for the rest of ${options.minutes} minutes`,
    )
  } finally {
    agent.close()
    grade?.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Says the plan of a dry run of the head. The effective config before it is left out. */
async function sayPlan(words: readonly string[], say: (line: string) => void): Promise<void> {
  const head = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  let isPlan = false
  createInterface({ input: head.stdout }).on('line', (line) => {
    isPlan = (isPlan || line.startsWith('  run ')) && !line.startsWith('  prompts ')
    if (isPlan) say(line)
  })
  const status = await new Promise<number | null>((resolve) => head.once('close', resolve))
  if (status !== 0)
    throw new RlError('the run would be refused', { code: 'config.invalid', hint: 'the lines above say why' })
}

type FirstCall =
  | { readonly kind: 'call'; readonly path: string; readonly body: string }
  /** The agent ended, threw or was too late before it called the model. */
  | { readonly kind: 'none'; readonly why: string }

/**
 * Lets an agent play a task until it calls the model. Nobody answers: the call gets an error.
 *
 * @param ms time in which it must call
 */
async function firstCall(agent: UserWorker, task: AgentTask, model: string, ms: number): Promise<FirstCall> {
  let heard: (call: FirstCall) => void = () => {}
  const call = new Promise<FirstCall>((resolve) => {
    heard = resolve
  })
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    heard({ kind: 'call', path: request.url ?? '', body })
    response.writeHead(400, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: 'this is a dry run', type: 'invalid_request_error' } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const given = { baseURL: `${url}/v1`, apiKey: 'dry-run', model, rolloutURL: `${url}/rollouts/dry-run` }
  try {
    const ended = agent.call([task, given], ms).then(
      (result): FirstCall => ({
        kind: 'none',
        why: result.kind === 'fault' ? result.error : 'it gave a result and never called the model',
      }),
    )
    return await Promise.race([call, ended])
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of request) {
    bytes += (part as Buffer).length
    if (bytes > MOST_BODY) break
    parts.push(part as Buffer)
  }
  return Buffer.concat(parts).toString('utf8')
}

type Amount = { readonly training: number; readonly measuring: number; readonly calls: number }

/** Returns how many rollouts and calls a training has at most. */
function amountOf({ train, heldOut }: AgentTasks, { run, environment, evaluation, policy }: Config): Amount {
  const { tasksPerIteration, rolloutsPerTask, maxSteps } = environment
  const training = run.iterations * Math.min(tasksPerIteration, train.length) * rolloutsPerTask
  const measuring = 2 * heldOut.length * evaluation.rollouts
  const calls = (training + measuring) * maxSteps
  return { training, measuring, calls: Math.min(calls, policy.expert.maxCalls ?? calls) }
}
