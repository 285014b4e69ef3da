/**
 * Pages in few words, for a small model that reads a whole episode as one packed sequence: first all that is there, then only what an
 * action has changed. Names tell elements apart at every moment, so refs are left out.
 */
import type { CompactView } from '../setting.ts'

/** In front of a line that an action has changed. */
export const CHANGED = '* '

/** In front of what the task speaks of: the last line, nearest to the action. */
export const NAMED = 'named: '

const BETWEEN = ' | '

/** `[5] textbox "name" = anna (focused)` as `name = anna focused`. */
function words(line: string): string {
  const [, name, value = '', states = ''] =
    /^\[\d+\] \S+ "([^"]*)"( = [\s\S]*?)?(?: \(([a-z ]+)\))?$/.exec(line) ?? []
  return name === undefined ? line : `${name}${value}${states === '' ? '' : ` ${states}`}`
}

const NAMED_MARK = '# '

/** The last line where it tells what is named; of the others as many as `keep` wants. */
function told(observation: string, keep: (line: string) => readonly string[]): string {
  const lines = observation.split('\n')
  const named = lines.at(-1)?.startsWith(NAMED) ? [`${NAMED_MARK}${lines.pop()?.slice(NAMED.length)}`] : []
  const kept = lines.flatMap(keep)
  return [kept.length === 0 ? 'same' : kept.join(BETWEEN), ...named].join(' ')
}

export const compactView: CompactView = {
  intro: (goal, observation) => `${goal} : ${told(observation, (line) => [words(line)])}`,
  observation: (observation) =>
    told(observation, (line) => (line.startsWith(CHANGED) ? [words(line.slice(CHANGED.length))] : [])),
  command: (command) => command.replace(/^(\S+) \d+ "([^"]*)"/, '$1 $2'),
}
