/** The expert that knows only what it has seen: a teacher whose demonstrations an agent could have made. */

import { type Knowledge, parseCommand } from './knowledge.ts'
import { expectedAfter, outlook } from './outlook.ts'

/** A command counts as sensible when it is expected to save more than this many commands of the way to the goal. */
const SENSIBLE = 0.5

export type Advice = {
  /** All sensible commands, in the order of the admissible ones; never empty where anything is admissible. */
  readonly commands: readonly string[]
  readonly choice: string
}

/** One sensible command: the start of the cheapest way on. Several times faster than `expertCommands`. */
export function expertChoice(knowledge: Knowledge, admissible: readonly string[]): string {
  const next = outlook(knowledge)?.next ?? null
  const found = next === null ? undefined : spelled(next, admissible)
  return found ?? admissible.find((command) => explores(knowledge, command)) ?? admissible[0]
}

/** The set of sensible commands and the one that the expert would give. */
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
 * How many commands of the expected way to the goal a command saves: V(k) - E[V(k')], over what the command may reveal. 1 for the
 * best command, about 0 for one that changes nothing, negative for one that has to be made good. null for an unknown kind of goal.
 */
export function expectedProgress(knowledge: Knowledge, command: string): number | null {
  const before = outlook(knowledge)
  if (!before) return null
  if (changesNothing(command)) return 0
  const after = expectedAfter(knowledge, command)
  return after === null ? null : before.remaining - after
}

/** The admissible command that says this: releases word putting differently, and a receptacle at hand is examined, not gone to. */
function spelled(command: string, admissible: readonly string[]): string | undefined {
  if (admissible.includes(command)) return command
  const { verb, object, receptacle } = parseCommand(command)
  return admissible.find((other) => {
    const parsed = parseCommand(other)
    if (parsed.verb === verb) return parsed.object === object && parsed.receptacle === receptacle
    return verb === 'go' && parsed.verb === 'examine' && parsed.object === receptacle
  })
}

/** look, inventory, help and slicing neither move the agent nor any object of a goal. */
function changesNothing(command: string): boolean {
  return parseCommand(command).verb === 'other'
}

function explores({ receptacles }: Knowledge, command: string): boolean {
  const { verb, receptacle } = parseCommand(command)
  return (
    (verb === 'go' || verb === 'open') && receptacles.some(({ name, seen }) => !seen && name === receptacle)
  )
}
