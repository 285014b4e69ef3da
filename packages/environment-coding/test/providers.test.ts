import { seedOf } from 'rlanything/environments'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { loadProblems } from '../src/dataset.ts'
import { createExecutor, runAll } from '../src/executor.ts'
import { problemOf } from '../src/family/recipe.ts'
import { drawRecipes } from '../src/family/templates.ts'
import { grade } from '../src/grade.ts'
import { DEFAULT_LIMITS, type Provider } from '../src/provider.ts'
import type { Verdict } from '../src/run-result.ts'
import { mutate } from '../src/scripted.ts'
import { openProvider } from './sandboxes.ts'

const LIMITS = { ...DEFAULT_LIMITS, cpuMs: 1000 }

type Case = {
  readonly what: string
  readonly program: string
  readonly stdin?: string
  readonly verdict: Verdict
  readonly stdout?: string
  /** Needs threads or processes, which WebAssembly has not. */
  readonly native?: boolean
}

const CASES: readonly Case[] = [
  {
    what: 'input()',
    program: 'print(int(input()) + int(input()))',
    stdin: '1\n2\n',
    verdict: 'ok',
    stdout: '3\n',
  },
  {
    what: 'input() and sys.stdin share a position',
    program:
      'import sys\na = input()\nb = sys.stdin.readline().strip()\nc = input()\nprint(a, b, c, sys.stdin.read().split())',
    stdin: '1\n2\n3\n4\n5\n',
    verdict: 'ok',
    stdout: "1 2 3 ['4', '5']\n",
  },
  {
    what: 'sys.stdin.buffer and os.read',
    program:
      'import os, sys\ndata = sys.stdin.buffer.readline()\nprint(len(data), len(sys.stdin.buffer.read()), os.read(0, 10))',
    stdin: '12345\n678\n',
    verdict: 'ok',
    stdout: "6 4 b''\n",
  },
  {
    what: 'open(0)',
    program: 'print(sum(map(int, open(0).read().split())))',
    stdin: '1 2\n3',
    verdict: 'ok',
    stdout: '6\n',
  },
  {
    what: 'iterating over sys.stdin',
    program: 'import sys\nprint([line.rstrip() for line in sys.stdin])',
    stdin: 'a\nb',
    verdict: 'ok',
    stdout: "['a', 'b']\n",
  },
  {
    what: 'Windows line ends',
    program: 'print([input(), input()])',
    stdin: 'a\r\nb\r\n',
    verdict: 'ok',
    stdout: "['a', 'b']\n",
  },
  { what: 'the end of the input', program: 'input()\ninput()', stdin: 'a\n', verdict: 'runtime_error' },
  {
    what: 'text beyond ASCII',
    program: "print(input(), '\\u00e9\\u4e2d')",
    stdin: 'ä€😀\n',
    verdict: 'ok',
    stdout: 'ä€😀 é中\n',
  },
  {
    what: '900 kB of output',
    program: "print('x' * 900_000)",
    verdict: 'ok',
    stdout: `${'x'.repeat(900_000)}\n`,
  },
  { what: 'too much output', program: "while True: print('x' * 100000)", verdict: 'output_limit' },
  { what: 'exit()', program: 'print(1)\nexit()\nprint(2)', verdict: 'ok', stdout: '1\n' },
  { what: 'sys.exit of a text', program: "import sys\nsys.exit('no')", verdict: 'runtime_error' },
  { what: 'os._exit', program: 'import os\nprint(1, flush=True)\nos._exit(0)', verdict: 'ok', stdout: '1\n' },
  {
    what: 'an exit handler',
    program: "import atexit\natexit.register(print, 'bye')\nprint('hi')",
    verdict: 'ok',
    stdout: 'hi\nbye\n',
  },
  {
    what: '__name__ and dataclasses',
    program:
      "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nif __name__ == '__main__':\n    print(A(1))",
    verdict: 'ok',
    stdout: 'A(x=1)\n',
  },
  {
    what: 'the default recursion limit',
    program:
      'def f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(990))\ntry:\n    f(1100)\nexcept RecursionError:\n    print(1)',
    verdict: 'ok',
    stdout: '990\n1\n',
  },
  {
    what: 'deep recursion',
    program:
      'import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(20000))',
    verdict: 'ok',
    stdout: '20000\n',
  },
  {
    what: 'recursion in a thread of its own',
    program:
      'import sys, threading\nsys.setrecursionlimit(10**6)\nthreading.stack_size(2**27)\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\ndef main(): print(f(50000))\nt = threading.Thread(target=main)\nt.start()\nt.join()',
    verdict: 'ok',
    stdout: '50000\n',
    native: true,
  },
  {
    what: 'a thread that outlives the main one',
    program:
      "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()\nprint('main')",
    verdict: 'ok',
    stdout: 'main\nlate\n',
    native: true,
  },
  {
    what: 'a child process',
    program:
      "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'print(6*7)'], capture_output=True, text=True).stdout)",
    verdict: 'ok',
    stdout: '42\n\n',
    native: true,
  },
  {
    what: 'multiprocessing',
    program:
      "import multiprocessing\nif __name__ == '__main__':\n    with multiprocessing.Pool(2) as pool:\n        print(pool.map(abs, [-1, -2]))",
    verdict: 'ok',
    stdout: '[1, 2]\n',
    native: true,
  },
  {
    what: 'recursion through C',
    program:
      'import sys\nfrom functools import cache\nsys.setrecursionlimit(10**6)\n@cache\ndef f(n): return 0 if n == 0 else 1 + f(n - 1)\nprint(f(9000))',
    verdict: 'ok',
    stdout: '9000\n',
  },
  {
    what: 'recursion through C as deep as the memory allows',
    program:
      'import sys\nsys.setrecursionlimit(10**6)\ndef f(n): return 0 if n == 0 else max([n], key=lambda x: f(x - 1))\nprint(f(80000))',
    verdict: 'ok',
    stdout: '80000\n',
    native: true,
  },
  {
    what: 'its own source',
    program:
      "import inspect, traceback\ndef f(): return 1 / 0\nprint(inspect.getsource(f).strip(), len(open(__file__).read()) > 100)\ntry: f()\nexcept ZeroDivisionError: print('return 1 / 0' in traceback.format_exc())",
    verdict: 'ok',
    stdout: 'def f(): return 1 / 0 True\nTrue\n',
  },
  {
    what: 'the size of its input',
    program: 'import os\nprint(os.read(0, os.fstat(0).st_size), os.environ["ONLINE_JUDGE"])',
    stdin: 'ab\ncd\n',
    verdict: 'ok',
    stdout: "b'ab\\ncd\\n' 1\n",
  },
  {
    what: 'an event loop',
    program:
      'import asyncio\nasync def late(n):\n    await asyncio.sleep(n / 100)\n    return n\nasync def main():\n    print(await asyncio.gather(late(2), late(1)))\nasyncio.run(main())\nasyncio.run(main())',
    verdict: 'ok',
    stdout: '[2, 1]\n[2, 1]\n',
  },
  {
    what: 'time zones of the machine',
    program:
      "from datetime import datetime\nfrom zoneinfo import ZoneInfo\nfor zone in ('Europe/Berlin', 'Asia/Kolkata'):\n    print(datetime(2024, 7, 1, tzinfo=ZoneInfo(zone)).utcoffset())",
    verdict: 'ok',
    stdout: '2:00:00\n5:30:00\n',
  },
  {
    what: 'limits that it raises, and an alarm that it does not wait for',
    program:
      'import resource, signal, sys\nresource.setrlimit(resource.RLIMIT_STACK, (1 << 26, resource.RLIM_INFINITY))\nsignal.signal(signal.SIGALRM, print)\nsignal.alarm(30)\nprint(resource.getrusage(resource.RUSAGE_SELF).ru_utime >= 0)',
    verdict: 'ok',
    stdout: 'True\n',
  },
  {
    what: 'a database and locks on files of its own',
    program:
      "import fcntl, os, sqlite3\nbase = sqlite3.connect('/tmp/base')\nbase.execute('create table t (x)')\nbase.execute('insert into t values (7)')\nbase.commit()\nfile = open('/tmp/file', 'w')\nfcntl.flock(file, fcntl.LOCK_EX)\nfcntl.lockf(file, fcntl.LOCK_EX)\nos.fsync(file.fileno())\nprint(sqlite3.connect('/tmp/base').execute('select x from t').fetchall())",
    verdict: 'ok',
    stdout: '[(7,)]\n',
    native: true,
  },
  { what: 'a syntax error', program: 'print(', verdict: 'compile_error' },
  { what: 'a null character', program: 'x = 1\0', verdict: 'compile_error' },
  { what: 'an exception', program: 'print(1)\n1 / 0', verdict: 'runtime_error', stdout: '1\n' },
  { what: 'a syntax error of the program itself', program: "exec('(')", verdict: 'runtime_error' },
  { what: 'an endless loop', program: 'while True: pass', verdict: 'timeout' },
  {
    what: 'too much memory',
    program: 'x = [0] * (10 ** 8)\ny = [1] * (10 ** 8)\nprint(len(x))',
    verdict: 'memory',
  },
]

