import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { seedOf } from 'rlanything/environments'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { codingEnvironment } from '../src/environment.ts'
import { createExecutor, type Executor, runAll } from '../src/executor.ts'
import { grade } from '../src/grade.ts'
import { STDIO } from '../src/problem.ts'
import { DEFAULT_LIMITS, type Language, languageOf } from '../src/provider.ts'
import { createPyodideProvider } from '../src/providers/pyodide.ts'
import { isClean, tryProgram } from '../src/trial.ts'
import { openProvider } from './sandboxes.ts'

const provider = await openProvider('bwrap')
const executor = provider && createExecutor({ provider })
test.after(() => executor?.close())

/** Runs the body where bwrap works and has the language. */
function inLanguage(name: string, language: Language, body: (executor: Executor) => Promise<void>): void {
  test(name, async () => {
    if (!executor) return
    if (executor.provider.languages?.includes(language)) await body(executor)
    else process.stdout.write(`SKIP ${name}: ${language} is not installed\n`)
  })
}

async function run(on: Executor, language: Language, program: string, ...stdins: string[]) {
  const limits = { ...DEFAULT_LIMITS, cpuMs: 2000, wallMs: 60_000 }
  const [results] = await runAll(on, [{ program, language, stdins, limits }])
  return results
}

const verdictsOf = async (on: Executor, language: Language, program: string) =>
  (await run(on, language, program, 'x\n')).map(({ verdict }) => verdict)

const JS_SUM = `const [a, b] = require('node:fs').readFileSync(0, 'utf8').split(' ').map(Number)
console.log(a + b)
`
const CPP_SUM =
  '#include <iostream>\nint main() { long a, b; std::cin >> a >> b; std::cout << a + b << "\\n"; }\n'

inLanguage('JavaScript is run by the Node that runs this', 'javascript', async (on) => {
  const results = await run(on, 'javascript', JS_SUM, '19 23\n', '1 2\n')
  assert.equal(
    results.map(({ verdict, stdout }) => [verdict, stdout]),
    [
      ['ok', '42\n'],
      ['ok', '3\n'],
    ],
  )
  const [module] = await run(
    on,
    'javascript',
    "import { readFileSync } from 'node:fs'\nconsole.log(readFileSync('/dev/stdin', 'utf8').trim())\n",
    'as a module\n',
  )
  assert.is(module.stdout, 'as a module\n')
})

inLanguage('C++ is compiled once for all tests of a program', 'cpp', async (on) => {
  const results = await run(on, 'cpp', CPP_SUM, '19 23\n', '1 2\n')
  assert.equal(
    results.map(({ stdout }) => stdout),
    ['42\n', '3\n'],
  )
})

inLanguage(
  'JavaScript recurs as deep as its memory allows, and is told where that ends',
  'javascript',
  async (on) => {
    const program = `const depth = (n) => (n === 0 ? 0 : 1 + depth(n - 1))
console.log(depth(200000), [1, 2].reduce((sum) => sum + depth(1000), 0))
try { (function endless() { return 1 + endless() })() } catch (error) { console.log(error.name) }
`
    const [{ verdict, stdout }] = await run(on, 'javascript', program, '')
    assert.equal([verdict, stdout], ['ok', '200000 2000\nRangeError\n'])
  },
)

inLanguage('process.exit cuts nothing that JavaScript has printed', 'javascript', async (on) => {
  const program = `for (let i = 0; i < 9; i++) console.log('x'.repeat(50000))
process.stderr.write('y'.repeat(100000) + 'end')
process.exit(0)
`
  const [{ verdict, stdout, stderrTail }] = await run(on, 'javascript', program, '')
  assert.equal([verdict, stdout.length, stderrTail.slice(-4)], ['ok', 9 * 50001, 'yend'])
})

