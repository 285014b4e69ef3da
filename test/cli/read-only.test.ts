/** Runs that this user may read and not write: a shared folder, an archive, read-only media. */
import { spawnSync } from 'node:child_process'
import { appendFileSync, chmodSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { explain } from '../../src/errors.ts'
import { CATALOGUE } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { openLog } from '../../src/events/log.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { temporaryCopy } from '../../src/events/read-database.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { policyUpdated, runStarted } from '../support/toy.ts'

const OTHER = ['--reuid', '54321', '--regid', '54321', '--clear-groups']
const root = temporaryFolder()
const folder = unpackFixture(root)

/** As a user who owns nothing here: another one if this is root, else this one, who takes his own rights away. */
function rl(...words: readonly string[]) {
  const command = [process.execPath, 'src/rl.ts', ...words]
  const [program, ...rest] = process.getuid?.() === 0 ? ['setpriv', ...OTHER, ...command] : command
  const { HOME, XDG_CACHE_HOME, NODE_COMPILE_CACHE, ...env } = process.env
  const ended = spawnSync(program, rest, { env: { ...env, RL_RUNS: root }, encoding: 'utf8' })
  return { status: ended.status, out: ended.stdout, err: ended.stderr }
}

function onlyRead(): void {
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' })) {
    const path = join(root, name)
    chmodSync(path, statSync(path).isDirectory() ? 0o555 : 0o444)
  }
  chmodSync(root, 0o555)
}

function writable(): void {
  chmodSync(root, 0o755)
  chmodSync(folder.folder, 0o755)
  for (const name of readdirSync(folder.folder))
    if (statSync(join(folder.folder, name)).isFile()) chmodSync(join(folder.folder, name), 0o644)
}

const LOOKS = [
  'runs',
  'log run tail',
  'attest run',
  'why run version policy/1',
  'diff run run',
  'projections run show accuracy',
]

onlyRead()
const first = rl('--help')
const hidden = /setpriv: |Permission denied|EACCES/.exec(first.err)
if (hidden) process.stdout.write(`SKIP a user who may read alone: ${first.err.split('\n')[0]}\n`)
else {
  test('it is looked at by every command, without and with what SQLite leaves beside a log', () => {
    for (const words of LOOKS) {
      const { status, out, err } = rl(...words.split(' '))
      assert.is(status, 0, `${words}: ${err}`)
      assert.ok(out.length > 0)
    }
    writable()
    openLogReader(folder.log).close()
    onlyRead()
    assert.is(rl('log', 'run', 'verify').status, 0)
    writable()
  })

  test('projections that are kept are folded on in a copy, and rebuilt by their owner alone', () => {
    writeFileSync(folder.projections, '')
    onlyRead()
    assert.match(rl('projections', 'run', 'show', 'throughput').out, /rollouts/)
    assert.match(rl('projections', 'run', 'rebuild').err, /cannot be written by this user/)
    writable()
    assert.is(statSync(folder.projections).size, 0)
  })

  test('what the system refuses is no fault of the file', () => {
    chmodSync(folder.log, 0)
    const refused = rl('log', 'run', 'tail').err
    chmodSync(folder.log, 0o644)
    assert.match(refused, /cannot be read: .*(permission|EACCES).*owner/i)
    assert.not.match(refused, /not an event log/)
  })
}

test('a copy has what a writer has in its WAL, and goes with its reader', () => {
  const place = runFolder('live', temporaryFolder())
  const log = openLog(place.log, { run: 'live', minFreeBytes: 0, checkpointPages: 0 })
  for (const [i, { type, data }] of [runStarted, policyUpdated(1)].entries()) {
    const id = `00000000-0000-7000-8000-00000000000${i}`
    const [run, actor] = ['live', type === 'RunStarted' ? 'head' : 'policy']
    const body = encodeEnvelope({ id, type, v: CATALOGUE[type].v, run, actor, time: 0, cause: null, data })
    log.append([log.check(body)])
  }
  const copy = temporaryCopy(place.log)
  const reader = openLogReader(join(copy, 'events.db'))
  assert.is(reader.head().position, 2)
  reader.close()
  log.close()
})

test('a file that is no database is told as that', () => {
  const path = join(temporaryFolder(), 'events.db')
  appendFileSync(
    path,
    'no database at all, and longer than a header of one has to be to be looked at as such........',
  )
  try {
    openLogReader(path)
    assert.unreachable()
  } catch (error) {
    assert.match(explain(error), /is not an event log/)
  }
  assert.not(existsSync(`${path}-wal`))
})

test.run()
