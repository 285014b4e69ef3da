import { RlError } from '../../errors.ts'
import { itemAt } from '../../item-at.ts'
import type { Formula } from './formula.ts'
import { jsonErrorOffset } from './json-error.ts'
import { lineAt } from './twl2.ts'

/** The content of a `game.tw-pddl` file. */
export type GameFile = {
  readonly pddl_domain: string
  readonly grammar: string
  readonly pddl_problem: string
  readonly solvable?: boolean | null
  /** Commands that solve the game. Absent in the oldest releases. */
  readonly walkthrough?: readonly string[] | null
}

/** Longer files are refused. Real ones have up to 140 kB. */
export const MAX_GAME_CHARACTERS = 2_000_000

/** Checks the outer JSON of a game file. */
export function parseGameFile(text: string, name: string): GameFile {
  if (text.length > MAX_GAME_CHARACTERS)
    throw gameError(name, `${text.length} characters are more than a game can have (${MAX_GAME_CHARACTERS})`)
  let data: unknown
  try {
    data = JSON.parse(text)
  } catch (cause) {
    const offset = jsonErrorOffset(text)
    throw gameError(
      name,
      `no valid JSON at line ${lineAt(text, offset)}, character ${offset + 1} of the file`,
      cause,
    )
  }
  if (typeof data !== 'object' || data === null || Array.isArray(data))
    throw gameError(name, 'must be one JSON object')
  const { pddl_domain, grammar, pddl_problem, solvable, walkthrough } = data as Record<string, unknown>
  const texts = { pddl_domain, grammar, pddl_problem }
  for (const [key, value] of Object.entries(texts))
    if (typeof value !== 'string') throw gameError(name, `the text '${key}' is missing`)
  if (
    walkthrough !== undefined &&
    walkthrough !== null &&
    !(Array.isArray(walkthrough) && walkthrough.every((command) => typeof command === 'string'))
  )
    throw gameError(name, "'walkthrough' must be a list of commands")
  if (solvable !== undefined && solvable !== null && typeof solvable !== 'boolean')
    throw gameError(name, "'solvable' must be true, false or null")
  return data as GameFile
}

/** The only production of the task rule, if its sentence is plain text. */
const TASK = /("task"\s*:\s*\[\s*\{\s*"rhs"\s*:\s*)"((?:[^"\\;|<>[\]#{}\p{Cc}]|\\n){0,2000})"(\s*\}\s*\])/u

/**
 * Splits a grammar into its task sentence, e.g. `Your task is to: put a hot egg in garbagecan.`, and the
 * grammar with an empty sentence. Games of a release differ in the sentence only. The task is null if its
 * rule is missing, occurs twice or is not plain text.
 */
export function splitTask(grammar: string): { readonly task: string | null; readonly skeleton: string } {
  const found = TASK.exec(grammar)
  if (!found || grammar.indexOf('"task"') !== grammar.lastIndexOf('"task"'))
    return { task: null, skeleton: grammar }
  return {
    task: itemAt(found, 2).replaceAll('\\n', '\n').trimStart(),
    skeleton: grammar.replace(TASK, '$1""$3'),
  }
}

/**
 * Returns the same scene with another task. It changes the problem's goal, the players' sentence and the
 * walkthrough.
 * @param task the whole sentence, e.g. `Your task is to: put a hot egg in garbagecan.`
 */
export function withTask(
  file: GameFile,
  {
    goal,
    task,
    walkthrough,
  }: { readonly goal: Formula; readonly task: string; readonly walkthrough: readonly string[] | null },
): GameFile {
  if (splitTask(file.grammar).task === null)
    throw new RlError('the grammar of the game has no plain task sentence to replace', {
      code: 'alfworld.game-file',
      hint: 'rewrite games of the ALFWorld releases only',
    })
  return {
    ...file,
    pddl_problem: replaceSection(file.pddl_problem, ':goal', `(:goal ${formatFormula(goal)})`),
    grammar: file.grammar.replace(TASK, (_, before, __, after) => before + JSON.stringify(task) + after),
    walkthrough,
  }
}

/** A condition as PDDL text. */
function formatFormula(formula: Formula): string {
  switch (formula.op) {
    case 'atom':
      return `(${[formula.predicate, ...formula.args].join(' ')})`
    case 'equal':
      return `(= ${formula.args.join(' ')})`
    case 'not':
      return `(not ${formatFormula(formula.part)})`
    case 'exists': {
      const parameters = formula.parameters.map(({ name, type }) => `${name} - ${type}`)
      return `(exists (${parameters.join(' ')}) ${formatFormula(formula.part)})`
    }
    default:
      return `(${[formula.op, ...formula.parts.map(formatFormula)].join(' ')})`
  }
}

/** Replaces the section `(head …)` directly below the outermost list. */
function replaceSection(text: string, head: string, replacement: string): string {
  let depth = 0
  let start = -1
  for (let at = 0; at < text.length; at++) {
    const char = text[at]
    if (char === ';') {
      const end = text.indexOf('\n', at)
      at = end < 0 ? text.length : end
    } else if (char === '(') {
      if (
        ++depth === 2 &&
        start < 0 &&
        text
          .slice(at + 1)
          .trimStart()
          .toLowerCase()
          .startsWith(head)
      )
        start = at
    } else if (char === ')') {
      if (--depth === 1 && start >= 0) return text.slice(0, start) + replacement + text.slice(at + 1)
    }
  }
  throw new RlError(`the problem has no section (${head} …)`, { code: 'alfworld.pddl-syntax' })
}

function gameError(name: string, what: string, cause?: unknown): RlError {
  return new RlError(`${name}: ${what}`, {
    code: 'alfworld.game-file',
    hint: 'a game is a file game.tw-pddl of an ALFWorld release',
    cause,
  })
}
