/** Rollouts of another run that are learned from: nobody plays them again. */
import { placeOfRollout } from '../actors/decider/names.ts'
import { runFolder } from '../broker/connection.ts'
import { RlError } from '../errors.ts'
import type { EventData } from '../events/catalogue.ts'
import { type LogReader, openLogReader } from '../events/log-reader.ts'
import { isText } from '../gateway/trajectory.ts'
import { isRecord } from '../is-record.ts'
import { itemAt } from '../item-at.ts'
import type { Told } from './result.ts'
import type { AgentTask, AgentTasks } from './tasks.ts'

type RecordedCall = EventData<'CallsRecorded'>['calls'][number]

/** A call as it was sent to the model, with its answer. */
export type WholeCall = {
  readonly messages: readonly unknown[]
  readonly tools: readonly unknown[]
  readonly answer: Readonly<Record<string, unknown>>
  /** Why the answer ended. One that was cut has no end to learn. */
  readonly finish: string
}

type RecordedRollout = { readonly value: number; readonly calls: readonly RecordedCall[] }
type RecordedTask = { readonly task: AgentTask; readonly rollouts: RecordedRollout[] }

export type Recording = {
  /** By id of the task. */
  readonly tasks: ReadonlyMap<string, RecordedTask>
  /** Number of rollouts that are not learned from, by reason. */
  readonly leftOut: Readonly<Record<string, number>>
}

/** Most rollouts of a task in an iteration. Further ones have their turn in later iterations. */
const MOST_ROLLOUTS = 8

/**
 * Reads the rollouts of a run that have an outcome and whose calls are words alone. Held-out tasks are left out.
 *
 * @throws RlError `agents.recording` if none is left, and errors of the log
 */
export function readRecording(run: string, heldOut: AgentTasks['heldOut']): Recording {
  const log = openLogReader(runFolder(run).log)
  try {
    const measured = new Set(heldOut.map(({ id }) => id))
    const leftOut: Record<string, number> = {}
    const tasks = new Map<string, RecordedTask>()
    for (const { task, value, calls } of rolloutsOf(log)) {
      const why = whyNot(calls, value) ?? (measured.has(task.id) ? 'of held-out tasks' : null)
      if (why !== null || value === null) {
        const reason = why ?? NO_OUTCOME
        leftOut[reason] = (leftOut[reason] ?? 0) + 1
        continue
      }
      const known = tasks.get(task.id) ?? { task, rollouts: [] }
      tasks.set(task.id, known)
      known.rollouts.push({ value, calls })
    }
    if (tasks.size === 0)
      throw new RlError(`run '${run}' has no rollout to learn from${leftOutText(leftOut)}`, {
        code: 'agents.recording',
        hint: 'it needs rollouts with calls and an outcome: rl gateway --record, or a training of an agent',
      })
    return { tasks, leftOut }
  } finally {
    log.close()
  }
}

const NO_OUTCOME = 'without an outcome'

/** Returns why nothing can be learned from a rollout, or null. */
function whyNot(calls: readonly RecordedCall[], value: number | null): string | null {
  if (calls.length === 0) return 'without calls'
  if (value === null) return NO_OUTCOME
  return calls.every(isWords) ? null : 'with parts that are no text'
}

/** Yields all rollouts of a log that have ended, with the outcome's value and the calls. */
function* rolloutsOf(log: LogReader): Generator<{
  readonly task: AgentTask
  readonly value: number | null
  readonly calls: readonly RecordedCall[]
}> {
  const tasks = new Map<string, AgentTask>()
  const calls = new Map<string, readonly RecordedCall[]>()
  for (const { type, data } of log.events({ types: ['TaskAdded', 'CallsRecorded', 'TrajectoryCompleted'] })) {
    if (type === 'TaskAdded') tasks.set(data.task.id, taskOf(data.task))
    // The calls of a rollout come before its end.
    else if (type === 'CallsRecorded') calls.set(data.rollout, data.calls)
    else {
      const value = data.outcome.kind === 'scored' ? data.outcome.value : null
      const task = tasks.get(data.task) ?? { id: data.task }
      yield { task, value, calls: calls.get(data.rollout) ?? [] }
      calls.delete(data.rollout)
    }
  }
}

