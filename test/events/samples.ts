/** One valid event of every type, for tests that go through the whole catalogue. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { EventType, NewEvent } from '../../src/events/catalogue.ts'
import { upcast } from '../../src/events/upcasters.ts'

const FOLDER = fileURLToPath(new URL('../fixtures/events/', import.meta.url))

export type Fixture = { readonly type: string; readonly v: number; readonly data: unknown }

/** Fixtures are JSON files `<Type>.v<version>.json`; a column is written as `{"$base64": "..."}`. */
export function readFixtures(): readonly Fixture[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .sort()
    .map((file) => {
      const [type, version] = file.split('.')
      const data: unknown = JSON.parse(readFileSync(join(FOLDER, file), 'utf8'), (_, value) =>
        value !== null && typeof value === 'object' && '$base64' in value
          ? new Uint8Array(Buffer.from(String(value.$base64), 'base64'))
          : value,
      )
      return { type, v: Number(version.slice(1)), data }
    })
}

/** As an event of the newest version. */
export function sampleOf({ type, v, data }: Fixture): NewEvent {
  return { type, data: upcast(type as EventType, v, data) } as NewEvent
}
