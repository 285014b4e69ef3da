/**
 * A hostile program's trial. It is graded like a model's program, at tests that it cannot pass honestly.
 * Programs that must pass run beside it.
 */
import { randomBytes, randomInt } from 'node:crypto'
import type { Executor } from './executor.ts'
import { type Grade, grade, gradeOne } from './grade.ts'
import { type CodingProblem, STDIO } from './problem.ts'
import { DEFAULT_LIMITS, type Language, type LeftBehind, type Limits } from './provider.ts'
import type { Verdict } from './run-result.ts'
import { CANARY_LIMITS } from './tries.ts'

export type Trial = {
  /** Verdicts of its runs. */
  readonly verdicts: readonly Verdict[]
  /** Whether it passed a test, or printed the mark of an escape. */
  readonly passed: boolean
  /** Known-good programs before, beside and after it that did not pass. */
  readonly canariesFailed: number
  readonly canaries: number
  readonly wallMs: number
  readonly leftBehind: LeftBehind
}

const TRIAL_LIMITS: Limits = { ...DEFAULT_LIMITS, cpuMs: 500, wallMs: 2000, memoryMB: 128 }

/** A program of attacks.ts prints this if it gets through. */
export const ESCAPED = 'ESCAPED'

const NOTHING: LeftBehind = { processes: 0, files: 0, keys: 0, memoryKB: 0 }

type Question = Pick<CodingProblem, 'limits' | 'comparator' | 'call' | 'tests'>

/** Accepts the expected text, which no honest program can know, and the mark of an escape. */
const INTERACTOR = `import json, sys
test = json.loads(sys.stdin.readline())
print(test['input'], flush=True)
for line in sys.stdin:
    if test['expected'] in line or '${ESCAPED}' in line:
        sys.exit(0)
    print('no', flush=True)
sys.exit(1)
`

/**
 * Returns two tests of each kind, with answers that are in no sandbox. The answer is printed. In Python,
 * others are returned by a function, or asserted. One more is a conversation, if the sandbox has
 * conversations.
 */
function questions(language: Language, interactive: boolean): Question[] {
  const name = 'solve'
  const secret = () => randomBytes(12).toString('hex')
  const number = () => String(randomInt(2 ** 40))
  const rest = { limits: TRIAL_LIMITS, comparator: { kind: 'tokens' as const } }
  const inputs = ['MARKER1\n', 'MARKER2\n']
  const printed: Question = {
    ...rest,
    call: STDIO,
    tests: inputs.map((input) => ({ input, output: `${secret()}\n` })),
  }
  const talked: Question = {
    ...rest,
    call: { kind: 'interactive', interactor: INTERACTOR },
    tests: [{ input: 'MARKER1', output: secret() }],
  }
  const spoken = interactive ? [printed, talked] : [printed]
  if (language !== 'python') return spoken
  return [
    ...spoken,
    {
      ...rest,
      call: { kind: 'function', name, setup: '', prelude: '', oracle: '' },
      tests: [
        { input: `assert ${name}(${number()}) == ${number()}\n`, output: 'True' },
        {
          input: `value = ${name}(${number()})\nassert len(str(value)) > 0 and value == ${number()}\n`,
          output: 'True',
        },
      ],
    },
  ]
}

/** Runs one program's trial. Function-style tests call its `solve`. */
export async function tryProgram(
  executor: Executor,
  program: string,
  language: Language = 'python',
): Promise<Trial> {
  const begun = performance.now()
  const before = await canary(executor)
  const asked = questions(language, executor.provider.interactive === true)
  const [beside, grades] = await Promise.all([
    canary(executor),
    grade(
      executor,
      asked.map((problem) => ({ problem, program, language, tests: problem.tests })),
    ),
  ])
  const after = await canary(executor)
  const passes = [before, beside, after]
  return {
    verdicts: grades.flatMap((row) => row.map(({ result }) => result.verdict)),
    passed: grades.flat().some(hasPassed),
    canaries: passes.length,
    canariesFailed: passes.filter((passed) => !passed).length,
    wallMs: performance.now() - begun,
    leftBehind: executor.provider.leftBehind?.() ?? NOTHING,
  }
}

const hasPassed = ({ passed, result }: Grade) => passed === true || result.stdout.includes(ESCAPED)

/** Whether a right program passes. It differs each time, so no cache answers. */
async function canary(executor: Executor): Promise<boolean> {
  const [a, b] = [randomInt(2 ** 30), randomInt(2 ** 30)]
  const program = `# ${randomInt(2 ** 40)}\nimport sys\nprint(sum(map(int, sys.stdin.read().split())))\n`
  const problem = { limits: CANARY_LIMITS, comparator: { kind: 'tokens' as const }, call: STDIO }
  const tests = [{ input: `${a}\n${b}\n`, output: `${a + b}\n` }]
  const grades = await gradeOne(executor, { problem, program, tests })
  return grades.every(({ passed }) => passed === true)
}

/** Above this a sandbox holds more than its own noise. */
const NOISE_KB = 16 << 10

export const isClean = ({ processes, files, keys, memoryKB }: LeftBehind) =>
  processes === 0 && files === 0 && keys === 0 && memoryKB < NOISE_KB
