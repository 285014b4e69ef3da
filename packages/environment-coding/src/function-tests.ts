/**
 * Tests that call a function. The calls come from outside. The program's process gets arguments as data and
 * returns values as data. It never holds expected values or the code of an assertion. Simple comparisons are
 * made here. Any other test code runs as a program of its own, the referee. Its calls are looked up among the
 * program's answers.
 */
import { createHash } from 'node:crypto'
import type { TestCase } from './problem.ts'
import { readCall, readLiteral } from './python-literal.ts'
import { type PythonValue, valueOfJson } from './python-value.ts'

/** Keys are strings of JSON, so that a call of the referee and its answer meet. */
export type FunctionCall = {
  readonly name: string
  readonly args: readonly PythonValue[]
  readonly kwargs: Readonly<Record<string, PythonValue>>
}

/** A value, or the type of the exception that the call ended with. */
export type CallResult = { readonly value: PythonValue } | { readonly raised: string }

/** Encoding of values, for both sides. */
const CODEC = `
import json as _json

def _encode(value):
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    if isinstance(value, int):
        value = int.__add__(value, 0)
        return value if -9007199254740992 < value < 9007199254740992 else ['i', hex(value)]
    if isinstance(value, float):
        return ['f', float.__repr__(value)]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, list):
        return ['l', *map(_encode, value)]
    if isinstance(value, tuple):
        return ['t', *map(_encode, value)]
    if isinstance(value, (set, frozenset)):
        return ['s', *map(_encode, value)]
    if isinstance(value, dict):
        return ['d', *([_encode(key), _encode(item)] for key, item in value.items())]
    if isinstance(value, complex):
        return ['c', repr(value.real), repr(value.imag)]
    if isinstance(value, (bytes, bytearray)):
        return ['b', bytes(value).hex()]
    if isinstance(value, range):
        return ['r', value.start, value.stop, value.step]
    name = kind.__module__ + '.' + kind.__qualname__
    if name == 'fractions.Fraction':
        return ['q', hex(value.numerator), hex(value.denominator)]
    if name == 'decimal.Decimal':
        return ['m', str(value)]
    if name in ('collections.deque', 'array.array'):
        return ['n', name, *map(_encode, value)]
    if kind.__module__ == 'numpy':
        return _encode(value.tolist())
    if name == 'builtins.dict_keys':
        return ['k', *map(_encode, value)]
    if hasattr(kind, '__next__'):
        import itertools
        return ['g', *map(_encode, itertools.islice(value, 100000))]
    return ['x', name, repr(value)[:200]]

class _Stranger:
    """A value that cannot travel: it equals nothing."""
    def __init__(self, text):
        self.text = text
    def __eq__(self, other):
        return False
    def __repr__(self):
        return self.text
    __hash__ = object.__hash__

def _decode(value):
    if not isinstance(value, list):
        return value
    tag, *parts = value
    if tag == 'i':
        return int(parts[0], 0)
    if tag == 'f':
        return float(parts[0])
    if tag == 'l':
        return [_decode(part) for part in parts]
    if tag == 't':
        return tuple(_decode(part) for part in parts)
    if tag == 's':
        return {_decode(part) for part in parts}
    if tag == 'k':
        return dict.fromkeys(map(_decode, parts)).keys()
    if tag == 'g':
        return map(_decode, parts)
    if tag == 'd':
        return {_decode(key): _decode(item) for key, item in parts}
    if tag == 'c':
        return complex(float(parts[0]), float(parts[1]))
    if tag == 'b':
        return bytes.fromhex(parts[0])
    if tag == 'r':
        return range(*parts)
    if tag == 'q':
        import fractions
        return fractions.Fraction(int(parts[0], 0), int(parts[1], 0))
    if tag == 'm':
        import decimal
        return decimal.Decimal(parts[0])
    if tag == 'n' and parts[0] == 'collections.deque':
        import collections
        return collections.deque(_decode(part) for part in parts[1:])
    return _Stranger(str(parts[-1]))
`

/**
 * Runs the program as a module, so that a block for \`__main__\` does not run, and then makes the calls. A
 * marked line ends its output. The text before the mark is the program's own.
 */
