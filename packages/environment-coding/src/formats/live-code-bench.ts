import { safeParse } from 'rlanything/kit'
import { z } from 'zod'
import { HARNESS_PRELUDE } from '../function-tests.ts'
import type { CodingProblem } from '../problem.ts'
import { id, identifier, problem, read, refusal, text, texts, unpackJson } from './record.ts'

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

export function parseLive(record: unknown, place: string): CodingProblem {
  const data = read(LIVE, record, place)
  const question = data.question_content ?? data.turns?.[0]
  if (question === undefined) throw refusal(place, 'question_content', 'there is no question')
  const examples = liveTests(data.public_test_cases, place, 'public_test_cases')
  const tests = [...examples, ...liveTests(data.private_test_cases, place, 'private_test_cases')]
  const kinds = new Set(tests.map(({ testtype }) => testtype))
  if (kinds.size > 1)
    throw refusal(place, 'private_test_cases', "tests of type 'stdin' and 'functional' are mixed")
  const functional = kinds.has('functional')
  const original = safeParse(z.looseObject({ metadata: z.unknown() }), data.original_json)
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
    call: functional
      ? { kind: 'json', name: metadata.func_name as string, prelude: HARNESS_PRELUDE }
      : { kind: 'stdio', prelude: HARNESS_PRELUDE },
  })
}

function liveTests(value: unknown, place: string, key: string): z.infer<typeof LIVE_TESTS> {
  if (value === undefined || value === null || value === '') return []
  return read(LIVE_TESTS, unpackJson(value, place, key), place, key)
}
