import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { explain } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { selfTest } from '../src/choose.ts'
import { createBwrapProvider } from '../src/providers/bwrap.ts'

const folder = mkdtempSync(join(tmpdir(), 'rl-cli-test-'))
const file = join(folder, 'problems.jsonl')
const problem = (id: string, solution: string) => ({
  id,
  question: 'Add one.',
  test_input: ['1\n', '2\n'],
  test_output: ['2', '3'],
  reference_solution: solution,
})
const write = (...records: object[]) =>
  writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(''))

function rl(...words: string[]): Promise<{ status: number; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['src/rl.ts', 'coding', ...words], (error, stdout, stderr) => {
      resolve({ status: error ? Number(error.code) : 0, output: stdout + stderr })
    })
  })
}

async function isBwrapHere(): Promise<boolean> {
  try {
    const provider = await createBwrapProvider()
    await selfTest(provider)
    await provider.close()
    return true
  } catch (error) {
    process.stdout.write(`SKIP rl coding in bwrap: ${explain(error)}\n`)
    return false
  }
}

test('check counts problems, tests and failures, and ends with 1 where there are any', async () => {
  if (!(await isBwrapHere())) return
  write(problem('a', 'print(int(input()) + 1)'))
  const right = await rl('check', '--data', file)
  assert.match(right.output, /problems=1 tests=2 failed=0\n$/)
  assert.is(right.status, 0)
  write(problem('a', 'print(int(input()) + 1)'), problem('b', 'print(2)'))
  const wrong = await rl('check', '--data', file, '--provider', 'bwrap')
  assert.match(wrong.output, /b test 2: ok; input "2\\n" expected "3" got "2\\n"/)
  assert.match(wrong.output, /problems=2 tests=4 failed=1\n$/)
  assert.is(wrong.status, 1)
  const program = join(folder, 'program.py')
  writeFileSync(program, 'print(3)')
  const one = await rl('run', '--data', file, '--id', 'b', '--program', program, '--json')
  assert.equal(
    one.output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).passed),
    [false, true],
  )
})

test('what a program prints, and what stands in a file, steers no terminal', async () => {
  if (!(await isBwrapHere())) return
  write(problem('a\u009d0;x\u0007', 'print(0)'), { id: 'b\u202e', question: 'q', test_input: [] })
  const program = join(folder, 'program.py')
  writeFileSync(
    program,
    "import sys\nfor one in (sys.stdout, sys.stderr):\n    one.write('\\x9b2J\\x85\\u2067\\u200f\\x1b[31m\\n')",
  )
  for (const words of [
    ['run', '--data', file, '--id', 'a\u009d0;x\u0007', '--program', program],
    ['run', '--data', file, '--id', 'a\u009d0;x\u0007', '--program', program, '--json'],
    ['check', '--data', file],
    ['check', '--data', file, '--mutants'],
  ]) {
    const { output } = await rl(...words)
    assert.not.match(output, /[^\P{Cc}\n\t]|\p{Bidi_Control}/u, words[0])
  }
})

test('wrong calls and damaged files are told in one line', async () => {
  write({ ...problem('a', ''), test_output: ['1'] })
  for (const [words, status, message] of [
    [['check'], 2, /--data|action/],
    [['bogus'], 2, /no command 'coding bogus'/],
    [['check', '--data', file, '--provider', 'magic'], 2, /magic/],
    [['check', '--data', file, '--provider', 'process'], 1, /--allow-unsafe/],
    [
      ['check', '--data', file, '--provider', 'process', '--allow-unsafe'],
      1,
      /:1: test: 2 inputs and 1 outputs/,
    ],
  ] as const) {
    if (words.includes('check' as never) && words.length === 1 && !(await isBwrapHere())) continue
    const { status: ended, output } = await rl(...words)
    assert.match(output, message)
    assert.is(ended, status, output)
  }
})

test('hostile programs in a language that the sandbox does not run are told and left out', async () => {
  const files = ['a.js', 'b.py'].map((name) => join(folder, name))
  for (const name of files) writeFileSync(name, 'print(1)')
  const { status, output } = await rl(
    ...['attack', '--provider', 'process', '--allow-unsafe', '--program', ...files],
  )
  assert.match(output, /a\.js","status":"skipped","reason":"the sandbox process runs no javascript"/)
  assert.match(output, /^attacks=1 passed=0 canaries_failed=0 left_behind=0$/m)
  assert.is(status, 0)
})

test('a sample of the public reference solutions passes', async () => {
  const data = '../shared/data/coding/humaneval_stdio.jsonl'
  if (!existsSync(data)) {
    process.stdout.write(`SKIP public problems: ${data} is not there\n`)
    return
  }
  if (!(await isBwrapHere())) return
  const { output } = await rl('check', '--data', data, '--tests', '2')
  assert.match(output, /problems=150 tests=\d+ failed=0\n$/)
})

test.after(() => rmSync(folder, { recursive: true }))
test.run()
