/** A log whose files are damaged, lost, removed or refused by the disk: nothing is appended beside what cannot be seen. */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  cpSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { uuidv7 } from 'uuidv7'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../src/errors.ts'
import { CATALOGUE, type NewEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { type EventLog, openLog } from '../../src/events/log.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { refuseLostRun } from '../../src/events/lost-log.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { writeError } from '../../src/events/write-errors.ts'
import { temporaryFolder } from '../support/run.ts'
import { policyUpdated } from '../support/toy.ts'

const options = { run: 'a', minFreeBytes: 0 }

function append(log: EventLog, { type, data }: NewEvent, urgent = false) {
  const envelope = {
    id: uuidv7(),
    type,
    v: CATALOGUE[type].v,
    run: log.run,
    actor: 't',
    time: 1,
    cause: null,
    data,
  }
  return log.append([log.check(encodeEnvelope(envelope))], { urgent })
}

function errorOf(action: () => unknown): RlError {
  try {
    action()
  } catch (error) {
    if (error instanceof RlError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

/** A closed log of some events: its file alone. */
function closedLog(events = 60): string {
  const path = join(temporaryFolder(), 'events.db')
  const log = openLog(path, options)
  for (let n = 1; n <= events; n++) append(log, policyUpdated(n))
  log.close()
  return path
}

/** Changes a byte of an entry of an index: the text stands in a page of that index alone. */
function spoil(path: string, index: string, text: string): void {
  const db = new Database(path)
  const pages = db.prepare('SELECT pageno FROM dbstat WHERE name = ?').pluck().all(index) as number[]
  db.close()
  const bytes = readFileSync(path)
  let at = -1
  do at = bytes.indexOf(text, at + 1)
  while (at >= 0 && !pages.includes(Math.floor(at / 4096) + 1))
  assert.ok(at >= 0, `${text} stands in ${index}`)
  bytes[at + 3] ^= 0x08
  writeFileSync(path, bytes)
}

for (const [column, index] of [
  ['id', 'sqlite_autoindex_events_1'],
  ['key', 'sqlite_autoindex_events_2'],
  ['type', 'events_type'],
  ['stream', 'events_stream'],
] as const)
  test(`a damaged index of the column ${column} is told by its event, and nothing is appended`, () => {
    const path = closedLog()
    const reader = openLogReader(path)
    const text = reader.row(31)?.[column] as string
    reader.close()
    spoil(path, index, text)
    const damaged = openLogReader(path)
    const verified = verifyLog(damaged)
    damaged.close()
    assert.is(verified.ok, false)
    if (!verified.ok) assert.match(verified.reason, new RegExp(`its ${column} is`))
    const log = openLog(path, options)
    assert.is(log.damage?.code, 'log.damaged')
    assert.is(errorOf(() => append(log, policyUpdated(31))).code, 'log.damaged')
    assert.is(errorOf(() => log.setMeta('epoch', '2')).code, 'log.damaged')
    log.close()
  })

test('an index that is missing is told', () => {
  const path = closedLog()
  const db = new Database(path)
  db.exec('DROP INDEX events_stream')
  db.close()
  const reader = openLogReader(path)
  assert.is(verifyLog(reader).ok, false)
  reader.close()
})

test('a log that its writer closed goes on at once; one that was changed since is looked at', () => {
  const path = closedLog(5)
  const log = openLog(path, options)
  assert.is(log.damage, null)
  append(log, policyUpdated(6))
  log.close()
  // The same bytes, of another time.
  const copy = join(temporaryFolder(), 'events.db')
  cpSync(path, copy)
  const copied = openLog(copy, options)
  assert.equal(append(copied, policyUpdated(6)), [{ position: 6, duplicate: true }])
  copied.close()
})

test('an older copy that somebody puts in the place of a closed log goes on', () => {
  const path = closedLog(5)
  const older = readFileSync(path)
  const log = openLog(path, options)
  append(log, policyUpdated(6))
  log.close()
  writeFileSync(path, older)
  const again = openLog(path, options)
  assert.equal(append(again, policyUpdated(7)), [{ position: 6, duplicate: false }])
  again.close()
})

/** A writer that was killed: some of its events stand in the write-ahead file alone. */
async function killedLog(): Promise<string> {
  const path = join(temporaryFolder(), 'events.db')
  const source = `
    const { openLog } = await import('./src/events/log.ts')
    const { encodeEnvelope } = await import('./src/events/codec.ts')
    const { uuidv7 } = await import('uuidv7')
    const log = openLog(process.argv[1], { run: 'a', minFreeBytes: 0 })
    for (let n = 1; n <= 40; n++)
      log.append([log.check(encodeEnvelope({ id: uuidv7(), type: 'RunPaused', v: 1, run: 'a', actor: 't', time: n, cause: null, data: { reason: 'x' } }))])
    process.stdout.write('done')
    setInterval(() => {}, 1000)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', source, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(child.stdout, 'data')
  child.kill('SIGKILL')
  await once(child, 'exit')
  return path
}

const goesOn = (path: string) => {
  const log = openLog(path, options)
  try {
    assert.is(log.head().position, 40)
    assert.is(verifyLog(log).ok, true)
  } finally {
    log.close()
  }
}

for (const [what, lose, back] of [
  [
    'the write-ahead file is missing',
    (path: string) => renameSync(`${path}-wal`, `${path}.kept`),
    (path: string) => renameSync(`${path}.kept`, `${path}-wal`),
  ],
  [
    'the write-ahead file is cut off',
    (path: string) => {
      cpSync(`${path}-wal`, `${path}.kept`)
      truncateSync(`${path}-wal`, statSync(`${path}-wal`).size >> 1)
    },
    (path: string) => cpSync(`${path}.kept`, `${path}-wal`),
  ],
  [
    'the database file is missing',
    (path: string) => renameSync(path, `${path}.kept`),
    (path: string) => renameSync(`${path}.kept`, path),
  ],
  [
    'the database file is empty',
    (path: string) => {
      renameSync(path, `${path}.kept`)
      writeFileSync(path, '')
    },
    (path: string) => renameSync(`${path}.kept`, path),
  ],
] as const)
  test(`${what}: the log is not opened, its file is named, and put back all of it is there`, async () => {
    const path = await killedLog()
    lose(path)
    const error = errorOf(() => openLog(path, options))
    assert.is(error.code, 'log.lost')
    assert.match(error.message, /events\.db/)
    assert.is.not(told(path), null)
    back(path)
    assert.is(told(path), null)
    goesOn(path)
  })

/** Returns what `rl log verify` tells of a log that it does not take for sound. */
function told(path: string): string | null {
  try {
    const reader = openLogReader(path)
    try {
      const verified = verifyLog(reader)
      return verified.ok ? null : verified.reason
    } finally {
      reader.close()
    }
  } catch (error) {
    return (error as Error).message
  }
}

test('a folder that holds a run and no log is no new run', () => {
  for (const left of [
    'projections.db',
    'frames/head.frame',
    'checkpoints/policy/00001/config.json',
    'blobs/ab/cd',
  ]) {
    const folder = temporaryFolder()
    const path = join(folder, left)
    mkdirSync(join(path, '..'), { recursive: true })
    writeFileSync(path, 'x')
    assert.is(errorOf(() => refuseLostRun(join(folder, 'events.db'))).code, 'log.lost', left)
  }
  refuseLostRun(join(temporaryFolder(), 'events.db'))
})

test('the database file alone is a log from the first moment on', () => {
  const path = join(temporaryFolder(), 'events.db')
  const log = openLog(path, options)
  const alone = join(temporaryFolder(), 'events.db')
  cpSync(path, alone)
  const reader = openLogReader(alone)
  assert.equal([reader.run, reader.head().position], ['a', 0])
  reader.close()
  log.close()
})

for (const [how, strike] of [
  ['removed', (path: string) => rmSync(join(path, '..'), { recursive: true })],
  ['moved', (path: string) => renameSync(join(path, '..'), `${join(path, '..')}-moved`)],
  [
    'replaced',
    (path: string) => {
      cpSync(path, `${path}.new`)
      renameSync(`${path}.new`, path)
    },
  ],
] as const)
  test(`nothing is appended to a log whose file was ${how}`, () => {
    const path = join(temporaryFolder(), 'run', 'events.db')
    const log = openLog(path, options)
    append(log, policyUpdated(1))
    assert.is(log.gone(), null)
    strike(path)
    assert.is(errorOf(() => append(log, policyUpdated(2))).code, 'log.gone')
    assert.is(errorOf(() => append(log, policyUpdated(3), true)).code, 'log.gone')
    assert.is(log.gone()?.code, 'log.gone')
    log.close()
    rmSync(`${join(path, '..')}-moved`, { recursive: true, force: true })
  })

test('every refusal of the disk is one that passes, and says what to look at', () => {
  const codes = [
    'EFBIG',
    'EIO',
    'EROFS',
    'ENOSPC',
    'EDQUOT',
    'SQLITE_FULL',
    'SQLITE_IOERR',
    'SQLITE_IOERR_FSYNC',
  ]
  for (const code of [...codes, 'SQLITE_IOERR_WRITE', 'SQLITE_READONLY', 'SQLITE_CANTOPEN']) {
    const told = writeError(Object.assign(new Error('disk I/O error'), { code }), '/runs/a/events.db')
    assert.instance(told, RlError, code)
    assert.is((told as RlError).code, 'log.disk-full')
    assert.ok((told as RlError).hint)
  }
  const other = Object.assign(new Error('x'), { code: 'SQLITE_CONSTRAINT' })
  assert.is(writeError(other, 'a'), other)
})

test('a limit on the size of files is a refusal of the disk; what is urgent is appended all the same', () => {
  const path = join(temporaryFolder(), 'events.db')
  const source = `
    const { openLog } = await import('./src/events/log.ts')
    const { encodeEnvelope } = await import('./src/events/codec.ts')
    const { uuidv7 } = await import('uuidv7')
    const log = openLog(process.argv[1], { run: 'a', minFreeBytes: 0, checkpointPages: 100_000 })
    const event = (reason) => log.check(encodeEnvelope({ id: uuidv7(), type: 'RunPaused', v: 1, run: 'a', actor: 't', time: 1, cause: null, data: { reason } }))
    try {
      for (;;) log.append([event('x'.repeat(2_000))])
    } catch (error) {
      console.log(error.code)
    }
    console.log(log.append([event('paused')], { urgent: true })[0].duplicate, log.head().position > 1)
    log.close()`
  const words = ['--fsize=500000', process.execPath, '--input-type=module', '-e', source, path]
  const { status, stdout, stderr, error } = spawnSync('prlimit', words, { encoding: 'utf8' })
  if (error) return console.log(`SKIP ${error.message}`)
  assert.is(status, 0, stderr)
  assert.equal(stdout.trim().split('\n'), ['log.disk-full', 'false true'])
  const reader = openLogReader(path)
  assert.is(verifyLog(reader).ok, true)
  reader.close()
})

test.run()
