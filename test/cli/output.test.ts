/** Whoever watches may go, stop reading, or have a full disk: runs go on, and commands end without a trace. */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { eventsBelow } from '../support/logged.ts'
import { temporaryFolder, until } from '../support/run.ts'
import { SETTINGS } from '../support/simulated-run.ts'

const root = temporaryFolder()
const shells = spawnSync('bash', ['-c', 'true']).status === 0 && existsSync('/dev/full')

function shell(line: string) {
  const env = { ...process.env, RL_RUNS: root, NODE: process.execPath }
  return spawnSync('bash', ['-c', line], { encoding: 'utf8', env })
}

function watched(name: string, body: () => void): void {
  test(name, () => (shells ? body() : console.log('SKIP there is no bash or no /dev/full')))
}

const settings = [...SETTINGS, 'run.iterations=1'].map((setting) => `--set '${setting}'`).join(' ')

for (const [run, rest] of [
  ['both-go', '2>&1 | head -1 > /dev/null'],
  ['full-disk', '> /dev/full 2> /dev/full'],
] as const)
  watched(`a run does not depend on who watches (${run})`, () => {
    const { stderr } = shell(
      `"$NODE" src/main.ts --role head --config config/co-trained.yaml --run ${run} ${settings} ${rest}`,
    )
    assert.not.match(stderr, /Error|at .*node:/)
    assert.is(eventsBelow(root)(run, ['RunCompleted']).length, 1)
  })

watched('a command whose reader goes ends in silence, and one without room says so on one line', () => {
  const exported = '"$NODE" src/rl.ts log both-go export --jsonl'
  assert.equal(shell(`${exported} | head -1 | wc -l`).stderr, '')
  for (const command of [exported, '"$NODE" src/rl.ts --help']) {
    const full = shell(`${command} > /dev/full`)
    assert.is(full.status, 1, command)
    assert.match(full.stderr, /^rl: standard output cannot be written: ENOSPC[^\n]*\n$/)
    assert.not.match(shell(`${command} > /dev/full 2> /dev/full`).stderr, /./)
  }
  const file = shell(`${exported} -o /dev/full`)
  assert.is(file.status, 1)
  assert.match(file.stderr, /^rl: [^\n]*ENOSPC[^\n]*\n$/)
})

watched('a server of a setting goes on if its reader goes', () => {
  const module = join(temporaryFolder(), 'speaker.mjs')
  const after = join(temporaryFolder(), 'after')
  writeFileSync(
    module,
    `import { writeFileSync } from 'node:fs'
const run = async () => {
  for (let n = 0; n < 40; n++) {
    process.stdout.write('x'.repeat(10_000) + '\\n')
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  writeFileSync(${JSON.stringify(after)}, 'served')
  return 0
}
const acting = { kind: 'texts' }
export const setting = { name: 'speaker', summary: 'speaks', acting, open: () => ({}), commands: { serve: { help: 'rl speaker serve', serves: true, run }, say: { help: 'rl speaker say', run } } }
`,
  )
  shell(`"$NODE" src/rl.ts ${module} say | head -c 10 > /dev/null`)
  assert.not.ok(existsSync(after), 'a command that tells ends')
  const { stderr } = shell(`"$NODE" src/rl.ts ${module} serve | head -c 10 > /dev/null`)
  assert.ok(existsSync(after), stderr)
})

test('a reader that stops does not hold what a head does, and has what fits when it goes on', async () => {
  const done = join(temporaryFolder(), 'done')
  const source = `
    const { openDisplay } = await import('./src/actors/head/terminal/display.ts')
    const display = openDisplay({ iterations: 1, simulated: false })
    for (let n = 0; n < 40_000; n++) display.say('line ' + n + ' ' + 'x'.repeat(100))
    const { writeFileSync } = await import('node:fs')
    writeFileSync(process.argv[1], '')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source, done], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await until('it is done', () => existsSync(done))
  let text = ''
  for await (const chunk of child.stdout) text += chunk
  assert.match(text, /^line 0 x/)
  assert.ok(text.length > 1_000_000)
})

test.run()
