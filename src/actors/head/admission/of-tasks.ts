/** Rules for tasks: the first tasks of a run, candidates for their slots, and decisions on candidates. */
import { isDeepStrictEqual } from 'node:util'
import { type Group, groupOver } from '../../decider/books.ts'
import { slotName } from '../../decider/names.ts'
import { splitsOf } from '../../decider/task-counts.ts'
import { type Asked, rewriteKey } from './asked.ts'
import { causeWrong, type Situation, type Told } from './situation.ts'

export function taskUnasked({ data, cause }: Told<'TaskAdded'>, situation: Situation): string | null {
  const { config, taskCounts, begun } = situation.asked
  const { split, slot, index, total } = data
  if (config && !splitsOf(config.evaluation).includes(split)) return `the run has no split ${split}`
  const known = taskCounts.get(split)
  if (known && known.seen >= known.total) return `all ${known.total} tasks of ${split} are there`
  if (known && known.total !== total) return `${split} has ${known.total} tasks, not ${total}`
  if (slot !== slotName(split, index))
    return `task ${index} of ${split} has the slot ${slotName(split, index)}`
  return causeWrong(cause, begun, situation)
}

function candidateOf(asked: Asked, iteration: number, slot: string): Group | null {
  const book = asked.iterations.get(iteration)?.book
  const group = book?.groups.get(slot)
  if (!book || group?.purpose !== 'candidate' || group.accepted !== null) return null
  return groupOver(group) ? group : null
}

export function decisionUnasked(
  { data }: { readonly data: { iteration: number; slot: string; task: string | null } },
  { asked }: Situation,
): string | null {
  const { iteration, slot, task } = data
  if (candidateOf(asked, iteration, slot)?.task === task) return null
  return `no candidate ${task} of ${slot} in iteration ${iteration} waits for a decision`
}

/** Checks a rejection. The environment rejects a candidate, and the adapter says that there is none. */
export function rejectionUnasked(event: Told<'TaskRejected'>, situation: Situation): string | null {
  const byAdapter = situation.user.startsWith('adapter')
  if ((event.data.task === null) !== byAdapter)
    return byAdapter ? 'only the environment rejects a candidate' : 'only the adapter says that there is none'
  return byAdapter ? rewriteUnasked(event, situation) : decisionUnasked(event, situation)
}

const REWRITTEN = ['parent', 'direction', 'parentAccuracy'] as const

export function rewriteUnasked(
  { data, cause }: Told<'TaskProposed'> | Told<'TaskRejected'>,
  situation: Situation,
): string | null {
  const { iteration, slot } = data
  const due = situation.asked.rewrites.get(rewriteKey(slot, iteration))
  if (!due) return `no task is to be rewritten for ${slot} in iteration ${iteration}`
  const other = REWRITTEN.find((name) => !isDeepStrictEqual(data[name], due[name]))
  if (other !== undefined) return `its ${other} is not that of the request`
  return causeWrong(cause, due.cause, situation)
}
