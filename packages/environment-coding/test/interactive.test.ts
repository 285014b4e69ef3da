/** Problems in which the program talks with another one: guess the number, and programs that would rather not play. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { createExecutor, type Executor } from '../src/executor.ts'
import { parseRecord } from '../src/formats.ts'
import { grade } from '../src/grade.ts'
import type { CodingProblem, TestCase } from '../src/problem.ts'
import { DEFAULT_LIMITS, type Language } from '../src/provider.ts'
import { createPyodideProvider } from '../src/providers/pyodide.ts'
import { isClean } from '../src/trial.ts'
import { openProvider } from './sandboxes.ts'

/** Thinks of the number of the test's input; content after at most ten questions. */
const GUESS = `import json, sys
number = int(json.loads(sys.stdin.readline())['input'])
for _ in range(10):
    line = sys.stdin.readline()
    if line == '':
        sys.exit('the program asked no more')
    if not line.strip().isdigit():
        sys.exit('no number')
    guess = int(line)
    print('=' if guess == number else '<' if number < guess else '>', flush=True)
    if guess == number:
        sys.exit(0)
sys.exit('too many questions')
`

const problem: CodingProblem = parseRecord(
  {
    id: 'guess',
    question: 'Guess a number from 1 to 1000 with at most 10 questions.',
    test_method: 'interactive',
    test_time_limit: 1,
    interactor: GUESS,
    test_input: ['1', '1000', '617'],
    test_output: ['', '', ''],
  },
  'here',
)

const BISECT = `low, high = 1, 1000
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    answer = input()
    if answer == '=':
        break
    low, high = (low, middle - 1) if answer == '<' else (middle + 1, high)
`
const BISECT_JS = `const { readSync, writeSync } = require('node:fs')
const byte = Buffer.alloc(1)
let [low, high] = [1, 1000]
for (;;) {
  const middle = (low + high) >> 1
  writeSync(1, middle + '\\n')
  let answer = ''
  while (!answer.endsWith('\\n')) { if (readSync(0, byte) === 0) process.exit(1); answer += byte.toString() }
  if (answer[0] === '=') break
  if (answer[0] === '<') high = middle - 1
  else low = middle + 1
}
`
const BISECT_CPP = `#include <iostream>
int main() {
  int low = 1, high = 1000;
  for (char answer = 0; answer != '=';) {
    int middle = (low + high) / 2;
    std::cout << middle << std::endl;
    if (!(std::cin >> answer)) return 1;
    if (answer == '<') high = middle - 1; else low = middle + 1;
  }
}
`

const provider = await openProvider('bwrap')
const executor = provider && createExecutor({ provider })
test.after(() => executor?.close())

function here(name: string, body: (executor: Executor) => Promise<void>): void {
  test(name, async () => {
    if (executor) await body(executor)
  })
}

async function gradesOf(
  on: Executor,
  program: string,
  {
    interactor = GUESS,
    tests = problem.tests,
    language,
    wallMs = 60_000,
  }: {
    readonly interactor?: string
    readonly tests?: readonly TestCase[]
    readonly language?: Language
    readonly wallMs?: number
  } = {},
) {
  const limits = { ...DEFAULT_LIMITS, cpuMs: 1000, wallMs, memoryMB: 128 }
  const call = { kind: 'interactive', interactor } as const
  const [grades] = await grade(on, [{ problem: { ...problem, limits, call }, program, language, tests }])
  return grades
}

for (const [language, program] of [
  ['python', BISECT],
  ['javascript', BISECT_JS],
  ['cpp', BISECT_CPP],
] as const)
  here(`a program in ${language} that guesses the number passes`, async (on) => {
    if (!on.provider.languages?.includes(language))
      return void process.stdout.write(`SKIP ${language}: it is not installed\n`)
    const grades = await gradesOf(on, program, { language })
    assert.equal(
      grades.map(({ passed, result }) => [passed, result.verdict]),
      problem.tests.map(() => [true, 'ok']),
      JSON.stringify(grades),
    )
  })

const ONE = problem.tests.slice(2)
/** Of conversations that never end, and that nobody passes. */
const HOPELESS_MS = 6_000

