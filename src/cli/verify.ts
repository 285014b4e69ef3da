import { parseCommandLine, printJson, printLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { openLogReader } from '../events/log-reader.ts'
import { confirm, confirmAlone, readAttestation } from '../replay/attest.ts'
import type { Command } from './command.ts'

export const command: Command = {
  summary: 'confirms what rl attest wrote',
  help: `
rl verify FILE [--log events.db] [--json]   exit status 1 if anything does not agree

Without a log only the file itself is checked. With a log every event is checked, and all figures are computed again. The
first bad event is named.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: { log: { type: 'string' }, json: { type: 'boolean', default: false } },
        allowPositionals: true,
      },
      argv,
    )
    const [file] = positionals
    if (file === undefined)
      throw new RlError('expected a file', { code: 'cli.usage', hint: 'rl attest RUN -o FILE writes one' })
    const attestation = readAttestation(file)
    const result = values.log === undefined ? confirmAlone(attestation) : withLog(values.log)
    if (values.json) printJson({ run: attestation.run, ...result })
    else for (const line of result.lines) printLine(`${attestation.run}: ${line}`)
    return result.ok ? 0 : 1

    function withLog(path: string) {
      const log = openLogReader(path)
      try {
        return confirm(attestation, log)
      } finally {
        log.close()
      }
    }
  },
}
