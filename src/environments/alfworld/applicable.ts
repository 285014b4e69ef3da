import type { Operator } from './actions.ts'
import type { Entity, Facts } from './facts.ts'
import type { Text } from './text.ts'
import type { RenderContext } from './text-query.ts'

/** The applicable instances of one action. Row i of `args` has the command `commands[i]`. */
export type Instances = {
  readonly args: readonly (readonly Entity[])[]
  readonly commands: readonly string[]
  /** The commands in code point order. */
  readonly sorted: readonly string[]
}

/**
 * Returns a function from the facts to the applicable instances of an action. Results are cached in two
 * cases: the action depends on nothing that changes, or on one predicate with a single fact. For example, the
 * agent's place decides on all `go to …` of a scene.
 * @param varying facts that can change and that decide on the instances and their commands, as indexes into
 * Facts
 */
export function applicableInstances(
  operator: Operator,
  command: Text,
  varying: readonly number[],
  game: Omit<RenderContext, 'facts' | 'values'>,
): (facts: Facts) => Instances {
  const kept = new Map<number, Instances>()
  const commandOf = commandRenderer(command, varying, game)
  const workOut = (facts: Facts): Instances => {
    const args = operator.instances(facts)
    const commands = args.map((values) => commandOf(facts, values))
    return { args, commands, sorted: commands.length > 1 ? commands.slice().sort() : commands }
  }
  return (facts) => {
    if (varying.length > 1) return workOut(facts)
    const [index] = varying
    const relation = index === undefined ? [-1] : facts[index]!
    const only = relation[0]
    if (only === undefined || relation.length > 1) return workOut(facts)
    let instances = kept.get(only)
    if (!instances) {
      instances = workOut(facts)
      kept.set(only, instances)
    }
    return instances
  }
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
