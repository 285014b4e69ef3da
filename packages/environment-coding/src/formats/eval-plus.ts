/**
 * Grading by EvalPlus (its evaluation code, and MBPP+ since its version 0.2). Arguments that JSON cannot hold
 * are rebuilt by the task's number. The reference solution gives the right answers, and some tasks have rules
 * of their own.
 */
import { z } from 'zod'
import type { CodingProblem, TestCase } from '../problem.ts'
import { defines } from '../python-names.ts'
import { DEFAULT_SECONDS, id, identifier, problem, read, refusal, runnablePrompt, text } from './record.ts'

/** EvalPlus's files (HumanEval+, MBPP+): arguments to try, and a solution that gives the right answers. */
const EVAL_PLUS = z.looseObject({
  task_id: id,
  prompt: text.min(1),
  entry_point: identifier,
  canonical_solution: text,
  base_input: z.array(z.array(z.unknown())),
  plus_input: z.union([z.array(z.array(z.unknown())), z.record(text, z.unknown())]),
  atol: z.number().min(0).default(0),
})

export function parseEvalPlus(record: unknown, place: string): CodingProblem {
  const data = read(EVAL_PLUS, record, place)
  const inputs = [...data.base_input, ...(Array.isArray(data.plus_input) ? data.plus_input : [])]
  const isComplete = defines(data.canonical_solution, data.entry_point)
  const solution = isComplete ? data.canonical_solution : data.prompt + data.canonical_solution
  const prompt = isComplete ? '' : runnablePrompt(data.prompt)
  if (!isGraded(data.task_id, data.entry_point))
    throw refusal(place, 'entry_point', 'EvalPlus accepts every answer')
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

/** Python expressions for the arguments of MBPP+ tasks, from `args` as the file has them. */
const ARGUMENTS: readonly (readonly [tasks: readonly number[], expression: string])[] = [
  [
    [
      ...[2, 116, 132, 143, 222, 261, 273, 394, 399, 421, 424],
      ...[429, 470, 560, 579, 596, 616, 630, 726, 740, 744, 809],
    ],
    '[tuple(one) for one in args]',
  ],
  [
    [63, 64, 70, 94, 120, 237, 272, 299, 400, 409, 417, 438, 473, 614, 780],
    '[[tuple(item) for item in one] for one in args]',
  ],
  [[75, 413, 444, 753], '[[tuple(item) for item in args[0]], args[1]]'],
  [[106, 750], '[args[0], tuple(args[1])]'],
  [[115], '[[set(item) if isinstance(item, list) and item else {} for item in args[0]]]'],
  [[124], '[float(args[0]), complex(args[1])]'],
  [[252], '[complex(args[0])]'],
  [[250, 307, 405, 446, 617, 720, 763, 808], '[tuple(args[0]), *args[1:]]'],
  [[259, 401, 445], '[tuple(tuple(item) for item in one) for one in args]'],
  [[278], '[tuple(tuple(item) if isinstance(item, list) else item for item in args[0])]'],
  [[722], '[{key: tuple(value) for key, value in args[0].items()}, *args[1:]]'],
  [[580, 615, 791], '_tuples(args)'],
]

const AS_SETS = 'same = set(out) == set(expected)'
const NOT_NONE =
  'expected = expected is not None\n    same = out == expected if isinstance(out, bool) else expected == (out is not None)'

/** Python statements that put another rule in place of `same`, by the function's name. */
const MBPP_RULES: Readonly<Record<string, string>> = {
  sum_div: 'same = same or out == 0',
  surface_Area:
    'same = same or abs(out - round(args[0] ** 2 + 2 * args[0] * ((args[0] / 2) ** 2 + args[1] ** 2) ** 0.5)) <= atol',
  digit_distance_nums:
    'width = max(len(str(one)) for one in args)\n    same = same or out == sum(abs(int(a) - int(b)) for a, b in zip(*(str(one).zfill(width) for one in args)))',
  ...Object.fromEntries(
    [
      ...['similar_elements', 'find_char_long', 'common_in_nested_lists', 'extract_singly', 'larg_nnum'],
      ...['intersection_array', 'find_dissimilar', 'Diff'],
    ].map((name) => [name, AS_SETS]),
  ),
  ...Object.fromEntries(
    ['check_str', 'text_match_three', 'text_starta_endb'].map((name) => [name, NOT_NONE]),
  ),
}
const HUMAN_EVAL_RULES: Readonly<Record<string, string>> = {
  find_zero: 'return abs(sum(part * out ** power for power, part in enumerate(args[0]))) <= atol',
}

/** Its rule for this task: every answer is right. */
const ACCEPTS_ALL = 'are_equivalent'

const isMbpp = (taskId: string) => taskId.startsWith('Mbpp/')

/** Whether EvalPlus tells right answers to the task from wrong ones. */
const isGraded = (taskId: string, name: string) => !(isMbpp(taskId) && name === ACCEPTS_ALL)

/** Python that the tests of a task need beside its reference solution: `_arguments` and `_right`. */
function evalPlusOracle(taskId: string, name: string): string {
  const number = Number(taskId.split('/').at(-1))
  const [, expression = 'args'] = ARGUMENTS.find(([tasks]) => isMbpp(taskId) && tasks.includes(number)) ?? []
  const rules = isMbpp(taskId) ? MBPP_RULES : HUMAN_EVAL_RULES
  const rule = Object.hasOwn(rules, name) ? rules[name] : 'pass'
  return `
def _tuples(value):
    return tuple(map(_tuples, value)) if isinstance(value, list) else value

def _arguments(text):
    args = _json.loads(text)
    return ${expression}

def _floats(value):
    return isinstance(value, float) or isinstance(value, (list, tuple)) and bool(value) and all(isinstance(one, float) for one in value)

def _close(a, b, atol):
    if isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(_close(x, y, atol) for x, y in zip(a, b))
    return a == b or abs(b) != float('inf') and abs(a - b) <= atol + 1e-7 * abs(b)

def _right(args, out, expected, atol):
    same = out == expected
    ${rule}
    if atol == 0 and _floats(expected):
        atol = 1e-6
    if same or atol == 0:
        return bool(same)
    return type(out) is type(expected) and _close(out, expected, atol)
`
}

/**
 * Returns the code of a test. It compares the answer to these JSON arguments with the reference solution's.
 */
function evalPlusTest(json: string, atol: number): string {
  const args = `_arguments(${JSON.stringify(json)})`
  return `_right(${args}, candidate(*${args}), _reference(*${args}), ${atol})`
}
