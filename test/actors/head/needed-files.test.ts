/** What a run needs of its folder: looked for before it goes on, and while it does. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { uuidv7 } from 'uuidv7'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { checkNeededFiles } from '../../../src/actors/head/needed-files.ts'
import { frameFaults } from '../../../src/actors/runtime/key-frame.ts'
import { runFolder } from '../../../src/broker/connection.ts'
import { CATALOGUE, type NewEvent } from '../../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../../src/events/codec.ts'
import { openLog } from '../../../src/events/log.ts'
import { connectLog } from '../../../src/events/log-client.ts'
import { pack } from '../../../src/events/msgpack.ts'
import { errorOf } from '../../support/error-of.ts'
import { startTestHead, temporaryFolder } from '../../support/run.ts'
import { policyUpdated, runStarted } from '../../support/toy.ts'

const started: NewEvent = {
  type: 'IterationStarted',
  data: { iteration: 1, policyVersion: 0, rewardModelVersion: 0 },
}
const completed: NewEvent = {
  type: 'IterationCompleted',
  data: { iteration: 1, accuracy: { successes: 0, n: 1 }, metrics: {} },
}

test('a blob of an open iteration that is missing keeps a run from going on; those of others do not', async () => {
  const folder = runFolder('blobs', temporaryFolder())
  const log = openLog(folder.log, { run: 'blobs', minFreeBytes: 0 })
  const append = ({ type, data }: NewEvent) => {
    const envelope = {
      id: uuidv7(),
      type,
      v: CATALOGUE[type].v,
      run: 'blobs',
      actor: 't',
      time: 1,
      cause: null,
    }
    const $blob = log.blobs.put(pack(data))
    log.append([
      log.check(encodeEnvelope({ ...envelope, data: type.endsWith('Started') ? data : { $blob } })),
    ])
  }
  for (const event of [runStarted, started, policyUpdated(1)]) append(event)
  log.close()
  await checkNeededFiles(folder, ['policy'])
  rmSync(folder.blobs, { recursive: true })
  const error = await errorOf(checkNeededFiles(folder, ['policy']))
  assert.is(error.code, 'run.file-lost')
  assert.match(error.message, /run 'blobs' stays paused: blob [0-9a-f]{64} is missing from .*blobs/)
  const again = openLog(folder.log, { run: 'blobs', minFreeBytes: 0 })
  const { type, data } = completed
  const envelope = {
    id: uuidv7(),
    type,
    v: CATALOGUE[type].v,
    run: 'blobs',
    actor: 't',
    time: 1,
    cause: null,
    data,
  }
  again.append([again.check(encodeEnvelope(envelope))])
  again.close()
  await checkNeededFiles(folder, ['environment'])
})

test('weights are looked for by the head that starts their role, and by no other', async () => {
  const folder = runFolder('weights', temporaryFolder())
  const log = openLog(folder.log, { run: 'weights', minFreeBytes: 0 })
  const checkpoint = { sha256: 'ab'.repeat(32), path: 'checkpoints/policy/00001' }
  const { data } = policyUpdated(1)
  const event = { type: 'PolicyUpdated', data: { ...(data as object), checkpoint } } as NewEvent
  const envelope = {
    id: uuidv7(),
    v: CATALOGUE.PolicyUpdated.v,
    run: 'weights',
    actor: 't',
    time: 1,
    cause: null,
  }
  log.append([log.check(encodeEnvelope({ ...envelope, ...event }))])
  log.close()
  await checkNeededFiles(folder, ['environment', 'reward-model'])
  assert.match((await errorOf(checkNeededFiles(folder, ['policy']))).message, /checkpoints\/policy\/00001/)
})

test('a damaged key frame is told', () => {
  const folder = temporaryFolder()
  assert.equal(
    frameFaults(folder, () => ''),
    [],
  )
  mkdirSync(join(folder, 'frames'))
  writeFileSync(join(folder, 'frames', 'policy.frame'), 'x'.repeat(100))
  assert.match(frameFaults(folder, () => '')[0], /policy\.frame is damaged/)
})

test('a head whose folder was removed hears of it, and appends nothing more', async () => {
  const head = await startTestHead()
  head.service.append([runStarted])
  const log = connectLog({ bus: head.bus, run: 'test', actor: 'policy' })
  rmSync(head.folder.log)
  assert.is((await errorOf(log.append([policyUpdated(1)]))).code, 'log.gone')
  assert.is((await head.fenced).code, 'log.gone')
  log.close()
  await head.close()
  assert.not.ok(readdirSync(head.folder.folder).includes('events.db'))
})

test.run()
