/** An expert that knows only what it has seen. An agent could have made the same demonstrations. */

import { type Knowledge, parseCommand } from './knowledge.ts'
import { expectedAfter, outlook } from './outlook.ts'

/** Least number of commands that a sensible command is expected to save on the way to the goal. */
const SENSIBLE = 0.5

export type Advice = {
  /** All sensible commands, in the order of the admissible ones. Never empty if any command is admissible. */
  readonly commands: readonly string[]
  readonly choice: string
}

/**
 * Returns one sensible command: the start of the cheapest way on. It is several times faster than
 * `expertCommands`.
 */
export function expertChoice(knowledge: Knowledge, admissible: readonly string[]): string {
  const next = outlook(knowledge)?.next ?? null
  const found = next === null ? undefined : spelled(next, admissible)
  return found ?? admissible.find((command) => explores(knowledge, command)) ?? admissible[0] ?? 'look'
}

/** Returns the sensible commands, and the command that the expert would give. */
export function expertCommands(knowledge: Knowledge, admissible: readonly string[]): Advice {
  const choice = expertChoice(knowledge, admissible)
  const before = outlook(knowledge)
  const commands = admissible.filter((command) => {
    if (command === choice) return true
    const after = before && !changesNothing(command) ? expectedAfter(knowledge, command) : null
    return before !== null && after !== null && before.remaining - after > SENSIBLE
  })
  return { commands, choice }
}

/**
 * Returns how many commands of the expected way a command saves: V(k) - E[V(k')], over what the command may
 * reveal. The best command has 1, a command without effect about 0, a harmful one less than 0. Returns null
 * for an unknown goal.
 */
export function expectedProgress(knowledge: Knowledge, command: string): number | null {
  const before = outlook(knowledge)
  if (!before) return null
  if (changesNothing(command)) return 0
  const after = expectedAfter(knowledge, command)
  return after === null ? null : before.remaining - after
}

/**
 * Returns the admissible command with this meaning. Releases differ in the words for putting. A receptacle at
 * hand is examined, not gone to.
 */
function spelled(command: string, admissible: readonly string[]): string | undefined {
  if (admissible.includes(command)) return command
  const { verb, object, receptacle } = parseCommand(command)
  return admissible.find((other) => {
    const parsed = parseCommand(other)
    if (parsed.verb === verb) return parsed.object === object && parsed.receptacle === receptacle
    return verb === 'go' && parsed.verb === 'examine' && parsed.object === receptacle
  })
}

/** look, inventory, help and slicing move neither the agent nor an object of a goal. */
function changesNothing(command: string): boolean {
  return parseCommand(command).verb === 'other'
}

function explores({ receptacles }: Knowledge, command: string): boolean {
  const { verb, receptacle } = parseCommand(command)
  return (
    (verb === 'go' || verb === 'open') && receptacles.some(({ name, seen }) => !seen && name === receptacle)
  )
}
