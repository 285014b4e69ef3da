import type { Operator } from './actions.ts'
import type { Entity, Facts } from './facts.ts'
import { keeper } from './kept.ts'
import type { Text } from './text.ts'
import type { RenderContext } from './text-query.ts'

/** The applicable instances of one action. Row i of `args` has the command `commands[i]`. */
export type Instances = {
  readonly args: readonly (readonly Entity[])[]
  readonly commands: readonly string[]
  /** The commands in code point order. */
  readonly sorted: readonly string[]
  /** No two commands are the same. */
  readonly isDistinct: boolean
}

/**
 * Returns a function from the facts to the applicable instances of an action. Results are kept by the agent's place, or what else is
 * the only fact of its predicate, and by the other relations on which the action depends.
 * @param varying facts that can change and that decide on the instances and their commands, as indexes into
 * Facts
 */
export function applicableInstances(
  operator: Operator,
  command: Text,
  varying: readonly number[],
  game: Omit<RenderContext, 'facts' | 'values'>,
): (facts: Facts) => Instances {
  const keep = keeper<Instances>(varying)
  const commandOf = commandRenderer(command, varying, game)
  const workOut = (facts: Facts): Instances => {
    const args = operator.instances(facts)
    const commands = args.map((values) => commandOf(facts, values))
    const sorted = commands.length > 1 ? commands.slice().sort() : commands
    return {
      args,
      commands,
      sorted,
      isDistinct: sorted.every((text, i) => i === 0 || text !== sorted[i - 1]),
    }
  }
  return (facts) => keep(placeIn(facts, varying), facts, () => workOut(facts))
}

/** Returns the only fact of the first relation that has one fact, or -1. */
function placeIn(facts: Facts, varying: readonly number[]): number {
  for (let i = 0; i < varying.length; i++) {
    const relation = facts[varying[i]!]!
    if (relation.length === 1) return relation[0]!
  }
  return -1
}

/** Renders commands. If the command depends on nothing that changes, equal arguments are rendered once. */
function commandRenderer(
  command: Text,
  varying: readonly number[],
  game: Omit<RenderContext, 'facts' | 'values'>,
): (facts: Facts, args: readonly Entity[]) => string {
  const render = (facts: Facts, args: readonly Entity[]) => {
    return command.render({ ...game, facts, values: [...args] })
  }
  const slots = [...command.uses]
  const radix = game.tables.ids.length
  if (varying.some((index) => command.reads.has(index)) || radix ** slots.length > Number.MAX_SAFE_INTEGER)
    return render
  const kept = new Map<number, string>()
  return (facts, args) => {
    let key = 0
    for (const slot of slots) key = key * radix + args[slot]!
    let text = kept.get(key)
    if (text === undefined) {
      text = render(facts, args)
      kept.set(key, text)
    }
    return text
  }
}
