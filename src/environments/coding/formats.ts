/** The record formats of public problem sets, each turned into a CodingProblem. */
import { inflateSync } from 'node:zlib'
import { z } from 'zod'
import { RlError } from '../../errors.ts'
import { TOKENS } from './compare.ts'
import { evalPlusOracle, evalPlusTest, isGraded } from './evalplus.ts'
import { parseExact, rounded, textOf } from './exact-json.ts'
import { DEFAULT_LIMITS } from './executor.ts'
import { HARNESS_PRELUDE } from './function-tests.ts'
import { PICKLE, readPickledText } from './pickled-text.ts'
import { type Call, type CodingProblem, limitsOf, STDIO, type TestCase } from './problem.ts'
import { splitAssertions } from './python-assertions.ts'

/** Seconds for a problem that names no limit: the reference's executor default. */
const DEFAULT_SECONDS = 4
const MAX_SECONDS = 120
const MAX_UNPACKED_BYTES = 1 << 28

const text = z.string()
const texts = z.array(text)
const identifier = text.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'expected a Python name')
const seconds = z.number().positive().max(MAX_SECONDS)
const id = z.union([text.min(1), z.number()]).transform(String)

type Format = {
  /** A record is of the first format all of whose keys it has. */
  readonly keys: readonly string[]
  readonly parse: (record: unknown, place: string) => CodingProblem
}

const COMPARATOR = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['tokens', 'exact', 'lines', 'json', 'last-line']) }),
  z.strictObject({
    kind: z.literal('float'),
    absolute: z.number().min(0),
    relative: z.number().min(0),
    caseless: z.boolean().optional(),
  }),
  z.strictObject({ kind: z.literal('checker'), program: text.min(1) }),
])

/** The reference's own fields, which the Gen-Verse sets share: CodeContests_train, LiveBench-ReasonFlux and others. */
const REFERENCE = z.looseObject({
  id: id.optional(),
  task_id: id.optional(),
  question: text.min(1),
  test_method: z.enum(['stdio', 'function', 'interactive']).default('stdio'),
  test_time_limit: seconds.default(DEFAULT_SECONDS),
  test_input: texts,
  test_output: texts,
  example_input: texts.default([]),
  example_output: texts.default([]),
  fn_name: identifier.optional(),
  /** Python that talks with the program (interaction.ts). */
  interactor: text.min(1).optional(),
  reference_solution: text.nullish(),
  solutions: texts.optional(),
  memory_limit_mb: z
    .number()
    .int()
    .min(16)
    .max(1 << 16)
    .optional(),
  comparator: COMPARATOR.optional(),
  split: text.nullish(),
})

function parseReference(record: unknown, place: string): CodingProblem {
  const data = read(REFERENCE, record, place)
  if (data.test_method === 'function' && data.fn_name === undefined)
    throw refusal(place, 'fn_name', "test_method is 'function' and no function is named")
  if (data.test_method === 'interactive' && data.interactor === undefined)
    throw refusal(place, 'interactor', "test_method is 'interactive' and there is no interactor")
  const solutions = data.reference_solution ? [data.reference_solution] : (data.solutions ?? [])
  return problem({
    id: data.id ?? data.task_id ?? place,
    question: data.question,
    tests: pairs(data.test_input, data.test_output, place, 'test'),
    examples: pairs(data.example_input, data.example_output, place, 'example'),
    seconds: data.test_time_limit,
    memoryMB: data.memory_limit_mb,
    comparator: data.comparator,
    call: referenceCall(data),
    solutions,
    split: data.split ?? null,
  })
}

function referenceCall({ test_method: method, fn_name: name, interactor }: z.infer<typeof REFERENCE>): Call {
  if (method === 'function') return jsonCall(name as string)
  return method === 'interactive' ? { kind: 'interactive', interactor: interactor as string } : STDIO
}

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
})