inLanguage('C++ is compiled as judges do, with ONLINE_JUDGE', 'cpp', async (on) => {
  const program = `#include <bits/stdc++.h>
#ifdef ONLINE_JUDGE
int main() { int values[3] = {3, 1, 2}; qsort(values, 3, sizeof(int), [](const void* a, const void* b) { return *(int*)a - *(int*)b; }); printf("%d %d %s\\n", values[0], values[2], getenv("ONLINE_JUDGE")); }
#else
int main() { freopen("input.txt", "r", stdin); return 1; }
#endif
`
  const [{ verdict, stdout, stderrTail }] = await run(on, 'cpp', program, '')
  assert.equal([verdict, stdout], ['ok', '1 3 1\n'], stderrTail)
})

inLanguage('C++ recurs as deep as its memory allows', 'cpp', async (on) => {
  // Each frame is looked into by the next one, so that no optimizer makes a loop of it.
  const program = `#include <cstdio>
int sum(int n, volatile int* above) { volatile int room[16]; room[0] = n; return n == 0 ? above[0] - 1 : room[0] % 2 + sum(n - 1, room); }
int main() { volatile int first = 0; printf("%d\\n", sum(1000000, &first)); }
`
  const [deep] = await run(on, 'cpp', program, '\n')
  assert.is(deep.stdout, '500000\n', JSON.stringify(deep))
  assert.ok(deep.peakKB > 16 << 10, `${deep.peakKB} kB`)
})

const ENDS: readonly (readonly [Language, string, string])[] = [
  ['javascript', 'console.log(', 'compile_error'],
  ['javascript', 'throw new Error("no")', 'runtime_error'],
  ['javascript', 'for (;;) {}', 'timeout'],
  ['javascript', 'const held = []\nfor (;;) held.push(new Array(1e6).fill(1))', 'memory'],
  ['javascript', 'process.stdout.write("x".repeat(3e6))', 'output_limit'],
  ['cpp', 'int main() { return', 'compile_error'],
  ['cpp', '#include "/etc/hostname"\nint main() {}', 'compile_error'],
  ['cpp', '#include "/dev/zero"\nint main() {}', 'compile_error'],
  ['cpp', 'template <int N> struct A { A<N + 1> a; }; int main() { A<0> a; }', 'compile_error'],
  ['cpp', 'int main() { int* p = nullptr; *p = 1; }', 'runtime_error'],
  ['cpp', 'int main() { for (;;); }', 'timeout'],
  [
    'cpp',
    'int main() { for (;;) { volatile char* p = new char[1 << 20]; for (int i = 0; i < 1 << 20; i += 4096) p[i] = 1; } }',
    'memory',
  ],
]
for (const [language, program, verdict] of ENDS)
  inLanguage(
    `${language}: ${JSON.stringify(program.slice(0, 50))} ends as ${verdict}`,
    language,
    async (on) => {
      assert.equal(await verdictsOf(on, language, program), [verdict])
    },
  )

const JS_ATTACKS: Readonly<Record<string, string>> = {
  'looks for the answer in other processes and files': `const fs = require('node:fs')
for (const place of ['/proc', '/', '/tmp', '/box', '/opt', '/dev/shm']) try { console.log(fs.readdirSync(place)) } catch {}
try { console.log(fs.readFileSync('/proc/1/environ', 'utf8')) } catch {}`,
  'ends everything': 'for (const pid of [-1, 0, 1, 2, process.ppid]) try { process.kill(pid, 9) } catch {}',
  'forks without end':
    "const { spawn } = require('node:child_process')\nfor (;;) spawn('/opt/node', ['-e', 'for (;;);'], { detached: true, stdio: 'ignore' })",
  'leaves a file for the next': "require('node:fs').writeFileSync('/tmp/left', 'x'.repeat(1e6))",
  'goes out': "require('node:net').connect(4222, '127.0.0.1').on('error', () => {})",
}
for (const [what, program] of Object.entries(JS_ATTACKS))
  inLanguage(`a JavaScript program that ${what} is contained`, 'javascript', async (on) => {
    const trial = await tryProgram(on, program, 'javascript')
    assert.not(trial.passed)
    assert.is(trial.canariesFailed, 0)
    assert.ok(isClean(trial.leftBehind), JSON.stringify(trial.leftBehind))
  })

