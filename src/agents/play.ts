/** Plays the rollouts of a run with a user's agent: takes each from the gateway, runs the agent, grades, and tells. */
import { explain, RlError } from '../errors.ts'
import { playRecorded, type Recording, recordedFor } from './recording.ts'
import { gradeOf, outcomeOf, type Told } from './result.ts'
import type { AgentTask } from './tasks.ts'
import type { CallResult, UserWorker } from './worker.ts'

export type PlayOptions = {
  /** Address of the gateway. */
  readonly gateway: string
  readonly token: string
  readonly agents: readonly UserWorker[]
  /** Null if the agent tells its own outcome. */
  readonly grade: UserWorker | null
  readonly agentMs: number
  readonly gradeMs: number
  /** Rollouts that are learned from in place of playing. Null to play all. */
  readonly recording: Recording | null
  /** Hears each fault, with the task. */
  readonly onFault: (line: string) => void
  readonly signal: AbortSignal
}

type Rollout = {
  readonly rollout: string
  readonly outcome_url: string
  /** The agent's key. */
  readonly key: string
  /** The key that ends the rollout if it is graded. The agent never gets it. */
  readonly outcome_key?: string
  readonly model: string
  readonly task: { readonly id: string; readonly recipe: AgentTask }
}

/** Seconds for which a question for a rollout waits. */
const WAIT_S = 20
const AGAIN_MS = 500

/**
 * Plays until the signal.
 * @throws RlError `agents.module` if an agent or the grade cannot be loaded
 */
export async function play(options: PlayOptions): Promise<void> {
  await Promise.all(options.agents.map((agent) => playWith(agent, options)))
}

async function playWith(agent: UserWorker, options: PlayOptions): Promise<void> {
  const { signal } = options
  while (!signal.aborted) {
    const rollout = await take(options)
    if (rollout === null) continue
    const told = await outcomeFor(rollout, agent, options)
    if (signal.aborted) return
    if ('failed' in told) options.onFault(`${rollout.rollout} (task ${rollout.task.id}): ${told.error}`)
    await post(rollout.outcome_url, rollout.outcome_key ?? rollout.key, told, signal).catch(() => null)
  }
}

async function outcomeFor(rollout: Rollout, agent: UserWorker, options: PlayOptions): Promise<Told> {
  const { gateway, grade, agentMs, recording, signal } = options
  const { key, model, task } = rollout
  const rolloutURL = rollout.outcome_url.replace(/\/outcome$/, '')
  const given = { baseURL: `${gateway}/v1`, apiKey: key, model, rolloutURL }
  const recorded = recording && recordedFor(recording, task.recipe.id, rollout.rollout)
  if (recorded)
    return playRecorded(recorded, given, signal).catch((error) => ({
      failed: 'infra',
      error: explain(error),
    }))
  const result: CallResult = await agent.call([task.recipe, given], agentMs)
  if (result.kind === 'fault') return failureOf(rollout, result.error, options)
  const own = outcomeOf(result.value)
  if (grade === null)
    return own ?? { failed: 'agent', error: 'the agent gave no outcome, and there is no --grade' }
  if (own !== null && ('abstained' in own || 'pending' in own)) return own
  return gradeWith(grade, rollout, result.value ?? null, options)
}

/** Asks the grade, which may read the transcript. */
async function gradeWith(
  grade: UserWorker,
  rollout: Rollout,
  result: unknown,
  { signal, gradeMs }: PlayOptions,
  other?: string,
): Promise<Told> {
  let transcript: readonly unknown[]
  try {
    transcript = await transcriptOf(rollout, signal)
  } catch (error) {
    return { failed: 'infra', error: `the transcript for the grade: ${explain(error)}` }
  }
  const graded = await grade.call([rollout.task.recipe, result, transcript], gradeMs, other)
  return other !== undefined && graded.kind === 'value' && graded.value == null
    ? { failed: 'agent', error: `the agent: ${result}` }
    : gradeOf(graded)
}

/**
 * Returns the outcome of an agent that failed. It is a fault, unless the grade exports `failure` and says that the model
 * is to blame.
 */
async function failureOf(rollout: Rollout, error: string, options: PlayOptions): Promise<Told> {
  const { grade } = options
  if (grade === null) return { failed: 'agent', error: `the agent: ${error}` }
  return gradeWith(grade, rollout, error, options, 'failure')
}

/** Returns the messages of the agent and the answers of the model, in order. */
async function transcriptOf({ outcome_url, key }: Rollout, signal: AbortSignal): Promise<readonly unknown[]> {
  const url = outcome_url.replace(/outcome$/, 'transcript')
  const { messages } = (await ask(url, key, signal)) as { readonly messages: readonly unknown[] }
  return messages
}

/** Returns the next rollout. Returns null if there is none now, or the gateway is not there. */
async function take({ gateway, token, grade, signal }: PlayOptions): Promise<Rollout | null> {
  try {
    return (await post(
      `${gateway}/rollouts`,
      token,
      { agent: 'train', wait: WAIT_S, graded: grade !== null },
      signal,
    )) as Rollout | null
  } catch (error) {
    if (error instanceof RlError) throw error
    if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
    return null
  }
}

async function post(url: string, key: string, body: unknown, signal: AbortSignal): Promise<unknown> {
  return ask(url, key, signal, { method: 'POST', body: JSON.stringify(body) })
}

async function ask(
  url: string,
  key: string,
  signal: AbortSignal,
  request: RequestInit = {},
): Promise<unknown> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const answer = await fetch(url, { ...request, headers, signal })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${answer.status} ${text.slice(0, 200)}`)
  return text === '' ? null : JSON.parse(text)
}
