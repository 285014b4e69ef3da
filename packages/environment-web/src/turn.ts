/** The turn of a page for an agent. */
import { type EpisodeEnd, PROBLEM, type Turn } from 'rlanything/environments'
import { BETWEEN, CHANGED, NAMED } from './compact-view.ts'
import { namedIn } from './named.ts'
import { lineText, type Reading } from './reading.ts'

/** Most names that the task tells, in one line. */
const MOST_NAMED = 12

/**
 * @param used names and texts that actions have used
 * @param before content before the last action; null at the start
 * @param listed whether actions are commands, which are then listed
 */
export function readTurn(
  reading: Reading,
  {
    goal,
    used,
    ended,
    before,
    listed,
  }: {
    readonly goal: string
    readonly used: ReadonlySet<string>
    readonly ended: EpisodeEnd | null
    readonly before: Reading | null
    readonly listed: boolean
  },
): Turn {
  const done = ended !== null
  if (done) return { observation: 'over', admissible: [], done, ended }
  const known = before && new Set(before.lines.map(lineText))
  const lines = reading.lines
    .map(lineText)
    .map((line) => (!known || known.has(line) ? line : `${CHANGED}${line}`))
  const named = namedIn(goal, reading.commands).filter((part) => !used.has(part))
  const observation = [
    ...(reading.problem === undefined ? [] : [`${PROBLEM}${reading.problem}`]),
    ...lines,
    ...(named.length === 0 ? [] : [`${NAMED}${named.slice(0, MOST_NAMED).join(BETWEEN)}`]),
  ].join('\n')
  const admissible = listed ? [...new Set(reading.commands)] : []
  // A page without anything to act on can still be waited on.
  if (listed && admissible.length === 0) admissible.push('wait')
  return { observation, admissible, done, ended }
}
