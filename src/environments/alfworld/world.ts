import type { Instances } from './applicable.ts'
import { budget } from './budget.ts'
import type { Entity, Facts } from './facts.ts'
import type { Game, GameAction } from './game.ts'
import type { Text } from './text.ts'
import type { RenderContext } from './text-query.ts'

/**
 * The facts of a game at one moment, without texts. It is a value: `applyMove` returns the next one.
 * Unchanged facts are shared, so a world costs only what its last action changed.
 */
export type World = {
  readonly game: Game
  readonly facts: Facts
  readonly memo: Memo
}

/** Derived values of a world, computed on first use. */
type Memo = {
  /** Applicable instances per action of the game. */
  readonly instances: (Instances | undefined)[]
  commands: readonly string[] | undefined
}

/** One action that can be taken. */
export type Move = { readonly action: GameAction; readonly args: readonly Entity[]; readonly command: string }

export function initialWorld(game: Game): World {
  return { game, facts: game.tables.init, memo: { instances: [], commands: undefined } }
}

/** The applicable instances of the game's action number `index`. */
function instancesOf({ game, facts, memo }: World, index: number): Instances {
  let instances = memo.instances[index]
  if (!instances) {
    instances = game.actions[index]!.applicable(facts)
    memo.instances[index] = instances
  }
  return instances
}

/** All moves, by action in the order of the domain. */
export function movesOf(world: World): Move[] {
  budget.start()
  return world.game.actions.flatMap((action, index) => {
    const { args, commands } = instancesOf(world, index)
    return args.map((values, i) => ({ action, args: values, command: commands[i]! }))
  })
}

/** Returns the move with this command, the first if there are several. */
export function moveFor(world: World, command: string): Move | null {
  budget.start()
  for (let index = 0; index < world.game.actions.length; index++) {
    const { args, commands } = instancesOf(world, index)
    const i = commands.indexOf(command)
    if (i >= 0) return { action: world.game.actions[index]!, args: args[i]!, command }
  }
  return null
}

/** All commands that do something, sorted by code point, each once. */
export function commandsOf(world: World): readonly string[] {
  const { game, memo } = world
  if (memo.commands !== undefined) return memo.commands
  budget.start()
  const all: Instances[] = []
  for (let index = 0; index < game.actions.length; index++) {
    const instances = instancesOf(world, index)
    if (instances.sorted.length > 0) all.push(instances)
  }
  memo.commands = merged(all)
  return memo.commands
}

/** Merges sorted lists. Lists of different actions seldom overlap, so mostly they need no more than the right order. */
function merged(instances: Instances[]): string[] {
  instances.sort((a, b) => (a.sorted[0]! < b.sorted[0]! ? -1 : 1))
  const all: string[] = []
  let isInOrder = true
  for (const { sorted, isDistinct } of instances) {
    isInOrder &&= isDistinct && (all.length === 0 || all[all.length - 1]! < sorted[0]!)
    for (let i = 0; i < sorted.length; i++) all.push(sorted[i]!)
  }
  return isInOrder ? all : all.sort().filter((command, i) => command !== all[i - 1])
}

/** The world after a move of this world. */
export function applyMove(world: World, { action, args }: Pick<Move, 'action' | 'args'>): World {
  budget.start()
  const facts = action.apply(world.facts, args)
  let stale = false
  const instances = world.memo.instances.slice()
  for (let i = 0; i < world.game.actions.length; i++) {
    const { varyingReads } = world.game.actions[i]!
    for (let k = 0; k < varyingReads.length; k++) {
      if (facts[varyingReads[k]!] === world.facts[varyingReads[k]!]) continue
      stale = true
      instances[i] = undefined
      break
    }
  }
  return { game: world.game, facts, memo: { instances, commands: stale ? undefined : world.memo.commands } }
}

export function isGoal({ game, facts }: World): boolean {
  budget.start()
  return game.isGoal(facts)
}

/**
 * Returns the facts of a predicate as ids, in the order of the ids. `not_p` gives the marks left by deletes
 * of p that can be true.
 */
export function factsOf({ game, facts }: World, predicate: string): string[][] {
  const { predicates, packing, ids } = game.tables
  const marked = predicate.startsWith('not_') && !predicates.has(predicate)
  const number = predicates.get(marked ? predicate.slice(4) : predicate)
  if (number === undefined) return []
  const keys = marked
    ? facts[predicates.size + number]!.filter((key) => game.canHold(number, key))
    : facts[number]!
  const arity = game.domain.predicates.get(marked ? predicate.slice(4) : predicate)?.types.length ?? 0
  return keys.map((key) => [ids[key >>> packing.bits]!, ids[key & packing.mask]!].slice(2 - arity))
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
