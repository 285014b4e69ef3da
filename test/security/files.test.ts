/** The files of a run: their owner's alone, inside its folder, and what their digests say. */
import { appendFileSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { checkpointFolder } from '../../src/actors/learner/checkpoints.ts'
import { runFolder } from '../../src/broker/connection.ts'
import { RlError } from '../../src/errors.ts'
import { openBlobStore } from '../../src/events/blobs.ts'
import { CATALOGUE } from '../../src/events/catalogue.ts'
import { forkLog, openLog } from '../../src/events/log.ts'
import { startHead } from '../support/processes.ts'
import { startTestHead, temporaryFolder } from '../support/run.ts'
import { policyUpdated, runStarted } from '../support/toy.ts'

function openToOthers(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (name) => (statSync(join(folder, name)).mode & 0o077) !== 0,
  )
}

test("a log, its lock, its blobs, a fork and the broker are their owner's alone, older files too", async () => {
  const root = temporaryFolder()
  const folder = runFolder('test', root)
  mkdirSync(folder.folder, { recursive: true, mode: 0o700 })
  const older = openLog(folder.log, { run: 'test' })
  older.close()
  const head = await startTestHead({ root })
  head.service.append([runStarted, policyUpdated(1)])
  head.log.blobs.put(new Uint8Array(10))
  forkLog(runFolder('fork', root).log, { run: 'fork', parent: folder.log, position: 1 })
  assert.equal(openToOthers(root), [])
  await head.close()
})

test('a whole run leaves nothing that others may read', async () => {
  const root = join(temporaryFolder(), 'runs')
  const settings = [
    'environment.name=simulated',
    'policy.provider=simulated',
    'rewardModel.provider=simulated',
    'environment.tasksPerIteration=2',
    'environment.rolloutsPerTask=4',
    'evaluation.tasks=2',
    'run.iterations=1',
  ]
  const head = startHead(root, 'private', settings)
  assert.is(await head.status, 0, head.output())
  assert.is(statSync(root).mode & 0o077, 0)
  assert.equal(openToOthers(root), [])
})

test("a checkpoint lies in its run's folder: other paths are refused in events and at load", () => {
  const schema = CATALOGUE.CheckpointSealed.schema
  const sealed = (path: string) => ({ role: 'policy', version: 1, sha256: 'a'.repeat(64), path })
  assert.ok(schema.safeParse(sealed('checkpoints/policy/00001')).success)
  const leading = [
    '../x',
    '../../../../etc',
    '/etc',
    'a/../../b',
    'a/..',
    '..',
    '.',
    'a//b',
    'C:\\x',
    'a\\..\\b',
    '',
  ]
  for (const path of leading) assert.not(schema.safeParse(sealed(path)).success, path)
  for (const path of ['../x', '../../../../etc', '/etc', 'a/../../b', '..'])
    assert.throws(
      () => checkpointFolder('test', { path }),
      (error: unknown) => error instanceof RlError && error.code === 'model.bad-path',
      path,
    )
  fc.assert(
    fc.property(fc.string(), (path) => {
      if (schema.safeParse(sealed(path)).success)
        assert.ok(checkpointFolder('test', { path }).startsWith(`${runFolder('test').folder}/`))
    }),
    { seed: 3 },
  )
})

test('a blob is asked for by a digest and nothing else, and what was changed is refused', () => {
  const folder = join(temporaryFolder(), 'blobs')
  const store = openBlobStore(folder)
  for (const sha256 of ['../../../../etc/passwd', '', 'A'.repeat(64), `${'a'.repeat(63)}/`]) {
    assert.throws(() => store.get({ sha256, bytes: 1 }), /no SHA-256/)
    assert.throws(() => store.has(sha256), /no SHA-256/)
    assert.throws(() => store.begin({ sha256, bytes: 1 }), /no SHA-256/)
  }
  const ref = store.put(Uint8Array.of(1, 2, 3))
  appendFileSync(join(folder, ref.sha256.slice(0, 2), ref.sha256), 'x')
  assert.throws(() => store.get(ref), /not what its name says/)
})

test.run()
