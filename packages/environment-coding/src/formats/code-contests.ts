import { z } from 'zod'
import type { CodingProblem } from '../problem.ts'
import {
  DEFAULT_SECONDS,
  MAX_SECONDS,
  pairs,
  problem,
  read,
  refusal,
  seconds,
  text,
  texts,
} from './record.ts'

const PYTHON3 = 3
const TESTS = z.object({ input: texts, output: texts })
const LANGUAGE = z.union([z.number(), text])
/** `{language: [], solution: []}`, or a list of `{language, solution}`. */
const SOLUTIONS = z.union([
  z.object({ language: z.array(LANGUAGE), solution: texts }),
  z.array(z.object({ language: LANGUAGE, solution: text })),
])

/** DeepMind's CodeContests. */
const CODE_CONTESTS = z.looseObject({
  name: text.min(1),
  description: text.min(1),
  public_tests: TESTS,
  private_tests: TESTS.optional(),
  generated_tests: TESTS.optional(),
  solutions: SOLUTIONS.optional(),
  time_limit: z
    .union([seconds, z.object({ seconds: z.coerce.number().min(0), nanos: z.number().min(0).default(0) })])
    .nullish(),
  memory_limit_bytes: z.coerce.number().min(0).nullish(),
  input_file: text.nullish(),
  output_file: text.nullish(),
})

export function parseCodeContests(record: unknown, place: string): CodingProblem {
  const data = read(CODE_CONTESTS, record, place)
  for (const key of ['input_file', 'output_file'] as const)
    if (data[key])
      throw refusal(place, key, `programs use the file ${data[key]} and not standard input and output`)
  const limit = data.time_limit ?? DEFAULT_SECONDS
  const asSeconds = typeof limit === 'number' ? limit : limit.seconds + limit.nanos / 1e9
  const tests = (['public_tests', 'private_tests', 'generated_tests'] as const).flatMap((key) =>
    pairs(data[key]?.input ?? [], data[key]?.output ?? [], place, key),
  )
  const memoryMB = Math.round((data.memory_limit_bytes ?? 0) / 2 ** 20)
  return problem({
    id: data.name,
    question: data.description,
    tests,
    examples: pairs(data.public_tests.input, data.public_tests.output, place, 'public_tests'),
    comparator: { kind: 'float', absolute: 1e-5, relative: 0, wholesToo: true, caseless: true },
    seconds: Math.min(asSeconds || DEFAULT_SECONDS, MAX_SECONDS),
    memoryMB: memoryMB > 0 ? Math.max(memoryMB, 64) : undefined,
    solutions: pythonSolutions(data.solutions),
  })
}

function pythonSolutions(solutions: z.infer<typeof SOLUTIONS> | undefined): string[] {
  if (!solutions) return []
  const rows = Array.isArray(solutions)
    ? solutions
    : solutions.solution.map((solution, i) => ({ solution, language: solutions.language[i] }))
  return rows
    .filter(({ language }) => language === PYTHON3 || language === 'PYTHON3')
    .map(({ solution }) => solution)
}