for (const name of ['bwrap', 'pyodide'] as const) {
  test(`${name} runs programs as CPython does, and tells how they end`, async () => {
    const provider = await openProvider(name)
    if (!provider) return
    const executor = createExecutor({ provider })
    const cases = CASES.filter(({ native }) => !native || name === 'bwrap')
    const batch = cases.map(({ program, stdin = '\n' }) => ({
      program,
      stdins: [stdin, `${stdin}`],
      limits: LIMITS,
    }))
    const results = await runAll(executor, batch)
    for (const [i, { what, verdict, stdout }] of cases.entries())
      for (const result of results[i]) {
        assert.is(result.verdict, verdict, `${what}: ${result.stderrTail}`)
        if (stdout !== undefined) assert.is(result.stdout, stdout, what)
      }
    await executor.close()
  })
}

test('200 mutants get the same verdict in bwrap and in plain CPython, 50 of them in pyodide', async () => {
  const inPyodide = process.env.RL_ALL_ATTACKS === '1' ? 200 : 50
  if (inPyodide < 200)
    process.stdout.write(`SKIP all but ${inPyodide} mutants in pyodide: RL_ALL_ATTACKS=1 runs the others\n`)
  const providers: Provider[] = []
  // Pyodide runs a part of the mutants, so it comes last: the first one is what the others are compared with.
  for (const name of ['process', 'bwrap', 'pyodide'] as const) {
    const provider = await openProvider(name)
    if (provider) providers.push(provider)
  }
  const problems = await mutantProblems()
  const requests = Array.from({ length: 200 }, (_, i) => {
    const problem = problems[(i * 7) % problems.length]
    const { program } = mutate(problem.solutions[0], seedOf(7, i))
    return { problem: { ...problem, limits: LIMITS }, program, tests: problem.tests.slice(0, 2) }
  })
  const tables = []
  for (const provider of providers) {
    const executor = createExecutor({ provider })
    tables.push(
      (await grade(executor, provider.name === 'pyodide' ? requests.slice(0, inPyodide) : requests)).map(
        (row) => row.map(({ passed, result }) => [passed, result]),
      ),
    )
    await executor.close()
  }
  const [first, ...others] = tables
  const failing = first.filter((row) => row.some(([passed]) => passed === false)).length
  assert.ok(failing > 0.3 * first.length, `only ${failing} of ${first.length} mutants fail a test`)
  for (const [k, table] of others.entries())
    for (const [i, row] of table.entries())
      for (const [j, [passed, result]] of row.entries()) {
        const [expected, other] = first[i][j]
        const place = `${requests[i].program}\n--- ${providers[k + 1].name} ${JSON.stringify(result)} ${JSON.stringify(other)}`
        assert.is(passed, expected, place)
        if (typeof result === 'object' && result && typeof other === 'object' && other)
          assert.is(result.verdict, other.verdict, place)
      }
})

test('the input of a test is no memory of its program', async () => {
  const provider = await openProvider('bwrap')
  if (!provider) return
  const executor = createExecutor({ provider })
  const program = 'import sys, time\ntime.sleep(0.1)\nprint(sum(len(line) for line in sys.stdin))'
  const stdins = [`${'x'.repeat(999)}\n`.repeat(40_000)]
  const limits = { ...LIMITS, memoryMB: 64, wallMs: 60_000 }
  const [[{ verdict, stdout }]] = await runAll(executor, [{ program, stdins, limits }])
  await executor.close()
  assert.equal([verdict, stdout], ['ok', '40000000\n'])
})

/** The public problems where they are at hand, else generated ones. */
async function mutantProblems() {
  const file = '../shared/data/coding/mbpp_stdio_train.jsonl'
  try {
    return (await loadProblems([file])).problems.slice(0, 200)
  } catch {
    process.stdout.write(`SKIP mutants of public problems: ${file} is not there; generated ones instead\n`)
    return drawRecipes({ split: 'train', count: 200, maxLevel: 9, seed: 3 }).map(problemOf)
  }
}

test.run()
