/** A nats-server that lives and answers nothing: the head notices, tells it, and starts it again on the same store. */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openSmallDisk } from '../../scripts/soak/small-disk.ts'
import { ROLLOUT_WORK } from '../../src/actors/runtime/work.ts'
import { connectLog } from '../../src/events/log-client.ts'
import { subjectsOf } from '../../src/events/subjects.ts'
import { startTestHead, type TestHead, until } from '../support/run.ts'
import { runStarted } from '../support/toy.ts'

const disk = openSmallDisk()
test.after(() => disk.close())

/** Whether the queue of rollouts takes a piece of work. */
function publisherOf({ bus, log }: TestHead): () => Promise<boolean> {
  let pieces = 0
  return async function publish() {
    try {
      await bus.publishWork(subjectsOf(log.run).evt(ROLLOUT_WORK.type), new Uint8Array(4096), `p-${pieces++}`)
      return true
    } catch {
      return false
    }
  }
}

function stallsOf({ log }: TestHead): string[] {
  return [...log.events({ types: ['StallDetected'] })].map(({ data }) => data.from)
}

test('a server that turned its store off, since the disk was full, takes work again when there is room', async () => {
  if (disk.skipped !== null) {
    process.stdout.write(`SKIP a full disk: ${disk.skipped}\n`)
    return
  }
  const head = await startTestHead({ root: disk.folder, run: 'full' })
  const publish = publisherOf(head)
  try {
    assert.ok(await publish())
    const giveBack = disk.fill()
    await until('the store refuses', async () => !(await publish()))
    giveBack()
    await until('the store takes work again', publish, 60_000)
    assert.ok(Number(head.broker?.restarts()) >= 1)
  } finally {
    await head.close()
  }
})

test('a server that is killed while the disk is full comes back', async () => {
  if (disk.skipped !== null) return
  const head = await startTestHead({ root: disk.folder, run: 'killed' })
  const publish = publisherOf(head)
  const giveBack = disk.fill()
  try {
    process.kill(head.broker?.pid() ?? 0, 'SIGKILL')
    await until('started again', () => Number(head.broker?.restarts()) > 0)
    await until('connected', () => head.bus.connected(), 60_000)
    giveBack()
    await until('the store takes work again', publish, 60_000)
  } finally {
    giveBack()
    await head.close()
  }
})

test('a blob that meets a full disk is taken when there is room', async () => {
  if (disk.skipped !== null) return
  const head = await startTestHead({ root: disk.folder, run: 'blob' })
  const log = connectLog({ bus: head.bus, run: 'blob', actor: 'head' })
  const bytes = new Uint8Array(randomBytes(20_000_000))
  try {
    const giveBack = disk.fill()
    const taken = log.putBlob(bytes)
    await until('refused', async () => {
      const answered = await Promise.race([taken.then(() => 'taken'), pause(2_000, 'waits')])
      return answered === 'waits'
    })
    giveBack()
    assert.equal(await log.getBlob(await taken), bytes)
  } finally {
    log.close()
    await head.close()
  }
})

test('a server that stands still is started again, and the log says since when it was silent', async () => {
  const head = await startTestHead({ run: 'still' })
  head.service.append([runStarted])
  const publish = publisherOf(head)
  try {
    assert.ok(await publish())
    const pid = head.broker?.pid() ?? 0
    process.kill(pid, 'SIGSTOP')
    await until('the server is another', () => ![null, pid].includes(head.broker?.pid() ?? null), 60_000)
    await until('the store takes work again', publish, 60_000)
    assert.equal(stallsOf(head), ['broker'])
  } finally {
    await head.close()
  }
})

test.run()
