/** OSWorld's task files: the set-up, the question, and how the end is judged. */
import { firstIssue, RlError, safeParse } from 'rlanything/kit'
import { z } from 'zod'

const step = z.object({ type: z.string().min(1), parameters: z.record(z.string(), z.unknown()).default({}) })
const source = z.looseObject({ type: z.string().min(1) })
/** Published files write null or an empty object if there is none. */
const noSource = z.strictObject({}).transform(() => null)
const oneOrMore = <Kind extends z.ZodType>(kind: Kind) => z.union([kind, z.array(kind)])

/** Other keys of published files say nothing that is needed here. */
const taskFileSchema = z.object({
  id: z.string().min(1).max(256),
  instruction: z.string().min(1).max(100_000),
  config: z.array(step).max(100).default([]),
  related_apps: z.array(z.string()).default([]),
  evaluator: z.object({
    postconfig: z.array(step).max(100).default([]),
    func: oneOrMore(z.string().min(1)),
    conj: z.enum(['and', 'or']).default('and'),
    result: oneOrMore(z.union([noSource, source.nullable()])).optional(),
    expected: oneOrMore(z.union([noSource, source.nullable()])).optional(),
    options: oneOrMore(z.record(z.string(), z.unknown()).nullable()).optional(),
  }),
})

export type TaskFile = z.output<typeof taskFileSchema>
export type SetupStep = z.output<typeof step>
/** Source of a value to be judged. */
export type Source = z.output<typeof source>

/** @throws RlError `desktop.task` with the wrong key */
export function readTaskFile(value: unknown, name: string): TaskFile {
  const parsed = safeParse(taskFileSchema, value)
  if (parsed.success) return parsed.data
  const { path, message } = firstIssue(parsed.error)
  throw new RlError(`${name}: ${path.join('.') || 'task'}: ${message}`, { code: 'desktop.task' })
}

/** One way to judge: a metric with the sources of its values. */
export type Check = {
  readonly metric: string
  readonly result: Source | null
  readonly expected: Source | null
  readonly options: Readonly<Record<string, unknown>>
}

/**
 * Returns the evaluator's checks in order. A list of metrics has lists of sources of the same length.
 * @throws RlError `desktop.task`
 */
export function checksOf({ id, evaluator }: TaskFile): readonly Check[] {
  const { func, result, expected, options } = evaluator
  const metrics = Array.isArray(func) ? func : [func]
  const at = <Kind>(list: Kind | readonly Kind[] | undefined, i: number, name: string): Kind | null => {
    if (list === undefined) return null
    if (!Array.isArray(func)) return (Array.isArray(list) ? list[0] : list) as Kind
    if (!Array.isArray(list) || list.length !== metrics.length)
      throw new RlError(`task ${id}: evaluator.${name}: expected a list of ${metrics.length}`, {
        code: 'desktop.task',
      })
    return list[i] as Kind
  }
  return metrics.map((metric, i) => ({
    metric,
    result: at(result, i, 'result'),
    expected: at(expected, i, 'expected'),
    options: at<Check['options'] | null>(options, i, 'options') ?? {},
  }))
}
