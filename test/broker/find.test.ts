import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findNatsServer, lookForNatsServer } from '../../src/broker/find.ts'
import { explain, RlError } from '../../src/errors.ts'
import { temporaryFolder } from '../support/run.ts'

test('a server that is nowhere is looked for without changing anything', () => {
  const cache = temporaryFolder()
  assert.is(lookForNatsServer({ cache, folders: [cache] }), null)
})

test('set-up, twice at once, gets the server into the cache, or says what to run by hand', async () => {
  const cache = temporaryFolder()
  const steps: string[] = []
  try {
    const options = { cache, folders: [], onStep: (step: string) => steps.push(step) }
    for (const found of await Promise.all([findNatsServer(options), findNatsServer(options)]))
      assert.is(found.path, join(cache, 'bin', 'nats-server'))
    assert.equal(readdirSync(join(cache, 'bin')), ['nats-server'])
    assert.is(lookForNatsServer({ cache, folders: [] })?.from, 'cache')
  } catch (error) {
    assert.instance(error, RlError)
    assert.is((error as RlError).code, 'broker.no-server')
    assert.match(explain(error), /install/)
    assert.not(existsSync(join(cache, 'bin', 'nats-server')))
    process.stdout.write(`SKIP getting nats-server: ${(error as RlError).message}\n`)
  }
  assert.match(steps[0], /GitHub/)
})

test.run()
