import { writeFileSync } from 'node:fs'
import { parseCommandLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { attest } from '../replay/attest.ts'
import type { Command } from './command.ts'
import { openRunToRead } from './open-run.ts'

export const command: Command = {
  summary: 'one file that says what a run was and what came of it',
  help: `
rl attest RUN [-o FILE]   config, code version, digests of models and events, task ids, evaluations with n and interval

The file is JSON. rl verify FILE --log events.db confirms it on another machine.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      { options: { out: { type: 'string', short: 'o' } }, allowPositionals: true },
      argv,
    )
    const [run] = positionals
    if (run === undefined)
      throw new RlError('expected a run', { code: 'cli.usage', hint: 'rl runs lists them' })
    const log = openRunToRead(run)
    try {
      const text = `${JSON.stringify(attest(log), null, 2)}\n`
      if (values.out === undefined) process.stdout.write(text)
      else writeFileSync(values.out, text)
    } finally {
      log.close()
    }
    return 0
  },
}
