/** The files of a run: their owner's alone, inside its folder, and what their digests say. */
import {
  appendFileSync,
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { checkpointFolder } from '../../src/actors/learner/checkpoints.ts'
import { runFolder, writePrivately } from '../../src/broker/connection.ts'
import { takeRunFolder } from '../../src/broker/own-folder.ts'
import { RlError } from '../../src/errors.ts'
import { openBlobStore } from '../../src/events/blobs.ts'
import { CATALOGUE } from '../../src/events/catalogue.ts'
import { forkLog, openLog } from '../../src/events/log.ts'
import { startHead } from '../support/processes.ts'
import { startTestHead, temporaryFolder } from '../support/run.ts'
import { policyUpdated, runStarted } from '../support/toy.ts'

function codeOf(action: () => unknown): string | null {
  try {
    action()
  } catch (error) {
    if (error instanceof RlError) return error.code
    throw error
  }
  return null
}

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

test("a folder that lay there before becomes its owner's alone, and one with a link or a foreign file is refused", async () => {
  const root = temporaryFolder()
  const folder = runFolder('test', root)
  const elsewhere = temporaryFolder()
  mkdirSync(join(folder.broker, 'store'), { recursive: true })
  mkdirSync(join(folder.folder, 'kept', 'inner'), { recursive: true })
  writeFileSync(join(folder.folder, 'kept', 'inner', 'file'), 'x')
  symlinkSync(elsewhere, folder.blobs)
  const open = () => {
    for (const name of ['', 'broker', 'kept', 'kept/inner', 'kept/inner/file'])
      chmodSync(join(folder.folder, name), 0o777)
  }
  open()
  const places = [
    ...[
      'credentials',
      'connection.json',
      'events.db',
      'events.db-wal',
      'writer.lock',
      'logs',
      'checkpoints/x',
    ],
    ...['broker/nats.conf', 'broker/store/jetstream', 'kept/inner/link', 'blobs-of-others'],
  ]
  for (const place of places) {
    const path = join(folder.folder, place)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync(join(elsewhere, 'there'), path)
    open()
    assert.is(
      codeOf(() => takeRunFolder(folder.folder)),
      'run.foreign-folder',
      place,
    )
    rmSync(path)
  }
  open()
  const head = await startTestHead({ root })
  head.service.append([runStarted])
  head.log.blobs.put(new Uint8Array(10))
  await head.close()
  assert.is(statSync(folder.folder).mode & 0o777, 0o700)
  assert.is(statSync(elsewhere).mode & 0o777, 0o700)
  assert.equal(openToOthers(folder.folder), [])
  assert.equal(
    readdirSync(elsewhere, { recursive: true, encoding: 'utf8' }).filter(
      (name) => !/^[0-9a-f]{2}/.test(name),
    ),
    [],
  )
})

test('what is written privately goes through no link that lies under its name, or under that of its part', () => {
  const folder = temporaryFolder()
  const other = join(temporaryFolder(), 'other')
  writeFileSync(other, 'mine')
  const path = join(folder, 'secret')
  for (const name of [path, `${path}.${process.pid}.part`]) symlinkSync(other, name)
  writePrivately(path, 'a password')
  assert.is(readFileSync(other, 'utf8'), 'mine')
  assert.is(readFileSync(path, 'utf8'), 'a password')
  assert.is(lstatSync(path).isSymbolicLink(), false)
})

test("root goes on with the files of whoever owns the runs, and with nobody else's", () => {
  if (process.getuid?.() !== 0) return console.log('SKIP files of other users: only root can make them')
  const root = temporaryFolder()
  const folder = join(root, 'test')
  mkdirSync(join(folder, 'credentials'), { recursive: true })
  const own = (path: string, uid: number) => chownSync(path, uid, uid)
  own(folder, 12_345)
  assert.is(
    codeOf(() => takeRunFolder(folder)),
    'run.foreign-folder',
  )
  own(root, 12_345)
  assert.is(
    codeOf(() => takeRunFolder(folder)),
    null,
  )
  own(join(folder, 'credentials'), 54_321)
  assert.is(
    codeOf(() => takeRunFolder(folder)),
    'run.foreign-folder',
  )
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
