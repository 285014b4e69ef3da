/** A run of the simulated learner, played in this process and written as a log. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { type RunFolder, runFolder } from '../../src/broker/connection.ts'
import { CATALOGUE, type LoggedEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { openLog } from '../../src/events/log.ts'
import { playLoop, smallConfig } from '../actors/loop.ts'

/** Writes events as the log of a run. */
export function writeRun(root: string, run: string, events: readonly LoggedEvent[]): RunFolder {
  const folder = runFolder(run, root)
  mkdirSync(dirname(folder.log), { recursive: true })
  const log = openLog(folder.log, { run, minFreeBytes: 0, synchronous: 'NORMAL' })
  for (const { id, type, actor, time, cause, data } of events)
    log.append([log.check(encodeEnvelope({ id, type, v: CATALOGUE[type].v, run, actor, time, cause, data }))])
  log.close()
  return folder
}

/** Returns the events of a whole run. Its start tells the config, so that readers decide as it did. */
export function madeEvents(iterations: number): readonly LoggedEvent[] {
  const config = smallConfig({
    run: { iterations, evaluateEvery: 2 },
    environment: { name: 'simulated', tasks: 6, tasksPerIteration: 4, rolloutsPerTask: 8, minGroupSize: 2 },
  })
  return playLoop({ config }).log.map((event, i): LoggedEvent => {
    const data = event.type === 'RunStarted' ? { ...event.data, config } : event.data
    return { ...event, data, id: idOf(i), actor: 'head', cause: null } as LoggedEvent
  })
}

/** An id by number. Its form is that of real ids. */
export function idOf(i: number): string {
  return `00000000-0000-7000-8000-${String(i).padStart(12, '0')}`
}
