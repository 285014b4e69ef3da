import { RlError } from '../../errors.ts'
import { itemAt } from '../../item-at.ts'
import type { Seed } from '../../random.ts'
import { type CanHold, compileOperator, compileTest, type Operator } from './actions.ts'
import { applicableInstances, type Instances } from './applicable.ts'
import { type Domain, parseDomain } from './domain.ts'
import { type Facts, hasKey } from './facts.ts'
import { type GameFile, parseGameFile, splitTask } from './game-file.ts'
import type { Tables } from './match.ts'
import { demangle } from './names.ts'
import { type Problem, parseProblem } from './problem.ts'
import { reachableFacts } from './reachable.ts'
import { tablesOf } from './tables.ts'
import { type Text, textCompiler } from './text.ts'
import { grammarError, readTwl2 } from './twl2.ts'

/** An action of a game with its texts. */
export type GameAction = Operator & {
  readonly command: Text
  readonly feedback: Text
  /**
   * Facts that can change and that decide on the applicable instances and their commands, as indexes into
   * Facts.
   */
  readonly varyingReads: readonly number[]
  readonly applicable: (facts: Facts) => Instances
}

/** A game prepared for play. Games are immutable, and all their states share them. */
export type Game = {
  readonly name: string
  readonly file: GameFile
  readonly domain: Domain
  readonly problem: Problem
  readonly tables: Tables
  /** Name of each entity for players. An object without an initial fact has its id. */
  readonly names: readonly string[]
  readonly actions: readonly GameAction[]
  readonly intro: Text
  /** The sentence of the grammar's task rule, e.g. `Your task is to: put a hot egg in garbagecan.` */
  readonly task: string
  readonly isGoal: (facts: Facts) => boolean
  /** Whether any plan makes a fact true, given as the number of its predicate and its key. */
  readonly canHold: CanHold
  /** Seed of the numbers in the names. Null for ALFWorld's order. */
  readonly shuffle: Seed | null
  /** The expert's commands in the names of this game. Null if the file has none. */
  readonly walkthrough: readonly string[] | null
}

/**
 * Makes a game from the text of a `game.tw-pddl` file.
 * @param shuffle numbers the entities of each kind in a random order (ALFWorld's `domain_randomization`)
 * @throws RlError with the line and the construct that is wrong or not supported
 */
export function loadGame(text: string, name = 'game', { shuffle }: { readonly shuffle?: Seed } = {}): Game {
  return gameOf(parseGameFile(text, name), name, { shuffle })
}

/** Makes a game from the content of a game file. */
export function gameOf(file: GameFile, name = 'game', { shuffle }: { readonly shuffle?: Seed } = {}): Game {
  try {
    const { program, task } = programOf(file)
    const problem = parseProblem(file.pddl_problem, program.domain)
    const tables = tablesOf(program.domain, problem)
    const names = namesOf(tables, program.domain, shuffle)
    const canHold = reachability(tables, program.domain)
    const marked: CanHold = (predicate, key) => !program.showsMark(predicate) || canHold(predicate, key)
    const goalHolds = compileTest(tables, problem.goal, [], 'pddl_problem, goal')
    return {
      name,
      file,
      domain: program.domain,
      problem,
      tables,
      names,
      actions: program.actions.map(({ schema, command, feedback }) => {
        const operator = compileOperator(tables, schema, marked)
        const reads = new Set([...operator.reads, ...command.reads])
        const varyingReads = [...reads].filter((index) => !program.isStatic(index))
        const applicable = applicableInstances(operator, command, varyingReads, { tables, names, task })
        return { ...operator, command, feedback, varyingReads, applicable }
      }),
      intro: program.intro,
      task,
      isGoal: (facts) => goalHolds(facts, []),
      canHold,
      shuffle: shuffle ?? null,
      walkthrough: file.walkthrough?.map((command) => readable(command, tables, names)) ?? null,
    }
  } catch (error) {
    if (!(error instanceof RlError)) throw error
    throw new RlError(`${name}: ${error.message}`, { code: error.code, hint: error.hint, cause: error })
  }
}

