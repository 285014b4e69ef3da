import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { withDescendants } from '../../src/platform/control-group.ts'

test('a process is named with its children, and one that has ended alone', async () => {
  if (process.platform !== 'linux') {
    process.stdout.write('SKIP descendants: there is no /proc here\n')
    return
  }
  const shell = spawn('/bin/sh', ['-c', 'sleep 60 & echo $!; read line; kill $!'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const [child] = await once(shell.stdout, 'data')
  assert.equal(withDescendants(shell.pid as number), [shell.pid, Number(child)])
  shell.stdin.end('\n')
  await once(shell, 'exit')
  const { pid } = spawnSync('/bin/sh', ['-c', 'true'])
  assert.equal(withDescendants(pid), [pid])
})

test.run()
