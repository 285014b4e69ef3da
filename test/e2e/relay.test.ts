/** The relay that stands for a bad link: it delays and repeats, and every byte arrives in order. */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { openPath, openRelay } from '../../scripts/e2e/relay.ts'

const test = suite('relay')

test('a frame takes its delay', () => {
  const arrivalOf = openPath({ delayMs: 50, loss: 0 }, () => 0.999)
  assert.is(arrivalOf(1_000, 10), 1_050)
  assert.is(arrivalOf(1_020, 10), 1_070)
})

test('a lost frame is repeated, and what is behind it waits', () => {
  const draws = [0.995, 0, 0]
  const arrivalOf = openPath({ delayMs: 5, loss: 0.01 }, () => draws.shift() ?? 0)
  assert.is(arrivalOf(0, 100), 205)
  assert.is(arrivalOf(1, 100), 205)
  assert.is(arrivalOf(300, 100), 305)
})

test('many frames are likelier to lose one', () => {
  const draw = () => 0.98
  assert.is(openPath({ delayMs: 0, loss: 0.01 }, draw)(0, 1_448), 0)
  assert.is(openPath({ delayMs: 0, loss: 0.01 }, draw)(0, 1_449 * 3), 200)
})

test('every byte arrives in order, both ways and to the end', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rl-relay-'))
  const [far, near] = [join(folder, 'far.sock'), join(folder, 'near.sock')]
  const echo = createServer({ allowHalfOpen: true }, (socket) => socket.pipe(socket)).listen(far)
  const relay = await openRelay({ listen: near, to: far, delayMs: 1, loss: 0.05 })
  try {
    const sent = Buffer.from(Uint32Array.from({ length: 200_000 }, (_, i) => i).buffer)
    const socket = connect({ path: near, allowHalfOpen: true })
    for (let at = 0; at < sent.length; at += 60_000) socket.write(sent.subarray(at, at + 60_000))
    socket.end()
    const parts: Buffer[] = []
    for await (const part of socket) parts.push(part)
    assert.ok(Buffer.concat(parts).equals(sent))
  } finally {
    relay.close()
    echo.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test('an end that breaks ends the other', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'rl-relay-'))
  const [far, near] = [join(folder, 'far.sock'), join(folder, 'near.sock')]
  const broken = createServer((socket) => socket.destroy()).listen(far)
  const relay = await openRelay({ listen: near, to: far, delayMs: 0, loss: 0 })
  try {
    const socket = connect(near)
    socket.on('error', () => {})
    await new Promise((resolve) => socket.once('close', resolve))
  } finally {
    relay.close()
    broken.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

test.run()