/** What the hostile ones do, and how each ends. */
const LOSERS: Readonly<Record<string, readonly [program: string, verdicts: readonly string[]]>> = {
  'guesses wrong': ['print(1, flush=True)\ninput()', ['ok']],
  'ends early': ['', []],
  'ends at once': ['pass', ['ok']],
  'is silent': ['import time\ntime.sleep(600)', ['timeout']],
  'never flushes': ['import sys\nprint(617)\nsys.stdin.readline()', ['runtime_error', 'timeout']],
  'writes without end': ["while True:\n    print('9' * 1000)", ['runtime_error', 'timeout']],
  'writes a line without end': [
    "import os\nwhile True:\n    os.write(1, b'9' * 65536)",
    ['runtime_error', 'timeout', 'memory'],
  ],
  'closes its output and stays': ['import os, time\nos.close(1)\ntime.sleep(600)', ['timeout']],
  'leaves its output to a child': [
    'import os, time\nif os.fork() == 0:\n    time.sleep(600)\nos._exit(0)',
    ['ok'],
  ],
  'ends everything that it can name': [
    'import os\nfor pid in (-1, 0, 1, 2, 3, 4, os.getppid()):\n    try:\n        os.kill(pid, 9)\n    except OSError:\n        pass',
    ['ok', 'runtime_error'],
  ],
  'answers as its own judge': [
    "import os\nfor fd in range(16):\n    try:\n        os.write(fd, b'=\\n')\n    except OSError:\n        pass",
    ['ok', 'runtime_error'],
  ],
  'fails after it has won': [`${BISECT}raise SystemExit(3)`, ['runtime_error']],
  'forks without end': [
    'import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass',
    ['timeout', 'memory', 'runtime_error'],
  ],
}
for (const [what, [program, verdicts]] of Object.entries(LOSERS))
  here(`a program that ${what} does not pass, and harms nobody`, async (on) => {
    const [{ passed, result }] = await gradesOf(on, program, { tests: ONE, wallMs: HOPELESS_MS })
    assert.is(passed, false, JSON.stringify(result))
    if (verdicts.length > 0) assert.ok(verdicts.includes(result.verdict), JSON.stringify(result))
    const [after] = await gradesOf(on, BISECT, { tests: [{ input: '42', output: what }] })
    assert.is(after.passed, true, JSON.stringify(after))
    const left = on.provider.leftBehind?.()
    assert.ok(left && isClean(left), JSON.stringify(left))
    assert.is(on.counts.blamed, 0)
  })

here('neither side sees anything of the other but what it is told', async (on) => {
  const interactor = `import json, os, socket, sys
test = json.loads(sys.stdin.readline())
open('/tmp/number', 'w').write(test['expected'])
ear = socket.socket(socket.AF_UNIX)
ear.bind('\\0number')
ear.listen()
print('ready', flush=True)
found = sys.stdin.readline().strip()
sys.exit(0 if found == 'nothing' else found)
`
  const program = `import os, socket
input()
found = []
if os.listdir('/tmp') not in ([], ['main.py']):
    found.append('files ' + str(os.listdir('/tmp')))
try:
    socket.socket(socket.AF_UNIX).connect('\\0number')
    found.append('a socket')
except OSError:
    pass
for pid in range(2, 64):
    try:
        os.kill(pid, 0)
        found.append('process %d' % pid)
    except OSError:
        pass
for fd in range(3, 64):
    try:
        os.fstat(fd)
        found.append('descriptor %d' % fd)
    except OSError:
        pass
print(' '.join(found) or 'nothing', flush=True)
`
  const [{ passed, result }] = await gradesOf(on, program, {
    interactor,
    tests: [{ input: 'x', output: 'the secret' }],
  })
  assert.is(passed, true, JSON.stringify(result))
})

here('what an interactor says to a program that is gone is no fault of either', async (on) => {
  const interactor = `import json, sys, time
json.loads(sys.stdin.readline())
answer = sys.stdin.readline()
while sys.stdin.readline():
    pass
time.sleep(0.2)
print('thank you', flush=True)
print('good bye')
sys.exit(0 if answer == '42\\n' else 1)
`
  const tests = [{ input: 'x', output: '' }]
  const [right] = await gradesOf(on, 'print(42)', { interactor, tests })
  assert.is(right.passed, true, JSON.stringify(right))
  const [wrong] = await gradesOf(on, 'print(43)', { interactor, tests })
  assert.is(wrong.passed, false)
})

