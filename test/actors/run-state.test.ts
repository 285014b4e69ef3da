/** What a run is said to be, by its log and by whether its head lives. */
import { spawnSync } from 'node:child_process'
import { renameSync, rmSync } from 'node:fs'
import { uuidv7 } from 'uuidv7'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { headLives, runStateOf } from '../../src/actors/head/run-state.ts'
import { runFolder, writeConnection } from '../../src/broker/connection.ts'
import { CATALOGUE, type NewEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { forkLog, openLog } from '../../src/events/log.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { BY_A_PERSON, heldFor } from '../../src/events/run-turn.ts'
import { type ProcessId, processText, THIS_PROCESS } from '../../src/platform/process-id.ts'
import { temporaryFolder } from '../support/run.ts'
import { policyUpdated, runStarted } from '../support/toy.ts'

const root = temporaryFolder()
const paused = (reason: string): NewEvent => ({ type: 'RunPaused', data: { reason } })
const resumed: NewEvent = { type: 'RunResumed', data: { reason: 'the head was started again' } }
const completed: NewEvent = { type: 'RunCompleted', data: { iterations: 1, metrics: {} } }

const bodyOf = (run: string, { type, data }: NewEvent) =>
  encodeEnvelope({ id: uuidv7(), type, v: CATALOGUE[type].v, run, actor: 'head', time: 1, cause: null, data })

function write(run: string, events: readonly NewEvent[], head: ProcessId | null = null): void {
  const folder = runFolder(run, root)
  const log = openLog(folder.log, { run, minFreeBytes: 0 })
  log.append(events.map((event) => log.check(bodyOf(run, event))))
  log.setMeta('epoch', '1')
  log.close()
  if (head === null) return
  const process = processText(head)
  const nobody = { url: 'nats://127.0.0.1:1', token: null, user: null, password: null }
  writeConnection(folder.connection, { run, ...nobody, pid: head.pid, process, host: 'h', since: 1 })
}

async function stateOf(run: string): Promise<string> {
  const folder = runFolder(run, root)
  const lives = await headLives(folder)
  const log = openLogReader(folder.log)
  try {
    return runStateOf(log, run, lives).state
  } finally {
    log.close()
  }
}

const ended = { ...THIS_PROCESS, pid: spawnSync(process.execPath, ['-e', '']).pid }
const elsewhere = { ...THIS_PROCESS, place: '0000000000000000' }

for (const [run, events, head, state] of [
  ['lives', [runStarted], THIS_PROCESS, 'running'],
  ['goes-on', [runStarted, paused('x'), resumed], THIS_PROCESS, 'running'],
  ['disk', [runStarted, paused('the disk is nearly full')], THIS_PROCESS, 'paused'],
  ['work', [runStarted, paused('work failed')], null, 'paused'],
  ['person', [runStarted, paused(BY_A_PERSON)], null, 'stopped'],
  ['held', [runStarted, paused(heldFor('lunch'))], THIS_PROCESS, 'paused'],
  ['held-and-killed', [runStarted, paused(heldFor(null))], ended, 'killed'],
  ['held-and-ended', [runStarted, paused(heldFor(null)), paused(BY_A_PERSON)], null, 'stopped'],
  ['killed', [runStarted], ended, 'killed'],
  ['number-used-again', [runStarted], { ...THIS_PROCESS, start: '1' }, 'killed'],
  ['no-connection', [runStarted], null, 'killed'],
  ['no-answer', [runStarted], elsewhere, 'killed'],
  ['failed', [runStarted, { type: 'RunFailed', data: { reason: 'x' } } as const], null, 'failed'],
  ['completed', [runStarted, completed], null, 'completed'],
  ['over-is-over', [runStarted, completed, resumed, paused('x')], null, 'completed'],
  ['empty', [], null, 'never started'],
] as const)
  test(`a run is ${state} (${run})`, async () => {
    write(run, events, head)
    assert.is(await stateOf(run), state)
  })

test('a fork that no head has taken was never started, whatever its parent is', async () => {
  write('parent', [runStarted, policyUpdated(1), completed], THIS_PROCESS)
  const first = bodyOf('fork', {
    ...runStarted,
    data: { ...(runStarted.data as object), parent: { run: 'parent', position: 2 } },
  } as NewEvent)
  const { log } = runFolder('fork', root)
  forkLog(log, { run: 'fork', parent: runFolder('parent', root).log, position: 2, first })
  assert.is(await stateOf('fork'), 'never started')
  const taken = openLog(log, { run: 'fork', minFreeBytes: 0 })
  taken.setMeta('epoch', '1')
  taken.close()
  assert.is(await stateOf('fork'), 'killed')
})

test('a renamed run is listed by the name that addresses it; a fork without its parent names the parent', () => {
  renameSync(runFolder('work', root).folder, runFolder('other', root).folder)
  rmSync(runFolder('parent', root).folder, { recursive: true })
  const rl = (...words: string[]) =>
    spawnSync(process.execPath, ['src/rl.ts', ...words], {
      encoding: 'utf8',
      env: { ...process.env, RL_RUNS: root },
    })
  const { stdout } = rl('runs')
  assert.match(stdout, /^other +paused .*the log of run 'work': its folder was renamed$/m)
  assert.match(stdout, /^fork +unreadable: run 'fork' is a fork of run 'parent' at position 2/m)
  assert.match(rl('status', 'other').stdout, /^run other: paused/)
  const log = runFolder('other', root).log
  assert.throws(() => openLog(log, { run: 'other' }), /is the log of run 'work'/)
})

test.run()
