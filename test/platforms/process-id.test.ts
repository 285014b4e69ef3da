/** Who a process is, seen from its own container and from another one. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  isAbandoned,
  lifeOf,
  type ProcessId,
  parseProcess,
  processText,
  THIS_PROCESS,
} from '../../src/platform/process-id.ts'

const MODULE = new URL('../../src/platform/process-id.ts', import.meta.url).href
const TELL = `const { THIS_PROCESS, lifeOf, processText } = await import('${MODULE}'); console.log(processText(THIS_PROCESS), lifeOf(THIS_PROCESS))`
const linux = process.platform === 'linux'

/** What a process in a PID namespace of its own tells; null if there can be none here. */
function inNamespace(...more: readonly string[]): ProcessId | null {
  const words = ['--pid', '--fork', ...more, process.execPath, '--input-type=module', '-e', TELL]
  const { status, stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8' })
  if (status !== 0) {
    console.log(`SKIP no PID namespace: ${stderr?.trim() || 'unshare is missing'}`)
    return null
  }
  const [text, life] = stdout.trim().split(' ')
  assert.is(life, 'lives', 'it lives, seen by itself')
  return parseProcess(text)
}

test('a process lives until it ends; its number alone does not stand for it', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', `${TELL}; setInterval(() => {}, 1000)`])
  const [told] = await once(child.stdout, 'data')
  const id = parseProcess(String(told).split(' ')[0])!
  assert.equal([id.place, id.pid], [THIS_PROCESS.place, child.pid])
  assert.is(lifeOf(id), 'lives')
  if (linux)
    assert.is(lifeOf({ ...id, start: `${Number(id.start) - 1}` }), 'ended', 'the number is used again')
  assert.is(lifeOf({ ...id, start: '' }), 'lives', 'whose start is not known has its number')
  assert.is(lifeOf({ ...id, place: '0123456789abcdef' }), 'unknown')
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.is(lifeOf(id), 'ended')
})

test('a process that ended and that nobody has asked for has ended', async () => {
  if (!linux) return console.log('SKIP no /proc')
  const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 60'])
  const [told] = await once(parent.stdout, 'data')
  const id = { ...THIS_PROCESS, pid: Number(told), start: '' }
  const isOver = () =>
    parseProcess(processText(id)) !== null && lifeOf({ ...id, start: startOf(id.pid) }) === 'ended'
  while (!isOver()) await new Promise((resolve) => setImmediate(resolve))
  parent.kill('SIGKILL')
})

function startOf(pid: number): string {
  const { stdout } = spawnSync('cat', [`/proc/${pid}/stat`], { encoding: 'utf8' })
  return stdout.slice(stdout.lastIndexOf(')') + 2).split(' ')[19]
}

for (const [name, ...more] of [
  ['a container', '--mount-proc'],
  ['a namespace that sees the numbers around it'],
])
  test(`${name} is another place: nobody tells from here whether its processes live`, () => {
    const other = inNamespace(...more)
    if (other === null) return
    assert.is(other.pid, 1)
    assert.is.not(other.place, THIS_PROCESS.place)
    assert.is(lifeOf(other), 'unknown')
    assert.is.not(inNamespace(...more)?.place, undefined)
  })

test('what a process holds is free if it has ended, or after a lease if nobody can look', () => {
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  const gone = { ...THIS_PROCESS, pid }
  const elsewhere = { ...THIS_PROCESS, place: '0123456789abcdef' }
  assert.equal(
    [gone, THIS_PROCESS, elsewhere, null].map((holder) =>
      [1, 1e9].map((ms) => isAbandoned(holder, ms, 1_000)),
    ),
    [[true, true], [false, false], [false, true], [false, true]], // biome-ignore format: a table
  )
})

test('a process reads as it is written, and nothing else is one', () => {
  assert.equal(parseProcess(processText(THIS_PROCESS)), THIS_PROCESS)
  for (const text of [undefined, '', 'host-1-2', '0123456789abcdef-x-1', `${processText(THIS_PROCESS)}-1`])
    assert.is(parseProcess(text), null)
})

test.run()
