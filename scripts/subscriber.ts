/**
 * A complete external subscriber: counts the events of a run by type in its own SQLite file. The counts of a
 * batch and its last position are written in one transaction. So the subscriber may be killed at any moment,
 * and applies every event exactly once.
 *
 * NATS_USER=tool NATS_PASSWORD=... node scripts/subscriber.ts nats://127.0.0.1:PORT RUN counts.db
 */
import Database from 'better-sqlite3'
import { subscribeBatches } from '../src/events/index.ts'

const [url, run, file] = process.argv.slice(2)
const { NATS_USER, NATS_PASSWORD } = process.env
const db = new Database(file)
db.pragma('journal_mode = WAL')
db.exec(`
  CREATE TABLE IF NOT EXISTS stored (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS counts (type TEXT PRIMARY KEY, n INTEGER NOT NULL, positions INTEGER NOT NULL);
`)
const stored = db.prepare('SELECT position FROM stored').pluck()
const store = db.prepare('INSERT OR REPLACE INTO stored VALUES (1, ?)')
const count = db.prepare(`
  INSERT INTO counts VALUES (?, 1, ?)
  ON CONFLICT (type) DO UPDATE SET n = n + 1, positions = positions + excluded.positions
`)

const apply = db.transaction((events: readonly { type: string; position: number }[], upTo: number) => {
  for (const { type, position } of events) count.run(type, position)
  store.run(upTo)
})

const subscription = await subscribeBatches(
  { url, user: NATS_USER, password: NATS_PASSWORD, run, from: Number(stored.get() ?? 0) + 1 },
  (events, upTo) => apply(events, upTo),
)
await subscription.done