here('how long the test of the interactor is cannot be told', async (on) => {
  const interactor = `import sys, time
time.sleep(0.3)
sys.stdin.readline()
sys.exit(sys.stdin.readline())
`
  const program = `import array, fcntl, os
waiting = array.array('i', [0])
fcntl.ioctl(1, 0x541b, waiting)
print(waiting[0], os.stat('/tmp').st_size, fcntl.fcntl(1, 1032), fcntl.fcntl(0, 1032), flush=True)
`
  const tests = ['7', '7'.repeat(500)].map((output) => ({ input: 'x', output }))
  const [short, long] = (await gradesOf(on, program, { interactor, tests })).map(
    ({ result }) => result.stderrTail,
  )
  assert.match(short, /^\d+ \d+ \d+ \d+/)
  assert.is(long, short)
})

here('/dev/stdin is the input of a conversation, and its end is told', async (on) => {
  const interactor = `import sys
sys.stdin.readline()
print(4, flush=True)
sys.exit(0 if input() == '16' else 1)
`
  const program = `import os, sys
heard = open('/dev/stdin')
print(int(heard.readline()) ** 2, flush=True)
print(repr(heard.read()), file=sys.stderr)
for path in ('/dev/stdin', '/box/stdin'):
    try:
        open(path, 'w')
        print('ESCAPED', file=sys.stderr)
    except OSError:
        pass
`
  const [{ passed, result }] = await gradesOf(on, program, {
    interactor,
    tests: [{ input: 'x', output: '' }],
  })
  assert.is(passed, true, JSON.stringify(result))
  assert.is(result.stderrTail, "''\n")
})

here('an interactor that says more than anybody reads is heard to its end', async (on) => {
  const interactor = `import sys
sys.stdin.readline()
for _ in range(3000): print('x' * 100)
sys.stdout.flush()
sys.exit(0 if sys.stdin.readline() == 'done\\n' else 1)
`
  const tests = [{ input: 'x', output: '' }]
  const [right, wrong] = [
    await gradesOf(on, 'print("done", flush=True)', { interactor, tests, wallMs: HOPELESS_MS }),
    await gradesOf(on, 'print("none", flush=True)', { interactor, tests, wallMs: HOPELESS_MS }),
  ].map(([{ passed }]) => passed)
  assert.equal([right, wrong], [true, false])
})

here(
  'a program that fails by itself, or ends its group, fails whatever it does to its interactor',
  async (on) => {
    const killing = `import os\ninput\nfor pid in (0, os.getpgrp(), -os.getpgrp() or 0):\n    try:\n        os.kill(pid, 9)\n    except OSError:\n        pass`
    for (const program of [killing, 'while True: pass']) {
      const [{ passed }] = await gradesOf(on, program, { tests: ONE, wallMs: HOPELESS_MS })
      assert.is(passed, false, program)
    }
  },
)

here('an interactor that fails, hangs or is no program gives no verdict, and says so', async (on) => {
  for (const interactor of [
    'raise ValueError(0)',
    'while True: pass',
    'import time; time.sleep(600)',
    'no (',
  ]) {
    for (const program of ['pass', 'input()']) {
      const [{ passed, judgeFailed }] = await gradesOf(on, program, {
        ...{ interactor, tests: ONE, wallMs: HOPELESS_MS },
      })
      assert.equal([passed, judgeFailed], [null, true], `${interactor} ${program}`)
    }
  }
})

here('a large test reaches its interactor; one that is larger is told', async (on) => {
  const interactor = `import json, sys
test = json.loads(sys.stdin.readline())
print(len(test['input']), flush=True)
sys.exit(0 if int(sys.stdin.readline()) == len(test['input']) else 1)
`
  const sizes = [400_000, 600_000]
  const tests = sizes.map((size) => ({ input: 'x'.repeat(size), output: '' }))
  const grades = await gradesOf(on, 'print(input(), flush=True)', { interactor, tests })
  assert.equal(
    grades.map(({ passed, result }) => [passed, result.verdict]),
    [
      [true, 'ok'],
      [false, 'invalid'],
    ],
  )
})

test('a sandbox that cannot have programs talk says so', async () => {
  const alone = createExecutor({ provider: await createPyodideProvider({ concurrency: 1 }) })
  try {
    await gradesOf(alone, BISECT)
    assert.unreachable()
  } catch (error) {
    assert.match((error as Error).message, /pyodide runs no interactive problems/)
  } finally {
    await alone.close()
  }
})

test('a record without its interactor is refused by name', () => {
  assert.throws(
    () =>
      parseRecord(
        { id: 'a', question: 'b', test_method: 'interactive', test_input: [], test_output: [] },
        'x:1',
      ),
    /x:1: interactor/,
  )
})

test.run()
