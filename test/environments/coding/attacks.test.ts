import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { ATTACK_SECRET, ATTACKS, runAttacks } from '../../../src/environments/coding/attacks.ts'
import { createExecutor } from '../../../src/environments/coding/executor.ts'
import { openProvider } from './sandboxes.ts'

/** Names that the attacks write, and that the providers use. */
const OURS = /^(rl-attack|rl-program-.*|rl-coding-.*|file\d+|note|d)$/

/**
 * What must be as before: the children of this process, the files of the attacks, and its control groups, which
 * can be removed only when no process is left in them.
 */
function traces() {
  const groups = ['memory', 'pids'].flatMap((controller) => list(`/sys/fs/cgroup/${controller}`, true))
  return {
    children: childrenOf(process.pid),
    files: [tmpdir(), '/dev/shm', '/', '/usr', '/root'].flatMap((folder) =>
      list(folder).filter((name) => OURS.test(name)),
    ),
    groups: groups.filter((name) => name.includes(`rl-coding-${process.pid}-`)),
  }
}

/** What the descriptors of this process lead to: pipes and sockets have a number of their own. */
function descriptors(): readonly string[] {
  return list('/proc/self/fd').flatMap((name) => {
    try {
      return [readlinkSync(`/proc/self/fd/${name}`)]
    } catch {
      return [] // the one that the folder was read with
    }
  })
}

function list(folder: string, recursive = false): string[] {
  try {
    return readdirSync(folder, { recursive, encoding: 'utf8' })
  } catch {
    return []
  }
}

function childrenOf(pid: number): number {
  return readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid).length
}

function parentOf(pid: string): number {
  try {
    const [, fields] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    return Number(fields.split(' ')[1])
  } catch {
    return 0
  }
}

for (const name of ['bwrap', 'pyodide'] as const) {
  test(`${name} contains ${ATTACKS.length} attacks and leaves nothing behind`, async () => {
    assert.ok(ATTACKS.length >= 20)
    const before = traces()
    // The first process that Node starts makes it open pipes for itself, how many depends on its version.
    const first = await openProvider(name)
    if (!first) return
    await first.close()
    const opened = descriptors()
    const provider = await openProvider(name)
    if (!provider) return
    let connections = 0
    const server = createServer((socket) => {
      connections++
      socket.destroy()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    const port = typeof address === 'object' && address ? address.port : 0
    process.env[ATTACK_SECRET] = 'a secret'
    const executor = createExecutor({ provider })
    const escaped: string[] = []
    for await (const { attack, contained, result } of runAttacks(executor, port)) {
      process.stdout.write(
        `${name} ${contained ? 'contained' : 'ESCAPED'} ${attack.name} (${result.verdict}): ${attack.what}\n`,
      )
      if (!contained) escaped.push(`${attack.name}: ${JSON.stringify(result)}`)
    }
    await executor.close()
    delete process.env[ATTACK_SECRET]
    await new Promise((resolve) => server.close(resolve))
    assert.equal(escaped, [])
    assert.is(connections, 0)
    assert.equal(traces(), before)
    assert.equal(
      descriptors().filter((target) => !opened.includes(target)),
      [],
    )
  })
}

test.run()