inLanguage('the same text in another language is another program', 'javascript', async (on) => {
  const text = '1 // 1\n'
  const [[first], [second]] = await runAll(on, [
    { program: text, stdins: [''], limits: DEFAULT_LIMITS },
    { program: text, language: 'javascript', stdins: [''], limits: DEFAULT_LIMITS },
  ])
  assert.is(first.verdict, 'ok')
  assert.is(second.verdict, 'ok')
  assert.is(on.counts.reused, 0)
})

inLanguage(
  'a test that calls a Python function fails a program in another language',
  'javascript',
  async (on) => {
    const call = { kind: 'json', name: 'f', prelude: '' } as const
    const problem = { limits: DEFAULT_LIMITS, comparator: { kind: 'tokens' }, call } as const
    const tests = [{ input: '1\n', output: '1' }]
    const [[graded]] = await grade(on, [{ problem, program: JS_SUM, language: 'javascript', tests }])
    assert.is(graded.passed, false)
    assert.match(graded.result.stderrTail, 'calls a function in Python')
    const printed = { ...problem, call: STDIO }
    const [[right]] = await grade(on, [
      { problem: printed, program: JS_SUM, language: 'javascript', tests: [{ input: '1 2', output: '3' }] },
    ])
    assert.is(right.passed, true)
  },
)

test('a sandbox that has Python alone refuses other languages by name', async () => {
  const alone = createExecutor({ provider: await createPyodideProvider({ concurrency: 1 }) })
  try {
    await runAll(alone, [{ program: JS_SUM, language: 'javascript', stdins: [''], limits: DEFAULT_LIMITS }])
    assert.unreachable()
  } catch (error) {
    assert.match((error as Error).message, /pyodide runs no javascript, only python/)
  } finally {
    await alone.close()
  }
})

inLanguage(
  'environment.coding.language: programs are asked for, read and graded in it',
  'cpp',
  async (on) => {
    const folder = mkdtempSync(join(tmpdir(), 'rl-languages-'))
    const file = join(folder, 'problems.jsonl')
    const record = {
      id: 'set/1',
      question: 'Add the two numbers.',
      test_input: ['1 2\n', '19 23\n'],
      test_output: ['3', '42'],
      reference_solution: 'print(sum(map(int, input().split())))',
    }
    writeFileSync(file, `${JSON.stringify(record)}\n`)
    const source = { kind: 'files', paths: [file] } as const
    const environment = codingEnvironment({ source, executor: on, language: 'cpp' })
    const [task] = await environment.tasks('train')
    assert.equal(await environment.validate(task), { ok: true })
    const episode = await environment.reset(task, { seed: seedOf(1), maxSteps: 1 })
    assert.match(episode.turn.observation, 'Write the program in C++')
    const outcomeOf = async (answer: string) => (await environment.settle(episode.step(answer))).outcome()
    assert.is(await outcomeOf(`So:\n\`\`\`cpp\n${CPP_SUM}\`\`\``), 1)
    assert.is(await outcomeOf(`\`\`\`python\n${record.reference_solution}\n\`\`\``), 0)
    const [grades] = await environment.runTests(
      task,
      [`\`\`\`cpp\n${CPP_SUM}\`\`\``],
      [{ input: '5 6', output: '11' }],
    )
    assert.is(grades[0].passed, true)
    rmSync(folder, { recursive: true })
  },
)

test('the ending of a file tells the language', () => {
  const languages = ['a.py', 'a', 'a.js', 'b.mjs', 'c.cpp', 'd.cc'].map(languageOf)
  assert.equal(languages, ['python', 'python', 'javascript', 'javascript', 'cpp', 'cpp'])
})

test.run()