const DRIVER = `
def _rl_drive(source, prelude, setup):
    import io, sys
    task = _json.loads(sys.stdin.readline())
    sys.stdin = io.TextIOWrapper(io.BytesIO(), encoding='utf-8')
    module = type(sys)('solution')
    module.__file__ = '/tmp/solution.py'
    try:
        with open(module.__file__, 'w', encoding='utf-8') as file:
            file.write(source)
    except (OSError, UnicodeError):
        pass
    sys.modules['solution'] = module
    scope = module.__dict__
    exec(prelude, scope)
    if setup:
        exec(setup, scope)
    try:
        exec(compile(source, '/tmp/solution.py', 'exec', dont_inherit=True), scope)
    except SystemExit:
        pass
    results = []
    for name, args, kwargs in task['calls']:
        try:
            owner = scope.get('Solution')
            function = getattr(owner(), name) if hasattr(owner, name) else scope[name]
            value = function(*map(_decode, args), **{key: _decode(item) for key, item in kwargs.items()})
            results.append({'value': _encode(value)})
        except Exception as error:
            results.append({'raised': type(error).__name__})
            import traceback
            traceback.print_exc()
    text = _json.dumps(results)
    sys.stdout.flush()
    sys.__stdout__.write('\\n' + task['mark'] + ' ' + text + '\\n')
    sys.__stdout__.flush()
`

const HARNESS_MODULES = [
  ...['string', 're', 'datetime', 'collections', 'heapq', 'bisect', 'copy', 'math', 'random', 'statistics'],
  ...['itertools', 'functools', 'operator', 'io', 'sys', 'json', 'typing'],
]
/**
 * Names that a program may use without an import, if the data set's own harness defines them (LiveCodeBench).
 * Contents of modules come first, then the modules, since \`bisect\`, \`copy\` and others contain a function
 * of their own name.
 */
export const HARNESS_PRELUDE = [
  ...HARNESS_MODULES.map((name) => `from ${name} import *`),
  'from builtins import *',
  `import ${HARNESS_MODULES.join(', ')}`,
  'sys.setrecursionlimit(50000)\n',
].join('\n')

/** APPS and TACO import these besides. */
export const APPS_PRELUDE = `${HARNESS_PRELUDE}import fractions, time\n`

/**
 * Puts a prelude before a program. A program with a future statement gets none: that statement must come
 * first, and its author imports.
 */
export const preluded = (program: string, prelude: string): string =>
  /^from\s+__future__\b/m.test(program) ? program : `exec(${JSON.stringify(prelude)})\n${program}`

/** The text that runs a program and calls its functions. */
export function drivenProgram(program: string, prelude: string, setup: string): string {
  // JSON's escapes mean the same in a Python string.
  const texts = JSON.stringify(JSON.stringify([program, prelude, setup]))
  return `${CODEC}${DRIVER}\n_rl_drive(*_json.loads(${texts}))\n`
}

/** The input of a driven program. The mark depends on nothing but the calls, so that results can be kept. */
export function callsInput(program: string, calls: readonly FunctionCall[]): { stdin: string; mark: string } {
  const listed = calls.map(({ name, args, kwargs }) => [name, args, kwargs])
  const mark = createHash('sha256')
    .update(JSON.stringify([program, listed]))
    .digest('hex')
    .slice(0, 24)
  return { stdin: `${JSON.stringify({ calls: listed, mark })}\n`, mark }
}

/**
 * Returns the results of the calls from the output of a driven program. Returns null if it did not get that
 * far.
 */
export function callResults(stdout: string, mark: string): { results: CallResult[]; printed: string } | null {
  const at = stdout.lastIndexOf(`\n${mark} `)
  if (at < 0) return null
  const [line = ''] = stdout.slice(at + mark.length + 2).split('\n', 1)
  try {
    const results: unknown = JSON.parse(line)
    return Array.isArray(results) && results.every(isResult)
      ? { results, printed: stdout.slice(0, at) }
      : null
  } catch {
    return null
  }
}

/** Deeper values are refused, because readers of values recurse. */
const MOST_DEPTH = 500

/** A program can find the mark and write anything in place of its results. */
function isResult(item: unknown): item is CallResult {
  if (typeof item !== 'object' || item === null) return false
  return 'raised' in item ? typeof item.raised === 'string' : 'value' in item && isValue(item.value)
}

function isValue(item: unknown, depth = 0): item is PythonValue {
  if (!Array.isArray(item)) return item === null || typeof item !== 'object'
  if (depth > MOST_DEPTH || typeof item[0] !== 'string') return false
  const isPair = (part: unknown) =>
    Array.isArray(part) && part.length === 2 && part.every((one) => isValue(one, depth + 1))
  const isPart = item[0] === 'd' ? isPair : (part: unknown) => isValue(part, depth + 1)
  return item.slice(1).every(isPart)
}

/**
 * Runs the code of a test with a function whose calls are looked up. An unknown call is noted. Its value
 * compares equal to everything, so one pass finds most of the calls. The verdict of such a pass does not
 * count.
 */
