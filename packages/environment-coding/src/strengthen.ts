/**
 * More tests for problems with weak tests. Tests are weak if they let through more than a share of
 * single-fault mutants of the solution. New inputs are made from the problem's own, and the solutions give
 * the outputs. A test is kept if a surviving mutant fails it.
 */

import { rng, type Seed, seedOf } from 'rlanything/environments'
import { itemAt } from 'rlanything/kit'
import { matches, TOKENS } from './compare.ts'
import { type Executor, runAll } from './executor.ts'
import { grade, withPrelude } from './grade.ts'
import type { CodingProblem, TestCase } from './problem.ts'
import { singleFaultMutants } from './scripted.ts'

/** Inputs that are tried of a problem. */
const CANDIDATES = 64
/** Tests that a problem gets at most. */
const MOST_TESTS = 16
/** Solutions that must agree on an output. */
const ORACLES = 3
const LONGEST = 10_000

export type Strength = {
  readonly mutants: number
  /** Number of mutants that pass all tests: of the problem's own tests, and with the further ones. */
  readonly survivors: number
  readonly left: number
  readonly tests: readonly TestCase[]
}

/**
 * Resolves to further tests.
 * @param most share of the mutants that may pass all tests
 * @param inputs further inputs of the problem's kind. If absent, they are made from its tests.
 */
export async function furtherTests(
  executor: Executor,
  problem: CodingProblem,
  most: number,
  seed: number,
  inputs: readonly string[] = otherInputs(problem, seedOf(seed, 'coding-strengthen', problem.id)),
): Promise<Strength> {
  const { tests, solutions, call } = problem
  const mutants = call.kind === 'stdio' && solutions.length > 0 ? singleFaultMutants(problem) : []
  const programs = (some: readonly string[], on: readonly TestCase[]) =>
    grade(
      executor,
      some.map((program) => ({ problem, program, tests: on })),
    )
  const passing = (await programs(mutants, tests)).map((row) => row.every(({ passed }) => passed === true))
  let alive = mutants.filter((_, i) => passing[i])
  const strength = { mutants: mutants.length, survivors: alive.length }
  const enough = () => alive.length <= most * mutants.length
  const kept: TestCase[] = []
  if (enough()) return { ...strength, left: alive.length, tests: kept }
  const candidates = await answered(executor, problem, inputs)
  const grades = await programs(alive, candidates)
  const fails = new Map(
    alive.map((mutant, i) => [mutant, itemAt(grades, i).map(({ passed }) => passed === false)]),
  )
  while (!enough() && kept.length < MOST_TESTS) {
    const kills = candidates.map((_, test) => alive.filter((mutant) => fails.get(mutant)?.[test]).length)
    const best = kills.indexOf(Math.max(...kills))
    if (best < 0 || kills[best] === 0) break
    kept.push(itemAt(candidates, best))
    alive = alive.filter((mutant) => !fails.get(mutant)?.[best])
  }
  return { ...strength, left: alive.length, tests: kept }
}

/** The inputs on which all solutions print the same, as tests. */
async function answered(
  executor: Executor,
  { solutions, limits, tests, call }: CodingProblem,
  inputs: readonly string[],
): Promise<TestCase[]> {
  const known = new Set(tests.map(({ input }) => input))
  const stdins = [...new Set(inputs)].filter((input) => !known.has(input))
  const oracles = solutions.slice(0, ORACLES)
  const runs = await runAll(
    executor,
    oracles.map((program) => ({ program: withPrelude(call, program), stdins, limits })),
  )
  return stdins.flatMap((input, test) => {
    const results = runs.map((row) => itemAt(row, test))
    const { stdout: output } = itemAt(results, 0)
    const agree = results.every((one) => one.verdict === 'ok' && matches(TOKENS, output, one.stdout))
    return agree && output.length <= LONGEST ? [{ input, output }] : []
  })
}

type Place = { readonly line: number; readonly word: number }
type Words = readonly (readonly string[])[]

const INTEGER = /^-?\d{1,15}$/
const wordsOf = (input: string): Words => input.split('\n').map((line) => line.split(' '))
const at = (words: Words, { line, word }: Place): string | undefined => words[line]?.[word]

/**
 * Returns the problem's inputs with one or two whole numbers changed. A number stays in the range that all
 * inputs have at its place. So the problem allows the new inputs, as far as its own tests show. A number that
 * counts following items stays.
 */
export function otherInputs({ tests, examples }: CodingProblem, seed: Seed): string[] {
  const random = rng(seed)
  const bases = [...examples, ...tests].map(({ input }) => input).filter(({ length }) => length <= LONGEST)
  const all = bases.map(wordsOf)
  const found = new Set<string>()
  for (let attempt = 0; attempt < 4 * CANDIDATES && found.size < CANDIDATES && bases.length > 0; attempt++) {
    const words = random.pick(all).map((line) => [...line])
    const places = placesOf(words).filter((place) => !isCount(all, place))
    if (places.length === 0) continue
    for (const place of random.shuffle(places).slice(0, 1 + random.below(2))) {
      const seen = all.flatMap((other) => {
        const word = at(other, place)
        return word !== undefined && INTEGER.test(word) ? [Number(word)] : []
      })
      const [least, most] = [Math.min(...seen), Math.max(...seen)]
      const now = Number(at(words, place))
      const options = [...seen, least, most, now - 1, now + 1, least + random.below(most - least + 1)]
      itemAt(words, place.line)[place.word] = String(
        random.pick(options.filter((option) => option >= least && option <= most)),
      )
    }
    const input = words.map((line) => line.join(' ')).join('\n')
    if (!bases.includes(input)) found.add(input)
  }
  return [...found]
}

const placesOf = (words: Words): Place[] =>
  words.flatMap((line, i) => line.flatMap((word, j) => (INTEGER.test(word) ? [{ line: i, word: j }] : [])))

/** Whether the number counts the words or lines that follow it, in every input. */
function isCount(all: readonly Words[], place: Place): boolean {
  const having = all.filter((words) => INTEGER.test(at(words, place) ?? ''))
  const following = (words: Words) =>
    words.slice(place.line + 1).filter((line) => line.some((word) => word !== ''))
  const says = (count: (words: Words) => number) =>
    having.every((words) => Number(at(words, place)) === count(words))
  return (
    says((words) => following(words).length) ||
    says((words) => words[place.line + 1]?.filter((word) => word !== '').length ?? -1) ||
    says((words) => itemAt(words, place.line).length - 1)
  )
}
