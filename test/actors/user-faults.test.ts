/** What a process of a role still says when a user's code takes its loop, or throws where nobody waits. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder } from '../support/run.ts'

const folder = temporaryFolder()
const urlOf = (path: string) => JSON.stringify(pathToFileURL(path).href)

function script(name: string, text: string): string {
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

test('a call that holds the loop of its process is told by a thread beside it', async () => {
  const file = script(
    'holds.ts',
    `import { watchHeld } from ${urlOf('src/actors/runtime/held.ts')}
import { callNow } from ${urlOf('src/user-code.ts')}
watchHeld(200)
setTimeout(() => {
  const call = { file: 'mine.ts', part: "step('left')", about: ["task 'a'", 'step 2'], code: 'x', hint: '' }
  callNow(call, () => { for (;;); })
}, 50)
`,
  )
  const held = startProcess([file])
  const told = new Promise<void>((resolve) => held.process.stderr?.on('data', () => resolve()))
  await told
  held.process.kill('SIGKILL')
  assert.match(
    held.output(),
    /held for 0 s; the last call of a user's code: mine\.ts: step\('left'\) \(task 'a', step 2\)/,
  )
})

test('what is thrown where nobody waits ends the process, with its place as the last line', async () => {
  const theirs = script(
    'theirs.mjs',
    "export const later = () => setTimeout(() => { throw new Error('too late') }, 1)\n",
  )
  const file = script(
    'throws.ts',
    `import { nameUncaught } from ${urlOf('src/actors/runtime/log-user-faults.ts')}
import { later } from ${urlOf(theirs)}
nameUncaught()
later()
`,
  )
  const thrown = startProcess([file])
  assert.is(await thrown.status, 1)
  const last = thrown.output().trim().split('\n').at(-1) ?? ''
  assert.match(last, /thrown where nobody waits for it: .*theirs\.mjs:1:\d+: too late/)
})

test.run()