/** A training writes the whole line of a task as its recipe. A task that an agent brought has an id of its own. */
function taskOf({ id, goal, recipe }: EventData<'TaskAdded'>['task']): AgentTask {
  return isRecord(recipe) && typeof recipe.id === 'string' ? { ...recipe, id: recipe.id } : { id, goal }
}

function isWords({ messages }: RecordedCall): boolean {
  return (JSON.parse(messages) as readonly unknown[]).every(isText)
}

/**
 * Returns what was left out, as words behind a sentence.
 * @example leftOutText({ 'without an outcome': 3 }) // ' (left out: 3 without an outcome)'
 */
export function leftOutText(leftOut: Recording['leftOut']): string {
  const parts = Object.entries(leftOut).map(([why, count]) => `${count} ${why}`)
  return parts.length === 0 ? '' : ` (left out: ${parts.join(', ')})`
}

/** Returns the keys of a run that learns from a recording. */
export function recordingSettings({ tasks }: Recording): Readonly<Record<string, string | number | boolean>> {
  const rollouts = [...tasks.values()].map((one) => one.rollouts)
  const most = Math.max(...rollouts.map(({ length }) => length))
  const perTask = Math.max(2, Math.min(MOST_ROLLOUTS, most))
  return {
    'environment.rolloutsPerTask': perTask,
    // Production plays a task once or twice. To imitate a rollout, no other one is needed.
    'environment.minGroupSize': 2,
    'environment.maxSteps': Math.max(30, ...rollouts.flat().map(({ calls }) => calls.length)),
    'learning.advantage': 'filtered',
    'learning.mixedOutcomes': false,
    // Nothing was drawn from this policy, so its distance from what it was bounds nothing. This loss never drops a gradient.
    'policy.training.objective': 'cispo',
    'policy.training.klWeight': 0,
    'policy.training.klLimit': 'null',
  }
}

/**
 * Returns the recorded rollout that stands for one of a run. Rollouts of a task take turns, over all iterations.
 *
 * @param name of the rollout: `iteration/slot/index`
 */
export function recordedFor(recording: Recording, task: string, name: string): RecordedRollout | null {
  const known = recording.tasks.get(task)
  if (known === undefined) return null
  const { iteration, index } = placeOfRollout(name)
  return itemAt(known.rollouts, ((iteration - 1) * MOST_ROLLOUTS + index) % known.rollouts.length)
}

/** Returns the calls with all of their messages and tools. */
export function wholeCalls(calls: readonly RecordedCall[]): readonly WholeCall[] {
  let [shown, offered]: [readonly unknown[], readonly unknown[]] = [[], []]
  return calls.map(({ kept, messages, tools, answer, finish }) => {
    shown = [...shown.slice(0, kept), ...(JSON.parse(messages) as unknown[])]
    if (tools !== null) offered = JSON.parse(tools) as unknown[]
    return { messages: shown, tools: offered, answer: JSON.parse(answer) as WholeCall['answer'], finish }
  })
}

/** Lets the policy tell how likely it finds each recorded answer, call by call. Returns the recorded outcome. */
export async function playRecorded(
  { value, calls }: RecordedRollout,
  { baseURL, apiKey, model }: { readonly baseURL: string; readonly apiKey: string; readonly model: string },
  signal: AbortSignal,
): Promise<Told> {
  for (const [number, { messages, tools, answer, finish }] of wholeCalls(calls).entries()) {
    const { content, tool_calls } = answer
    const response = await fetch(`${baseURL}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model,
        messages,
        ...(tools.length > 0 ? { tools } : {}),
        given_answer: { content, tool_calls, finish_reason: finish },
      }),
      signal,
    })
    const text = await response.text()
    if (response.ok) continue
    const error = `recorded call ${number}: ${response.status} ${text.slice(0, 300)}`
    return { failed: response.status < 500 ? 'agent' : 'infra', error }
  }
  return { score: value }
}