const REFEREE = `
import ast

class _Pending:
    def _same(self, *args, **kwargs):
        return self
    def _true(self, *args):
        return True
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _same
    __floordiv__ = __mod__ = __rmod__ = __pow__ = __neg__ = __abs__ = __round__ = __getitem__ = __call__ = _same
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __contains__ = _true
    __hash__ = object.__hash__
    def __len__(self):
        return 1
    def __iter__(self):
        return iter((self,))
    def __float__(self):
        return 1.0
    def __int__(self):
        return 1
    __index__ = __int__

class _Exploring(ast.NodeTransformer):
    def visit_Assert(self, node):
        ignored = ast.ExceptHandler(ast.Name('Exception', ast.Load()), None, [ast.Pass()])
        return ast.copy_location(ast.Try([ast.Expr(node.test)], [ignored], [], []), node)

def _rl_judge():
    import builtins, io, random, sys
    task = _json.loads(sys.stdin.read())
    sys.stdin = io.StringIO()
    known = {_json.dumps(call): result for call, result in task['known']}
    wanted = []

    def called(name):
        def function(*args, **kwargs):
            call = [name, [_encode(arg) for arg in args], {key: _encode(arg) for key, arg in kwargs.items()}]
            key = _json.dumps(call)
            if key not in known:
                if call not in wanted:
                    wanted.append(call)
                return _Pending()
            result = known[key]
            if 'raised' in result:
                kind = getattr(builtins, result['raised'], None)
                # One of these would end an iteration of the test's own, as if there were no more to compare.
                if kind in (StopIteration, StopAsyncIteration, GeneratorExit):
                    kind = RuntimeError
                raise kind() if isinstance(kind, type) and issubclass(kind, Exception) else Exception(result['raised'])
            return _decode(result['value'])
        return function

    expected = task['expected']
    try:
        tree, mode = ast.parse(task['code'].strip(), mode='eval'), 'eval'
    except SyntaxError:
        tree, mode = ast.parse(task['code']), 'exec'

    def prepared():
        scope = {'__name__': 'test'}
        random.seed(0)
        for text in (task['prelude'], task['setup'], task['oracle']):
            exec(text, scope)
        return scope

    def run(tree):
        scope = prepared()
        scope[task['name']] = scope['candidate'] = called(task['name'])
        value = eval(compile(tree, 'test', 'eval'), scope) if mode == 'eval' else exec(compile(tree, 'test', 'exec'), scope)
        return mode == 'exec' or bool(value == eval(expected, scope))

    # What fails before the test is no word on any program.
    prepared()
    passed = False
    try:
        # First without its assertions, so that one that is not known yet hides no call after it.
        run(tree if mode == 'eval' else ast.fix_missing_locations(_Exploring().visit(ast.parse(task['code']))))
    except Exception:
        pass
    if not wanted:
        try:
            passed = run(tree)
        except Exception as error:
            print(type(error).__name__, error, file=sys.stderr)
    print(_json.dumps({'passed': passed and not wanted, 'wanted': wanted}))

_rl_judge()
`

export const REFEREE_PROGRAM = `${CODEC}${REFEREE}`

export type RefereeTask = {
  readonly name: string
  readonly prelude: string
  readonly setup: string
  readonly oracle: string
  readonly test: TestCase
  readonly known: readonly (readonly [FunctionCall, CallResult])[]
}

export function refereeInput({ name, prelude, setup, oracle, test, known }: RefereeTask): string {
  const pairs = known.map(([call, result]) => [[call.name, call.args, call.kwargs], result])
  return JSON.stringify({
    name,
    prelude,
    setup,
    oracle,
    code: test.input,
    expected: test.output.trim(),
    known: pairs,
  })
}

/** Returns the referee's answer, or null if the referee failed. */
export function refereeAnswer(stdout: string): { passed: boolean; wanted: FunctionCall[] } | null {
  try {
    const { passed, wanted } = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '') as {
      passed: boolean
      wanted: [string, PythonValue[], Record<string, PythonValue>][]
    }
    return { passed, wanted: wanted.map(([name, args, kwargs]) => ({ name, args, kwargs })) }
  } catch {
    return null
  }
}

/**
 * Returns the call and the expected value of a test that needs no referee: one call with literal arguments,
 * and a literal as its value.
 */
export function simpleTest({
  input,
  output,
}: TestCase): { call: FunctionCall; expected: PythonValue } | null {
  const call = readCall(input)
  const expected = readLiteral(output)
  return call && expected !== undefined ? { call, expected } : null
}

/**
 * Returns the call of a test whose arguments are JSON, one a line, and its expected value. Throws if they are
 * not JSON.
 */
export function jsonTest(
  name: string,
  { input, output }: TestCase,
): { call: FunctionCall; expected: PythonValue } {
  const args = input.split('\n').flatMap((line) => (line.trim() === '' ? [] : [valueOfJson(line)]))
  return { call: { name, args, kwargs: {} }, expected: valueOfJson(output) }
}
