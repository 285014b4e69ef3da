/** The process of a role. It runs `rl start` alone, for `npm start` and for the processes that a head starts. */
import './setting-packages.ts'
import { command } from './cli/start.ts'
import { explain, RlError } from './errors.ts'
import { exitWhenWritten, goOnWithoutReaders } from './platform/output.ts'

goOnWithoutReaders()
try {
  process.exitCode = await command.run(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`rlanything: ${explain(error)}\n`)
  process.exitCode = error instanceof RlError && error.code === 'cli.usage' ? 2 : 1
}

// Handles that a library left open keep the process for at most this time.
setTimeout(exitWhenWritten, 1_000).unref()
