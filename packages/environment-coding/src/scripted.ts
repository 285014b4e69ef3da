/** A policy without a model: right programs, and copies of them with a known fault. For tests and benchmarks. */

import { type Rng, rng, type Seed, seedOf } from 'rlanything/environments'
import { itemAt } from 'rlanything/kit'
import type { CodingProblem } from './problem.ts'

/** The fault that was put into a program. A mutant may still be right: its fault may show in no test. */
export type Fault =
  | 'other-constant'
  | 'other-operator'
  | 'other-comparison'
  | 'other-function'
  | 'negated-condition'
  | 'dropped-line'
  | 'extra-output'
  | 'raises'
  | 'endless'
  | 'not-a-program'
  | 'wrong-exit'
  | 'silent'

export type Mutant = { readonly program: string; readonly fault: Fault }

type Mutation = (program: string, random: Rng) => string | null

/** Replaces one occurrence of a pattern, chosen by the generator. Returns null if there is none. */
const replaceOne =
  (pattern: RegExp, change: (found: string, random: Rng) => string): Mutation =>
  (program, random) => {
    const found = [...program.matchAll(pattern)]
    if (found.length === 0) return null
    const one = random.pick(found)
    return program.slice(0, one.index) + change(one[0], random) + program.slice(one.index + one[0].length)
  }

const OPERATORS: Readonly<Record<string, string>> = {
  ' + ': ' - ',
  ' - ': ' + ',
  ' * ': ' + ',
  ' // ': ' * ',
  ' % ': ' // ',
}
const COMPARISONS: Readonly<Record<string, string>> = {
  ' <= ': ' < ',
  ' >= ': ' > ',
  ' < ': ' <= ',
  ' > ': ' >= ',
  ' == ': ' != ',
  ' != ': ' == ',
}
const FUNCTIONS: Readonly<Record<string, string>> = {
  'max(': 'min(',
  'min(': 'max(',
  'sum(': 'len(',
  'sorted(': 'list(',
}

const MUTATIONS: Readonly<Record<Fault, Mutation>> = {
  'other-constant': replaceOne(/(?<![\w.'"])\d+(?![\w.'"])/g, (found, random) =>
    String(Number(found) + random.pick([1, -1, 2])),
  ),
  'other-operator': replaceOne(/ (?:\+|-|\*|\/\/|%) /g, (found) => OPERATORS[found] ?? found),
  'other-comparison': replaceOne(/ (?:<=|>=|<|>|==|!=) /g, (found) => COMPARISONS[found] ?? found),
  'other-function': replaceOne(/\b(?:max|min|sum|sorted)\(/g, (found) => FUNCTIONS[found] ?? found),
  'negated-condition': replaceOne(/\bif (?!__name__)/g, () => 'if not '),
  'dropped-line': (program, random) => {
    const lines = program.split('\n')
    const found = [...lines.entries()].filter(([, line]) => /^\s+\w.*[^:,([{\\]$/.test(line))
    if (found.length === 0) return null
    const [place, line] = random.pick(found)
    const indent = /^\s*/.exec(line)?.[0] ?? ''
    return lines.with(place, `${indent}pass`).join('\n')
  },
  'extra-output': (program) => `${program}\nprint(0)\n`,
  raises: (program) => `${program}\nraise ValueError(0)\n`,
  endless: (program) => `while True:\n    pass\n${program}`,
  'not-a-program': (program) => `${program}\n)\n`,
  'wrong-exit': (program) => `${program}\nimport sys\nsys.exit(3)\n`,
  silent: (program) => `import os, sys\nsys.stdout = open(os.devnull, 'w')\n${program}`,
}

export const FAULTS = Object.keys(MUTATIONS) as readonly Fault[]
/** Faults whose programs use up their time limit: rare, so that many mutants stay quick to run. */
const SLOW: ReadonlySet<Fault> = new Set(['endless'])

/** Returns a copy of a program with one fault. The same seed gives the same mutant. */
export function mutate(program: string, seed: Seed, faults: readonly Fault[] = FAULTS): Mutant {
  const random = rng(seed)
  const order = random.shuffle(faults.filter((fault) => !SLOW.has(fault) || random.uniform() < 0.2))
  for (const fault of order) {
    const changed = MUTATIONS[fault](program, random)
    if (changed !== null && changed !== program) return { program: changed, fault }
  }
  return { program: `${program}\nraise ValueError(0)\n`, fault: 'raises' }
}

/**
 * Faults that change the computed value. The others (no program, an exception, an endless loop) fail every
 * test.
 */
const QUIET = FAULTS.filter(
  (fault) => !['raises', 'endless', 'not-a-program', 'wrong-exit', 'silent', 'extra-output'].includes(fault),
)
const MUTANTS = 16

/**
 * Returns different copies of the problem's first solution, each with one fault that changes the computed
 * value. They are always the same.
 */
export function singleFaultMutants({ id, solutions }: CodingProblem): string[] {
  const solution = itemAt(solutions, 0)
  const mutants = Array.from({ length: MUTANTS }, (_, i) =>
    mutate(solution, seedOf(0, 'mutant', id, i), QUIET),
  )
  return [...new Set(mutants.flatMap(({ fault, program }) => (QUIET.includes(fault) ? [program] : [])))]
}

/**
 * Returns a right program with probability `skill`, else a mutant of one. The problem needs a reference
 * solution.
 */
export function scriptedProgram(
  problem: Pick<CodingProblem, 'solutions'>,
  skill: number,
  seed: Seed,
  faults: readonly Fault[] = FAULTS,
): string {
  const random = rng(seed)
  const solution = random.pick(problem.solutions)
  return random.uniform() < skill
    ? solution
    : mutate(solution, [random.bits(), random.bits()], faults).program
}
