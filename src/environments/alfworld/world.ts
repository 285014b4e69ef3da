import { budget } from './budget.ts'
import type { Entity, Facts } from './facts.ts'
import type { Game, GameAction } from './game.ts'
import type { RenderContext, Text } from './text.ts'

/**
 * What holds in a game at one moment, without texts. A value: nothing changes it, `applyAction` gives the next one and shares all
 * facts that stay the same, so keeping a world costs what its last action changed.
 */
export type World = {
  readonly game: Game
  readonly facts: Facts
  /** Applicable instances per action, worked out when first asked for. */
  readonly memo: (Instances | undefined)[]
}

/** The applicable instances of one action: row i of `args` has the command `commands[i]`. */
export type Instances = {
  readonly args: readonly (readonly Entity[])[]
  readonly commands: readonly string[]
}

/** One action that can be taken. */
export type Move = { readonly action: GameAction; readonly args: readonly Entity[]; readonly command: string }

export function initialWorld(game: Game): World {
  return { game, facts: game.tables.init, memo: [] }
}

/** The applicable instances of the game's action number `index`. */
export function instancesOf(world: World, index: number): Instances {
  let instances = world.memo[index]
  if (!instances) {
    const action = world.game.actions[index]
    const args = action.instances(world.facts)
    instances = { args, commands: args.map((values) => renderText(world, action.command, values)) }
    world.memo[index] = instances
  }
  return instances
}

/** All moves, by action in the order of the domain. */
export function movesOf(world: World): Move[] {
  return world.game.actions.flatMap((action, index) => {
    const { args, commands } = instancesOf(world, index)
    return args.map((values, i) => ({ action, args: values, command: commands[i] }))
  })
}

/** The move with this command; of several the first. */
export function moveFor(world: World, command: string): Move | null {
  for (let index = 0; index < world.game.actions.length; index++) {
    const { args, commands } = instancesOf(world, index)
    const i = commands.indexOf(command)
    if (i >= 0) return { action: world.game.actions[index], args: args[i], command }
  }
  return null
}

/** All commands that do something, sorted by code point, each once. */
export function commandsOf(world: World): string[] {
  const all: string[] = []
  for (let index = 0; index < world.game.actions.length; index++)
    all.push(...instancesOf(world, index).commands)
  all.sort()
  return all.filter((command, i) => command !== all[i - 1])
}

/** The world after a move of this world. */
export function applyMove(world: World, { action, args }: Pick<Move, 'action' | 'args'>): World {
  const facts = action.apply(world.facts, args)
  const changed = (index: number) => facts[index] !== world.facts[index]
  const memo = world.game.actions.map((other, i) => {
    const stale = [...other.reads, ...other.command.reads].some(changed)
    return stale ? undefined : world.memo[i]
  })
  return { game: world.game, facts, memo }
}

export const isGoal = ({ game, facts }: World) => game.goal.holds(facts)

/** The facts of a predicate as ids, in the order of the ids; `not_p` gives the marks left by deletes of p. */
export function factsOf({ game, facts }: World, predicate: string): string[][] {
  const { predicates, packing, ids } = game.tables
  const marked = predicate.startsWith('not_') && !predicates.has(predicate)
  const number = predicates.get(marked ? predicate.slice(4) : predicate)
  if (number === undefined) return []
  const arity = game.domain.predicates.get(marked ? predicate.slice(4) : predicate)?.types.length ?? 0
  return facts[marked ? predicates.size + number : number].map((key) =>
    [ids[key >>> packing.bits], ids[key & packing.mask]].slice(2 - arity),
  )
}

/** Renders a text of the game in a world, with values for the variables in its scope. */
export function renderText({ game, facts }: World, text: Text, values: readonly Entity[]): string {
  budget.start()
  const context: RenderContext = {
    tables: game.tables,
    names: game.names,
    task: game.task,
    facts,
    values: [...values],
  }
  return text.render(context)
}
