import { z } from 'zod'
import { HARNESS_PRELUDE } from '../function-tests.ts'
import { type Call, type CodingProblem, STDIO } from '../problem.ts'
import {
  DEFAULT_SECONDS,
  id,
  identifier,
  pairs,
  problem,
  read,
  refusal,
  seconds,
  text,
  texts,
} from './record.ts'

const COMPARATOR = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.enum(['tokens', 'exact', 'lines', 'json', 'last-line']) }),
  z.strictObject({
    kind: z.literal('float'),
    absolute: z.number().min(0),
    relative: z.number().min(0),
    caseless: z.boolean().optional(),
    wholesToo: z.boolean().optional(),
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

export function parseReference(record: unknown, place: string): CodingProblem {
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
  if (method === 'function') return { kind: 'json', name: name as string, prelude: HARNESS_PRELUDE }
  return method === 'interactive' ? { kind: 'interactive', interactor: interactor as string } : STDIO
}
