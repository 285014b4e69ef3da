/** The log of a run whose file was damaged. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keyOf } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { openLog } from '../../src/events/log.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { mutateBytes } from './mutate.ts'
import type { Target } from './target.ts'

const EVENTS = 40

export const logTarget: Target = {
  name: 'logs',
  what: 'events.db of a run',
  async open(folder) {
    const seed = join(folder, 'seed', 'events.db')
    const log = openLog(seed, { run: 'fuzz', minFreeBytes: 0 })
    const events = Array.from({ length: EVENTS }, (_, index) => {
      const id = `01900000-0000-7000-8000-${String(index).padStart(12, '0')}`
      const data = { iteration: index + 1, policyVersion: 0, rewardModelVersion: 0 }
      const envelope = {
        id,
        type: 'IterationStarted',
        v: 1,
        run: 'fuzz',
        actor: 'head',
        time: index,
        cause: null,
        data,
      } as const
      return log.check(encodeEnvelope(envelope))
    })
    log.append(events)
    log.close()
    const bytes = readFileSync(seed)
    const file = join(folder, 'events.db')
    const hashes = hashesOf(seed)
    return {
      make: (draw) => mutateBytes(bytes, bytes, draw),
      take(input) {
        for (const end of ['', '-wal', '-shm']) rmSync(`${file}${end}`, { force: true })
        writeFileSync(file, input)
        const reader = openLogReader(file)
        try {
          if (!verifyLog(reader).ok) return null
          for (const event of reader.events()) {
            const key = keyOf(event)
            if (key !== null && reader.positionOf('key', key) !== event.position)
              return `position ${event.position} is not found by its key`
            if (reader.positionOf('id', event.id) !== event.position)
              return `position ${event.position} is not found by its id`
          }
        } finally {
          reader.close()
        }
        return hashesOf(file) === hashes ? null : 'another log is called sound'
      },
    }
  },
}

function hashesOf(path: string): string {
  const reader = openLogReader(path)
  try {
    return JSON.stringify([reader.head(), reader.run])
  } finally {
    reader.close()
  }
}
