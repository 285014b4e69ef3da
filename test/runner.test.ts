/** The runner of tests, in a folder with test files of its own. */
import { spawnSync } from 'node:child_process'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder } from './support/run.ts'

const root = temporaryFolder()
mkdirSync(join(root, 'test'))
writeFileSync(join(root, 'package.json'), '{"type":"module"}')
symlinkSync(resolve('node_modules'), join(root, 'node_modules'))
const cases = "test('a', () => {})\ntest('b', () => {})\ntest.run()\n"
writeFileSync(join(root, 'test/whole.test.ts'), `import { test } from 'uvu'\n${cases}`)
const only = cases.replace("test('a'", "test.only('a'")
writeFileSync(join(root, 'test/part.test.ts'), `import { test } from 'uvu'\n${only}`)

function run(...patterns: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [...process.execArgv, resolve('scripts/test.ts'), ...patterns],
    { cwd: root, encoding: 'utf8' },
  )
  return { status, output: stdout + stderr }
}

test('a pattern that no file has is named, and the others run', () => {
  const { status, output } = run('nosuchname', 'whole')
  assert.is(status, 1)
  assert.match(output, /no path of a test file holds 'nosuchname'/)
  assert.match(output, /\n2 passed, 0 failed\n/)
  assert.match(run('whle').output, /holds 'whle' - did you mean 'whole'\?/)
  assert.is(run('whole').status, 0)
})

test('a file with only is refused, since its other cases would not run', () => {
  const { status, output } = run('part')
  assert.is(status, 1)
  assert.match(output, /FAIL test\/part\.test\.ts {2}0 passed/)
  assert.match(output, /test\/part\.test\.ts: test\.only leaves out the other cases/)
})

test.run()
