import { RlError } from '../errors.ts'
import type { OpenSlot, TaskSampler } from './rules.ts'

/**
 * Returns what a sampler chooses of the open slots.
 *
 * @throws RlError `rule.result` if it names a slot that is not open, a slot twice, or too many
 */
export function chooseSlots(
  sampler: TaskSampler,
  open: readonly OpenSlot[],
  given: Parameters<TaskSampler['choose']>[1],
): readonly string[] {
  const { count } = given
  const chosen = sampler.choose(open, given)
  const names = new Set(open.map(({ slot }) => slot))
  const wrong = chosen.find((slot, i) => !names.has(slot) || chosen.indexOf(slot) !== i)
  if (wrong === undefined && chosen.length <= count) return chosen
  throw new RlError(
    `the task sampler '${sampler.name}' chose ${wrong === undefined ? `${chosen.length} slots where ${count} were asked for` : `'${wrong}', which is not open or was chosen already`}`,
    { code: 'rule.result', hint: 'it returns at most `count` of the slots that it is given, each once' },
  )
}
