import { parseCommandLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { EXPORTERS, exportersWith } from '../replay/exporters.ts'
import type { Command } from './command.ts'
import { openRun, TRUST, TRUST_HELP } from './open-run.ts'

const FORMATS = EXPORTERS.map(({ name, summary }) => `  ${name.padEnd(11)}  ${summary}`).join('\n')

export const command: Command = {
  summary: 'a run for other tools: trajectories with advantages, and figures',
  help: `
rl export RUN --format FORMAT -o PATH [--module MODULE]

${FORMATS}

  --module MODULE   a path or package with formats of your own, exported as a list \`exporters\` of { name, summary, write }

${TRUST_HELP}.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          format: { type: 'string' },
          out: { type: 'string', short: 'o' },
          module: { type: 'string' },
          ...TRUST,
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run] = positionals
    const { format, out, module } = values
    const exporters = await exportersWith(module)
    const exporter = exporters.find(({ name }) => name === format)
    if (run === undefined || out === undefined || exporter === undefined)
      throw new RlError(
        `expected a run, --format ${exporters.map(({ name }) => name).join('|')} and -o PATH`,
        { code: 'cli.usage', hint: 'rl export --help' },
      )
    const log = await openRun(run, values)
    try {
      process.stdout.write(`${await exporter.write(log, out)}\n`)
    } finally {
      log.close()
    }
    return 0
  },
}
