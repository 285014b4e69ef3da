import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { readConnection, readCredentials, runFolder, writeCredentials } from '../../src/broker/connection.ts'
import { RlError } from '../../src/errors.ts'
import { temporaryFolder } from '../support/run.ts'

test('credentials are read as they were written; a damaged file is refused by its name', () => {
  const folder = runFolder('a', temporaryFolder())
  const address = { url: 'nats://127.0.0.1:4222', password: 'word' }
  assert.is(readCredentials(folder, 'tool'), null)
  writeCredentials(folder, 'tool', address)
  assert.equal(readCredentials(folder, 'tool'), { ...address, user: 'tool' })
  mkdirSync(folder.credentials, { recursive: true })
  const file = join(folder.credentials, 'head.json')
  const told = JSON.stringify({ ...address, user: 'head' })
  for (const damaged of [told.slice(0, -2), told.replace('nats:', ''), told.replace(/nats[^"]+/, ''), '[]']) {
    writeFileSync(file, damaged)
    const read = () => readCredentials(folder, 'head')
    assert.throws(read, (error: unknown) => error instanceof RlError && error.message.includes(file), damaged)
  }
  mkdirSync(folder.connection)
  const read = () => readConnection(folder.connection)
  assert.throws(read, (error: unknown) => error instanceof RlError && error.code === 'run.bad-connection')
})

test.run()
