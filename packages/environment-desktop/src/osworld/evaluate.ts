/** Judges the end of an episode as a task's file says. */

import { ownValue, RlError } from 'rlanything/kit'
import { fileHere } from './files-here.ts'
import { type Found, get, isGetter, nameOf } from './getters.ts'
import { METRICS, unknownOptions } from './metrics/index.ts'
import { unknownMethods } from './metrics/json.ts'
import { unknownTableRules } from './metrics/table.ts'
import { unreadableLines } from './metrics/text.ts'
import { type Beside, textIn } from './metrics/values.ts'
import { type SetupContext, setUp } from './setup.ts'
import { missingProgram, type Supply, unsupportedInStep } from './step-support.ts'
import { type Check, checksOf, type TaskFile } from './task-file.ts'

/** The metric of tasks that cannot be done. The right answer is to say so. */
export const INFEASIBLE = 'infeasible'

/**
 * Returns the outcome in [0, 1]. With `and` the first 0 ends it, and otherwise the mean counts. With `or` the
 * first 1 ends it, and otherwise the best counts.
 * @param gaveUp whether the last action said that the task cannot be done
 * @throws RlError `desktop.task`, or an error of the desktop; neither is an outcome
 */
export async function evaluate(context: SetupContext, task: TaskFile, gaveUp: boolean): Promise<number> {
  await setUp({ ...context, lenient: true }, task.evaluator.postconfig)
  if (task.evaluator.func === INFEASIBLE) return gaveUp ? 1 : 0
  if (gaveUp) return 0
  const scores: number[] = []
  const { conj } = task.evaluator
  for (const check of checksOf(task)) {
    const value = await scoreOf(context, check)
    scores.push(value)
    if (value === (conj === 'and' ? 0 : 1)) return value
  }
  return conj === 'and' ? scores.reduce((sum, one) => sum + one, 0) / scores.length : Math.max(...scores)
}

async function scoreOf(context: SetupContext, { metric, result, expected, options }: Check): Promise<number> {
  const found: Found = result ? await get(context, result) : null
  // A missing file fails its check, whatever the metric makes of nothing.
  if (result?.type === 'vm_file' && found === null) return 0
  const beside: Beside = (of, ending) => {
    const source = of === 'result' ? result : expected
    return source ? textIn(context.cache.get(nameOf(source).replace(/\.[^.]*$/, '') + ending) ?? null) : null
  }
  const score = ownValue(METRICS, metric)
  if (score === undefined)
    throw new RlError(`the metric '${metric}' is not supported`, { code: 'desktop.task' })
  return score(found, expected ? await get(context, expected) : null, options, beside)
}

/** Returns the features of a task that are not supported here. Returns none if it can be played. */
export function unsupportedIn(
  task: TaskFile,
  folder: string | null,
  program: Supply['program'] | null = null,
): readonly string[] {
  const supply: Supply = {
    file: (address) => fileHere(folder, task.id, address) !== null,
    program: program ?? (() => true),
    services: program === null,
  }
  const named = [...task.config, ...task.evaluator.postconfig].flatMap((step) =>
    unsupportedInStep(step, supply),
  )
  if (task.evaluator.func === INFEASIBLE) return [...new Set(named)]
  for (const { metric, result, expected, options } of checksOf(task)) {
    if (!Object.hasOwn(METRICS, metric)) named.push(`metric ${metric}`)
    else named.push(...unknownOptions(metric, options))
    if (metric === 'compare_table') named.push(...unknownTableRules(options))
    if (metric === 'check_list') named.push(...unreadableLines(expected?.rules))
    if (metric === 'check_json') named.push(...unknownMethods(expected?.rules))
    for (const source of [result, expected])
      if (source && !isGetter(source.type)) named.push(`getter ${source.type}`)
      else if (
        source?.type === 'cloud_file' &&
        [source.path].flat().some((path) => !supply.file(String(path)))
      )
        named.push('file not here')
      else if (source && /^vm_command_/.test(source.type)) named.push(...missingProgram(source, supply))
      else if (Array.isArray(source?.gives) && source.gives.length !== 1)
        named.push(`getter ${source.type} of several files`)
  }
  return [...new Set(named)]
}
