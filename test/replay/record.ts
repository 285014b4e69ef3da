/** A run of the deciders in memory (actors/loop.ts), written to a log as a head would. */
import { join } from 'node:path'
import { startDecider } from '../../src/actors/decider/decider.ts'
import { decidersOf } from '../../src/actors/deciders.ts'
import { runFolder } from '../../src/broker/connection.ts'
import { type Config, loggable } from '../../src/config.ts'
import { CATALOGUE, keyOf, type LoggedEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { type EventLog, openLog } from '../../src/events/log.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import type { Rng } from '../../src/random.ts'
import { type LoopOptions, playLoop } from '../actors/loop.ts'

/** Writes the run of a config; `change` may alter or drop an event on its way into the log, `order` draws the order of arrival, and `interventions` come from elsewhere. */
export function recordLoop(
  root: string,
  run: string,
  config: Config,
  change: (event: LoggedEvent) => LoggedEvent | null = (event) => event,
  order?: Rng,
  interventions?: LoopOptions['interventions'],
): LogReader {
  const folder = runFolder(run, root)
  const log = openLog(folder.log, { run, minFreeBytes: 0, synchronous: 'NORMAL' })
  try {
    writeLoop(log, { config, order, interventions }, change)
  } finally {
    log.close()
  }
  return openLogReader(join(folder.folder, 'events.db'))
}

function writeLoop(
  log: EventLog,
  options: LoopOptions,
  change: (event: LoggedEvent) => LoggedEvent | null,
): void {
  const { config } = options
  const deciders = decidersOf(config).map(startDecider)
  const causes = new Map<string, string>()
  for (const [index, played] of playLoop(options).log.entries()) {
    const event =
      played.type === 'RunStarted' && played.data.parent === null
        ? { ...played, data: { ...played.data, config: loggable(config) } }
        : played
    const id = `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`
    const known = { ...event, id } as LoggedEvent
    const written = change(known)
    if (written) log.append([log.check(encode(log.run, written, id, causes.get(keyOf(event) ?? '') ?? null))])
    for (const running of deciders)
      for (const output of running.handle(known))
        if (output.type === 'event') causes.set(keyOf(output.event) ?? '', id)
  }
}

function encode(
  run: string,
  { type, data, time }: LoggedEvent,
  id: string,
  cause: string | null,
): Uint8Array {
  const { v } = CATALOGUE[type]
  return encodeEnvelope({ id, type, v, run, actor: 'head', time, cause, data })
}
