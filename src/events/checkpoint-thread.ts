/** Copies committed pages from a log's write-ahead file into its database file. It runs beside the writer, which never waits for it. */
import { workerData } from 'node:worker_threads'
import Database from 'better-sqlite3'

const EVERY_MS = 100
const db = new Database(workerData as string, { timeout: 0 })
setInterval(() => db.pragma('wal_checkpoint(PASSIVE)'), EVERY_MS)
