/** Has no file left to open, and starts processes: prints what is said of the first. */
import { mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { startChildren } from '../../../src/actors/head/children.ts'

process.once('uncaughtException', (error) => {
  console.log(`crashed: ${error.message}`)
  process.exit(1)
})
const [folder] = process.argv.slice(2)
mkdirSync(join(folder, 'logs'))
try {
  for (;;) openSync('/dev/null', 'r')
} catch {
  // That was the last one.
}
startChildren({
  run: 'few-files',
  folder,
  apart: false,
  address: { url: 'nats://127.0.0.1:9' },
  specs: [{ role: 'environment', worker: true }],
  onGone() {},
  onExit({ reason }) {
    console.log(reason)
    process.exit(0)
  },
  onPrinted() {},
  silentMs: () => null,
  mostSilentMs: 600_000,
  mostStartMs: 600_000,
})