function parseCodeContests(record: unknown, place: string): CodingProblem {
  const data = read(CODE_CONTESTS, record, place)
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
    comparator: { kind: 'float', absolute: 1e-5, relative: 1e-5, caseless: true },
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

const LIVE_TESTS = z.array(
  z.object({
    input: text,
    output: text,
    testtype: z.enum(['stdin', 'functional']).default('stdin'),
  }),
)

/** LiveCodeBench, and LiveBench's coding questions, which keep their statement in `turns`. */
const LIVE = z.looseObject({
  question_id: id,
  question_content: text.min(1).optional(),
  turns: texts.min(1).optional(),
  starter_code: text.nullish(),
  public_test_cases: z.unknown(),
  private_test_cases: z.unknown().optional(),
  metadata: z.unknown().optional(),
  original_json: z.unknown().optional(),
})

const METADATA = z.looseObject({ func_name: identifier.nullish() })

function parseLive(record: unknown, place: string): CodingProblem {
  const data = read(LIVE, record, place)
  const question = data.question_content ?? data.turns?.[0]
  if (question === undefined) throw refusal(place, 'question_content', 'there is no question')
  const examples = liveTests(data.public_test_cases, place, 'public_test_cases')
  const tests = [...examples, ...liveTests(data.private_test_cases, place, 'private_test_cases')]
  const kinds = new Set(tests.map(({ testtype }) => testtype))
  if (kinds.size > 1)
    throw refusal(place, 'private_test_cases', "tests of type 'stdin' and 'functional' are mixed")
  const functional = kinds.has('functional')
  const original = z.looseObject({ metadata: z.unknown() }).safeParse(data.original_json)
  const metadata = read(
    METADATA,
    unpackJson(data.metadata ?? original.data?.metadata ?? {}, place, 'metadata'),
    place,
  )
  if (functional && !metadata.func_name)
    throw refusal(place, 'metadata.func_name', 'the tests are functional and no function is named')
  return problem({
    id: data.question_id,
    question: data.starter_code ? `${question}\n\n${data.starter_code}` : question,
    tests,
    examples,
    seconds: 6,
    comparator: { kind: 'lines' },
    call: functional ? jsonCall(metadata.func_name as string) : STDIO_OF_HARNESS,
  })
}

function liveTests(value: unknown, place: string, key: string): z.infer<typeof LIVE_TESTS> {
  if (value === undefined || value === null || value === '') return []
  return read(LIVE_TESTS, unpackJson(value, place, key), place, key)
}

/** A value, JSON text of it, or the base64 of that text deflated, pickled or not. */
function unpackJson(value: unknown, place: string, key: string): unknown {
  if (typeof value !== 'string') return value
  const plain = value.trim()
  if (plain.startsWith('[') || plain.startsWith('{')) return parse(plain, place, key)
  let bytes: Buffer
  try {
    bytes = inflateSync(Buffer.from(plain, 'base64'), { maxOutputLength: MAX_UNPACKED_BYTES })
  } catch (cause) {
    throw refusal(place, key, `neither JSON nor base64 of deflated JSON (${(cause as Error).message})`)
  }
  if (bytes[0] !== PICKLE) return parse(bytes.toString(), place, key)
  const text = readPickledText(bytes)
  if (text === null) throw refusal(place, key, 'holds a Python pickle of something else than a text')
  return parse(text, place, key)
}

function parse(json: string, place: string, key: string): unknown {
  try {
    return parseExact(json)
  } catch (cause) {
    throw refusal(place, key, `not JSON (${(cause as Error).message})`)
  }
}

const jsonCall = (name: string): Call => ({ kind: 'json', name, prelude: HARNESS_PRELUDE })
/** Programs with standard input and output of data sets whose harness imports for them. */
const STDIO_OF_HARNESS: Call = { kind: 'stdio', prelude: HARNESS_PRELUDE }

const MBPP = z.looseObject({
  task_id: id,
  text: text.min(1).optional(),
  prompt: text.min(1).optional(),
  code: text,
  test_list: texts.min(1),
  test_setup_code: text.nullish(),
  test_imports: texts.optional(),
})

function parseMbpp(record: unknown, place: string): CodingProblem {
  const data = read(MBPP, record, place)
  const question = data.prompt ?? data.text
  if (question === undefined) throw refusal(place, 'text', 'there is no question')
  const setup = [data.test_setup_code ?? '', ...(data.test_imports ?? [])].filter(Boolean).join('\n')
  const name = calledName(data.code, data.test_list[0])
  if (name === null) throw refusal(place, 'test_list', 'the tests call nothing that the code defines')
  const classes = [...data.code.matchAll(/^class\s+(\w+)/gm)].map(([, defined]) => defined)
  const made = classes.find((one) =>
    [setup, ...data.test_list].some((source) => new RegExp(`\\b${one}\\s*\\(`).test(source)),
  )
  if (made)
    throw refusal(place, 'test_list', `the tests make objects of the class ${made}, which the code defines`)
  return problem({
    id: `mbpp/${data.task_id}`,
    question: `${question}\n\nYour code should pass this test:\n${data.test_list[0]}`,
    tests: data.test_list.flatMap((source) => assertedTests(source)),
    seconds: DEFAULT_SECONDS,
    call: { kind: 'function', name, prelude: '', setup, oracle: '' },
    solutions: [data.code],
  })
}

/** The name that the code defines and the test calls; of several the last, which is built on the others. */
function calledName(code: string, test: string): string | null {
  const defined = [...code.matchAll(/^(?:def\s+(\w+)|(\w+)\s*=)/gm)].map(([, a, b]) => a ?? b)
  return defined.findLast((name) => new RegExp(`\\b${name}\\s*\\(`).test(test)) ?? null
}

/** Plain assertions as a test each; other code as one test whole. */
function assertedTests(source: string, whole = source): readonly TestCase[] {
  const { tests, refused } = splitAssertions(source)
  return refused === null ? tests : [{ input: whole, output: 'True' }]
}

const HUMAN_EVAL = z.looseObject({
  task_id: id,
  prompt: text.min(1),
  entry_point: identifier,
  canonical_solution: text,
  test: text.min(1),
})

function parseHumanEval(record: unknown, place: string): CodingProblem {
  const data = read(HUMAN_EVAL, record, place)
  const [, body] = /def check\(candidate\)\s*:[^\n]*\n([\s\S]*)/.exec(data.test) ?? []
  if (body === undefined) throw refusal(place, 'test', 'there is no function check(candidate)')
  return problem({
    id: data.task_id,
    question: `Complete this function.\n\n${data.prompt}`,
    tests: assertedTests(body, `${data.test}\ncheck(candidate)\n`),
    seconds: DEFAULT_SECONDS,
    call: {
      kind: 'function',
      name: data.entry_point,
      prelude: '',
      setup: runnablePrompt(data.prompt),
      oracle: '',
    },
    solutions: [data.prompt + data.canonical_solution],
  })
}

/** A prompt that ends with a docstring is a program already; one that does not needs a body. */
const runnablePrompt = (prompt: string) => `${prompt.trimEnd()}\n    pass\n`

/** EvalPlus's files (HumanEval+, MBPP+): arguments to be tried, and a solution that says what is right. */
const EVAL_PLUS = z.looseObject({
  task_id: id,
  prompt: text.min(1),
  entry_point: identifier,
  canonical_solution: text,
  base_input: z.array(z.array(z.unknown())),
  plus_input: z.union([z.array(z.array(z.unknown())), z.record(text, z.unknown())]),
  atol: z.number().min(0).default(0),
})

function parseEvalPlus(record: unknown, place: string): CodingProblem {
  const data = read(EVAL_PLUS, record, place)
  const inputs = [...data.base_input, ...(Array.isArray(data.plus_input) ? data.plus_input : [])]
  const isComplete = new RegExp(`^def\\s+${data.entry_point}\\b`, 'm').test(data.canonical_solution)
  const solution = isComplete ? data.canonical_solution : data.prompt + data.canonical_solution
  const prompt = isComplete ? '' : runnablePrompt(data.prompt)
  if (!isGraded(data.task_id, data.entry_point))
    throw refusal(place, 'entry_point', 'EvalPlus takes every answer for right')
  const tests = inputs.map(
    (args): TestCase => ({ input: evalPlusTest(JSON.stringify(args), data.atol), output: 'True' }),
  )
  return problem({
    id: data.task_id,
    question: `Complete this function.\n\n${data.prompt}`,
    tests,
    seconds: DEFAULT_SECONDS,
    call: {
      kind: 'function',
      name: data.entry_point,
      prelude: '',
      setup: prompt,
      oracle: `import json as _json\n${solution}\n_reference = ${data.entry_point}\n${evalPlusOracle(data.task_id, data.entry_point)}`,
    },
    solutions: [solution],
  })
}

/** APPS and TACO: tests and solutions are JSON texts in the record. */
const APPS = z.looseObject({
  problem_id: id.optional(),
  id: id.optional(),
  name: text.nullish(),
  question: text.min(1),
  input_output: z.unknown(),
  solutions: z.unknown().optional(),
  starter_code: text.nullish(),
  time_limit: z.union([z.number(), text]).nullish(),
  memory_limit: text.nullish(),
})

const INPUT_OUTPUT = z.looseObject({
  inputs: z.array(z.unknown()),
  outputs: z.array(z.unknown()),
  fn_name: identifier.nullish(),
})

function parseApps(record: unknown, place: string): CodingProblem {
  const data = read(APPS, record, place)
  const {
    inputs,
    outputs,
    fn_name: name,
  } = read(INPUT_OUTPUT, unpackJson(data.input_output, place, 'input_output'), place, 'input_output')
  const isCall = typeof name === 'string'
  const tests = pairs(
    inputs.map((input) => (isCall ? argumentLines(input) : linesOf(input))),
    isCall ? expectedJson(outputs) : outputs.map(linesOf),
    place,
    'input_output',
  )
  const solutions = z.array(text).safeParse(unpackJson(data.solutions || '[]', place, 'solutions'))
  const limit = Number.parseFloat(String(data.time_limit ?? ''))
  return problem({
    id: data.problem_id ?? data.id ?? data.name ?? place,
    question: data.starter_code ? `${data.question}\n\n${data.starter_code}` : data.question,
    tests,
    seconds: limit > 0 ? Math.min(limit, MAX_SECONDS) : DEFAULT_SECONDS,
    comparator: { kind: 'float', absolute: 1e-6, relative: 1e-6 },
    call: isCall ? jsonCall(name) : STDIO_OF_HARNESS,
    solutions: solutions.data ?? [],
  })
}

/** Texts, or lists of lines. */
const linesOf = (value: unknown) =>
  Array.isArray(value) ? `${value.map(textOf).join('\n')}\n` : textOf(value)

const argumentLines = (args: unknown) =>
  (Array.isArray(args) ? args : [args]).map((one) => JSON.stringify(one)).join('\n')

/** The values as JSON, which stand in lists of one where all of them do. */
function expectedJson(outputs: readonly unknown[]): string[] {
  const values = outputs.every((output) => Array.isArray(output) && output.length === 1)
    ? outputs.flat()
    : outputs
  return values.map((value) => JSON.stringify(value))
}

const FORMATS: readonly Format[] = [
  { keys: ['test_input', 'test_output'], parse: parseReference },
  { keys: ['description', 'public_tests'], parse: parseCodeContests },
  { keys: ['question_id', 'public_test_cases'], parse: parseLive },
  { keys: ['base_input', 'plus_input', 'entry_point'], parse: parseEvalPlus },
  { keys: ['question', 'input_output'], parse: parseApps },
  { keys: ['test_list', 'code'], parse: parseMbpp },
  { keys: ['entry_point', 'canonical_solution', 'test'], parse: parseHumanEval },
]

/** Values of tests, whose numbers keep their text. */
const EXACT = new Set(['base_input', 'plus_input', 'input_output'])

/** A record (of `parseExact`, where its numbers count) as a problem; throws an RlError that names the place and the key. */
export function parseRecord(record: unknown, place: string): CodingProblem {
  if (typeof record !== 'object' || record === null || Array.isArray(record))
    throw new RlError(`${place}: expected a JSON object`, { code: 'coding.dataset' })
  const format = FORMATS.find(({ keys }) => keys.every((key) => Object.hasOwn(record, key)))
  if (format)
    try {
      const fields = Object.entries(record).map(([key, value]) => [
        key,
        EXACT.has(key) ? value : rounded(value),
      ])
      return format.parse(Object.fromEntries(fields), place)
    } catch (cause) {
      if (cause instanceof RangeError)
        throw new RlError(`${place}: nested too deep`, {
          code: 'coding.dataset',
          hint: 'mend the record or leave it out',
          cause,
        })
      throw cause
    }
  throw new RlError(
    `${place}: no known format has the keys ${Object.keys(record).slice(0, 12).join(', ') || '(none)'}`,
    {
      code: 'coding.dataset',
      hint: `known are ${FORMATS.map(({ keys }) => keys.join(' + ')).join('; ')}`,
    },
  )
}

type Draft = Pick<CodingProblem, 'id' | 'question' | 'tests'> &
  Partial<CodingProblem> & { readonly seconds: number; readonly memoryMB?: number }

function problem({ seconds, memoryMB = DEFAULT_LIMITS.memoryMB, ...draft }: Draft): CodingProblem {
  return {
    id: draft.id,
    question: draft.question,
    tests: draft.tests.map(({ input, output }) => ({ input, output })),
    examples: (draft.examples ?? []).map(({ input, output }) => ({ input, output })),
    limits: { ...limitsOf(seconds, memoryMB), outputBytes: outputLimit(draft.tests) },
    comparator: draft.comparator ?? TOKENS,
    call: draft.call ?? STDIO,
    solutions: draft.solutions ?? [],
    split: draft.split ?? null,
  }
}

/** A right program may print what is expected with other white space, or answer with values that travel as a longer text. */
function outputLimit(tests: readonly TestCase[]): number {
  const longest = tests.reduce((most, { output }) => Math.max(most, Buffer.byteLength(output)), 0)
  return Math.max(DEFAULT_LIMITS.outputBytes, 4 * longest)
}

function pairs(
  inputs: readonly string[],
  outputs: readonly string[],
  place: string,
  key: string,
): TestCase[] {
  if (inputs.length !== outputs.length)
    throw refusal(place, key, `${inputs.length} inputs and ${outputs.length} outputs`)
  return inputs.map((input, i) => ({ input, output: outputs[i] }))
}

function read<T>(schema: z.ZodType<T>, record: unknown, place: string, under?: string): T {
  const parsed = schema.safeParse(record)
  if (parsed.success) return parsed.data
  const [{ path, message }] = parsed.error.issues
  throw refusal(place, [under, ...path].filter((part) => part !== undefined).join('.'), message)
}

function refusal(place: string, key: string, message: string, hint?: string): RlError {
  return new RlError(`${place}: ${key}: ${message}`, {
    code: 'coding.dataset',
    hint: hint ?? 'mend the record or leave it out',
  })
}
