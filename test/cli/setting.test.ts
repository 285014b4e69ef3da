/** Commands that a setting of a user's brings along, in a folder of their own. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { temporaryFolder } from '../support/run.ts'

const folder = temporaryFolder()
const MINE = `export const setting = {
  name: 'mine',
  summary: 'guess a number',
  open: () => ({ tasks: async () => [], reset: async () => { throw new Error('none') } }),
  doctor: async () => ({ check: 'dice', result: 'ok', detail: 'six sides', advice: null }),
  commands: {
    check: {
      help: 'rl mine check [--most N] FILE...\\n\\nCounts files.',
      options: { most: { type: 'string', default: '3' } },
      positionals: true,
      async run({ values, positionals }) {
        console.log(\`most=\${values.most} files=\${positionals.length}\`)
        return positionals.length > Number(values.most) ? 1 : 0
      },
    },
  },
}
`
writeFileSync(join(folder, 'mine.ts'), MINE)

type Ended = { readonly status: number; readonly output: string }

function rl(...words: string[]): Promise<Ended> {
  const argv = [resolve('src/rl.ts'), ...words]
  return new Promise((done) => {
    execFile(process.execPath, argv, { cwd: folder }, (error, stdout, stderr) =>
      done({ status: error ? Number(error.code) : 0, output: stdout + stderr }),
    )
  })
}

test('they are found by the path of the module', async () => {
  assert.equal(await rl('./mine.ts', 'check', 'a', '--most', '2'), { status: 0, output: 'most=2 files=1\n' })
  assert.is((await rl('./mine.ts', 'check', 'a', 'b', 'c', 'd')).status, 1)
})

test('they are found by the name of the setting where config.yaml names its module', async () => {
  assert.match((await rl('mine', 'check')).output, /there is no command 'mine'/)
  writeFileSync(join(folder, 'config.yaml'), 'environment: { module: ./mine.ts }\n')
  assert.equal(await rl('mine', 'check', 'a'), { status: 0, output: 'most=3 files=1\n' })
  assert.match(
    (await rl('mine', '--help')).output,
    /rl mine check \[--most N\] FILE\.\.\.\n\nrl mine <command>/,
  )
  assert.match((await rl('mine', 'check', '--help')).output, /Counts files/)
  assert.match((await rl('doctor')).output, /ok {4}dice +six sides/)
})

test('wrong words and a command without a function are told by name', async () => {
  assert.equal(await rl('mine', 'dance'), {
    status: 2,
    output: "rl: there is no command 'mine dance' - rl mine --help lists them\n",
  })
  assert.match((await rl('mine', 'check', '--least', '2')).output, /Unknown option '--least'/)
  writeFileSync(join(folder, 'broken.ts'), MINE.replace('async run(', 'async walk('))
  assert.match(
    (await rl('./broken.ts', 'check')).output,
    /broken\.ts: setting\.commands\.check\.run: expected a function/,
  )
})

test.run()