/** Compiled domain and grammar. Games that differ only in problem and task sentence share one. */
type Program = {
  readonly domain: Domain
  /** Whether no action changes these facts, by index into Facts. */
  readonly isStatic: (index: number) => boolean
  /** Whether a text can see the marks of this predicate, by its number. */
  readonly showsMark: (predicate: number) => boolean
  readonly intro: Text
  readonly actions: readonly {
    readonly schema: Domain['actions'][number]
    readonly command: Text
    readonly feedback: Text
  }[]
}

const programs = new Map<string, Program>()
const MAX_PROGRAMS = 16
const MAX_KEPT_CHARACTERS = 500_000

function programOf({ pddl_domain, grammar }: GameFile): { program: Program; task: string } {
  const { skeleton, task } = splitTask(grammar)
  const key = `${task === null}\n${pddl_domain}\n${skeleton}`
  let program = programs.get(key)
  if (!program) {
    program = compileProgram(pddl_domain, skeleton, task !== null)
    if (key.length > MAX_KEPT_CHARACTERS) return { program, task: task ?? '' }
    const oldest = programs.keys().next()
    if (programs.size >= MAX_PROGRAMS && !oldest.done) programs.delete(oldest.value)
    programs.set(key, program)
  }
  return { program, task: task ?? '' }
}

function compileProgram(domainText: string, grammar: string, externalTask: boolean): Program {
  const domain = parseDomain(domainText)
  const twl2 = readTwl2(grammar)
  const { template, rule } = textCompiler(twl2, domain, externalTask)
  const changing = [...domain.predicates.keys()].map((name) => !domain.isStatic(name))
  const intro = rule('intro', 1, [])
  const actions = domain.actions.map((schema) => {
    const texts = twl2.actions.get(schema.name)
    if (!texts) throw grammarError(1, `action '${schema.name}' of the domain has no texts`)
    const scope = schema.parameters.map(({ name, type }) => ({ name: name.slice(1), type }))
    return {
      schema,
      command: template(texts.template, texts.line, scope),
      feedback: template(texts.feedback, texts.line, scope),
    }
  })
  const texts = [intro, ...actions.flatMap(({ command, feedback }) => [command, feedback])]
  return {
    domain,
    isStatic: (index) => !changing[index % changing.length],
    showsMark: (predicate) => texts.some(({ reads }) => reads.has(changing.length + predicate)),
    intro,
    actions,
  }
}

/** Works out which facts can become true when the first one is asked for: few games ever need it. */
function reachability(tables: Tables, { actions }: Domain): CanHold {
  let reachable: Facts | undefined
  return (predicate, key) => {
    reachable ??= reachableFacts(tables, actions)
    return hasKey(itemAt(reachable, predicate), key)
  }
}

/** Only entities of initial facts get a player's name, as in TextWorld. */
function namesOf({ ids, init, packing }: Tables, domain: Domain, shuffle: Seed | undefined): string[] {
  const appears = new Uint8Array(ids.length)
  const arities = [...domain.predicates.values()].map(({ types }) => types.length)
  arities.forEach((arity, predicate) => {
    for (const key of itemAt(init, predicate)) {
      if (arity > 0) appears[key & packing.mask] = 1
      if (arity > 1) appears[key >>> packing.bits] = 1
    }
  })
  const names = demangle(
    ids.filter((_, entity) => appears[entity]),
    shuffle,
  )
  return ids.map((id) => names.get(id) ?? id)
}

/** Release 2.1.2 wrote walkthroughs with ids. This replaces them by names. */
function readable(command: string, { entities }: Tables, names: readonly string[]): string {
  if (!command.includes('_bar_')) return command
  return command
    .split(' ')
    .map((word) => names[entities.get(word.toLowerCase()) ?? -1] ?? word)
    .join(' ')
}
