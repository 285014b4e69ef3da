/** Files with the actions of others: experts, earlier runs, other policies. */
import { RlError } from '../../errors.ts'
import { readTextSync } from '../../text-file.ts'

/** Actions that were recorded of a task, by its id. */
export type RecordedActions = { readonly task: string; readonly actions: readonly string[] }

/**
 * Reads JSON lines with `task` and `actions`, as `rl export --format jsonl` writes them. Other fields do not count.
 *
 * @param key of the config that names the file
 * @throws RlError `outside.invalid` with the line
 */
export function readRecorded(file: string, key: string): readonly RecordedActions[] {
  const texts = readTextSync(file).split('\n')
  return texts.flatMap((text, i): RecordedActions[] => {
    if (text.trim() === '') return []
    const { task, actions } = parsed(text) ?? {}
    if (typeof task === 'string' && Array.isArray(actions) && actions.every((one) => typeof one === 'string'))
      return [{ task, actions }]
    throw new RlError(`${key}: ${file}:${i + 1} has no task and actions`, {
      code: 'outside.invalid',
      hint: 'a line is {"task": "id of a task of the run", "actions": ["first", "second"]}; rl export --format jsonl writes them',
    })
  })
}

/**
 * Reads one trace a task.
 * @throws RlError `outside.invalid` for a wrong line, a trace without actions, and a second trace of a task
 */
export function readTraces(file: string): ReadonlyMap<string, readonly string[]> {
  const traces = new Map<string, readonly string[]>()
  for (const { task, actions } of readRecorded(file, 'environment.traces')) {
    if (actions.length === 0 || traces.has(task))
      throw new RlError(
        `environment.traces: ${file} has ${actions.length === 0 ? 'a trace without actions' : 'two traces'} for task '${task}'`,
        { code: 'outside.invalid', hint: 'a task has one line with at least one action' },
      )
    traces.set(task, actions)
  }
  return traces
}

function parsed(text: string): Partial<Record<keyof RecordedActions, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' ? value : null
  } catch {
    return null
  }
}
