/**
 * Pages in few words, for a small model that reads a whole episode as one packed sequence: first all that is there, then only what an
 * action has changed. Names tell elements apart at every moment, so refs are left out.
 */
import type { CompactView } from '../setting.ts'

/** In front of a line that an action has changed. */
export const CHANGED = '* '

const BETWEEN = ' | '

/** `[5] textbox "name" = anna (focused)` as `name = anna focused`. */
function words(line: string): string {
  const [, name, value = '', states = ''] =
    /^\[\d+\] \S+ "([^"]*)"( = [\s\S]*?)?(?: \(([a-z ]+)\))?$/.exec(line) ?? []
  return name === undefined ? line : `${name}${value}${states === '' ? '' : ` ${states}`}`
}

export const compactView: CompactView = {
  intro: (goal, observation) => `${goal} : ${observation.split('\n').map(words).join(BETWEEN)}`,
  observation(observation) {
    const changed = observation
      .split('\n')
      .flatMap((line) => (line.startsWith(CHANGED) ? [words(line.slice(CHANGED.length))] : []))
    return changed.length === 0 ? 'same' : changed.join(BETWEEN)
  },
  command: (command) => command.replace(/^(\S+) \d+ "([^"]*)"/, '$1 $2'),
}
