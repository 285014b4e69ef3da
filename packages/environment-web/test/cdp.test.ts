/** A browser that says too much, or no JSON, is given up at once; who asked for too much is told so, and nobody waits. */

import { PassThrough } from 'node:stream'
import type { RlError } from 'rlanything/kit'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { connect } from '../src/browser/cdp.ts'

function open() {
  const [input, output] = [new PassThrough(), new PassThrough()]
  let closed = 0
  const connection = connect(
    input,
    output,
    () => {},
    () => closed++,
  )
  const ask = () =>
    connection.send('Page.enable', {}, { deadlineMs: 60_000 }).then(
      () => 'answered',
      ({ code }: RlError) => code,
    )
  return { ask, output, closed: () => closed }
}

test('what is no JSON ends the connection', async () => {
  const { ask, output, closed } = open()
  const waiting = [ask(), ask()]
  output.write('{"id":1,"result":{}}\0')
  output.write('nonsense\0')
  assert.equal(await Promise.all(waiting), ['answered', 'web.gone'])
  assert.is(await ask(), 'web.gone')
  assert.is(closed(), 1)
})

test('a message that is too large is refused to who asked for it, and the others learn that the browser is gone', async () => {
  const { ask, output, closed } = open()
  const waiting = [ask(), ask()]
  output.write('{"i')
  output.write('d":2,"result":{"value":"')
  for (let i = 0; i <= 32; i++) output.write(Buffer.alloc(1024 * 1024, 'x'))
  assert.equal(await Promise.all(waiting), ['web.gone', 'web.protocol'])
  output.write('"}}\0')
  assert.is(await ask(), 'web.gone')
  assert.is(closed(), 1)
})

test.run()
