/** A problem and its tests, whatever file they came from. */
import type { ComparatorSpec } from './compare.ts'
import { DEFAULT_LIMITS, type Limits } from './executor.ts'

/** What is written to standard input, and what must come out. */
export type TestCase = { readonly input: string; readonly output: string }

/**
 * How a test's input reaches the program: on standard input, or by a call that a few lines after the program make.
 * - `json`: each line of the input is one argument as JSON; the result is printed as JSON.
 * - `expression`: the input is a Python expression, evaluated after `setup`; `candidate` is another name for the function.
 */
export type Call =
  | { readonly kind: 'stdio' }
  | { readonly kind: 'json'; readonly name: string }
  | { readonly kind: 'expression'; readonly setup: string; readonly name: string | null }

export type CodingProblem = {
  readonly id: string
  readonly question: string
  /** Decide the policy's reward. */
  readonly tests: readonly TestCase[]
  /** Shown to the policy. */
  readonly examples: readonly TestCase[]
  readonly limits: Limits
  readonly comparator: ComparatorSpec
  readonly call: Call
  /** Python programs that are right. */
  readonly solutions: readonly string[]
  readonly split: string | null
}

export const STDIO: Call = { kind: 'stdio' }

/** The limits of a problem with this time limit in seconds. */
export const limitsOf = (seconds: number, memoryMB = DEFAULT_LIMITS.memoryMB): Limits => ({
  ...DEFAULT_LIMITS,
  cpuMs: Math.round(seconds * 1000),
  memoryMB,
})

/** Whether a test can be run at all; one without input or without output cannot (rlanything 5.2) and fails every program. */
export const isRunnable = (test: TestCase) => test.input.trim() !== '' && test.output.trim() !== ''

/** The text that is executed: the program, and for a function-style test the lines that call it. */
export function executableText(program: string, call: Call): string {
  if (call.kind === 'stdio') return program
  const lines = call.kind === 'json' ? jsonCall(call.name) : expressionCall(call)
  return `${program}\n\n${lines}`
}

function jsonCall(name: string): string {
  return `import json as _json, sys as _sys
_arguments = [_json.loads(_line) for _line in _sys.stdin.read().splitlines() if _line.strip()]
_owner = globals().get('Solution')
_function = getattr(_owner(), ${JSON.stringify(name)}) if hasattr(_owner, ${JSON.stringify(name)}) else globals()[${JSON.stringify(name)}]
_value = _function(*_arguments)
_sys.stdout.write('\\n' + _json.dumps(_value, default=list) + '\\n')
`
}

/**
 * Writes a value so that two texts are equal where Python's == holds between plain values: 1, 1.0 and True are one;
 * sets and dictionaries have no order; lists and tuples differ. python-literal.ts writes the same.
 */
const CANONICAL = `def _canonical(value):
    if isinstance(value, str):
        return _json.dumps(value)
    if isinstance(value, bool):
        return repr(int(value))
    if isinstance(value, float) and value.is_integer():
        return repr(int(value))
    if isinstance(value, list):
        return '[' + ', '.join(map(_canonical, value)) + ']'
    if isinstance(value, tuple):
        return '(' + ', '.join(map(_canonical, value)) + ',)'
    if isinstance(value, (set, frozenset)):
        return 'set(' + ', '.join(sorted(map(_canonical, value))) + ')'
    if isinstance(value, dict):
        pairs = sorted((_canonical(key), _canonical(item)) for key, item in value.items())
        return '{' + ', '.join(key + ': ' + item for key, item in pairs) + '}'
    return repr(value)
`

function expressionCall({ setup, name }: { readonly setup: string; readonly name: string | null }): string {
  return `import json as _json, sys as _sys
${CANONICAL}
${setup}
${name === null ? '' : `candidate = ${name}`}
_value = eval(compile(_sys.stdin.read().strip(), 'test', 'eval'), globals())
_sys.stdout.write('\\n' + _canonical(_value) + '\\n')
`
}
