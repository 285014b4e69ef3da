import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { codesOf, isOtherCode, openCodeCheck } from '../../../src/actors/head/other-code.ts'
import { startActor } from '../../../src/actors/runtime/actor.ts'
import type { LoggedEvent } from '../../../src/events/catalogue.ts'
import { codeDigest, packageVersion } from '../../../src/package.ts'
import { startTestHead } from '../../support/run.ts'
import { environmentWorker, runStarted } from '../../support/toy.ts'

const own = { version: '0.3.0', digest: 'a'.repeat(64) }
const other = { version: '0.2.0', digest: 'b'.repeat(64) }

function started(host: string, code: typeof own | undefined, role = 'environment') {
  const data = { role, worker: `${role}/${host}`, host, pid: 1, node: 'v24', decider: false, note: '', code }
  return { type: 'ActorStarted', data } as LoggedEvent
}

test('the head says once which host has other code, and in which role', () => {
  const lines: string[] = []
  const see = openCodeCheck(own, (line) => lines.push(line))
  for (const event of [
    started('same', own),
    started('b', other),
    started('b', other),
    started('b', other, 'policy'),
    started('old', undefined),
  ])
    see(event)
  assert.equal(lines, [
    'environment/b on b has other code: 0.2.0 (bbbbbbbbbbbb); the head has 0.3.0 (aaaaaaaaaaaa)',
    'policy/b on b has other code: 0.2.0 (bbbbbbbbbbbb); the head has 0.3.0 (aaaaaaaaaaaa)',
    'environment/old on old has other code: no version; the head has 0.3.0 (aaaaaaaaaaaa)',
  ])
})

test('a thousand hosts with other code take twenty lines', () => {
  let count = 0
  const see = openCodeCheck(own, () => count++)
  for (let host = 0; host < 1_000; host++) see(started(`h${host}`, other))
  assert.is(count, 20)
})

test('an actor tells its code in the log', async () => {
  const head = await startTestHead()
  head.service.append([runStarted])
  const address = head.addressOf('environment-worker')
  const worker = environmentWorker()
  const actor = await startActor({ role: 'environment', run: 'test', address, heartbeatMs: 200, worker })
  const code = codesOf(head.log)[actor.name]
  assert.equal(code, { version: packageVersion(), digest: codeDigest() })
  assert.is(isOtherCode(code ?? null, own), true)
  await actor.stop()
  await head.close()
})

test.run()
