/** A log that is being made is none yet. */
import { fork } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../src/errors.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { temporaryFolder } from '../support/run.ts'

/** Few enough for some seconds. Of 100 the reader met six before their tables were seen. */
const LOGS = 100

test('who reads a log while its tables are made is told that it is none yet', async () => {
  const root = temporaryFolder()
  const maker = fork(fileURLToPath(new URL('being-made-process.ts', import.meta.url)))
  /** The last message of each code. */
  const told = new Map<string, string>()
  for (let n = 0; n < LOGS; n++) {
    mkdirSync(join(root, `${n}`))
    const path = join(root, `${n}`, 'events.db')
    let made = false
    maker.once('message', () => {
      made = true
    })
    maker.send(path)
    while (!made) {
      await new Promise(setImmediate)
      try {
        openLogReader(path).close()
      } catch (error) {
        told.set(error instanceof RlError ? error.code : 'none', String(error))
      }
    }
  }
  maker.kill()
  told.delete('log.missing')
  assert.equal([...told.keys()], ['log.not-a-log'], [...told.values()].join('\n'))
})

test.run()
