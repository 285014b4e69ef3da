/**
 * Short forms of pages, for a small model that reads a whole episode as one packed sequence. The first turn
 * has all elements, later turns only the changes. Names tell elements apart at every moment, so refs are left
 * out.
 */
import type { CompactView } from 'rlanything/environments'

/** Begins a line that an action has changed. */
export const CHANGED = '* '

/**
 * Begins the last line, nearest to the action: elements that the task names and that are still to be used.
 */
export const NAMED = 'named: '

/** Separates lines, and named elements. */
export const BETWEEN = ' | '

/** `[5] textbox "name" = anna (focused)` as `name = anna focused`. */
function words(line: string): string {
  const [, name, value = '', states = ''] =
    /^\[\d+\] \S+ "([^"]*)"( = [\s\S]*?)?(?: \(([a-z ]+)\))?$/.exec(line) ?? []
  return name === undefined ? line : `${name}${value}${states === '' ? '' : ` ${states}`}`
}

const NAMED_MARK = '# '

/** Puts the named elements last, the first of them nearest to the action. `keep` chooses the other lines. */
function told(observation: string, keep: (line: string) => readonly string[]): string {
  const lines = observation.split('\n')
  const named = lines.at(-1)?.startsWith(NAMED) ? lines.pop()?.slice(NAMED.length).split(BETWEEN) : undefined
  const kept = lines.flatMap(keep)
  const shown = kept.length === 0 ? 'same' : kept.join(BETWEEN)
  return named === undefined ? shown : `${shown} ${NAMED_MARK}${named.reverse().join(BETWEEN)}`
}

export const compactView: CompactView = {
  intro: (goal, observation) => `${goal} : ${told(observation, (line) => [words(line)])}`,
  observation: (observation) =>
    told(observation, (line) => (line.startsWith(CHANGED) ? [words(line.slice(CHANGED.length))] : [])),
  command: (command) => command.replace(/^(\S+) \d+ "([^"]*)"/, '$1 $2'),
}
