import { parseCommandLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { EXPORT_SECONDS, EXPORTERS, exportersWith } from '../replay/exporters.ts'
import type { Command } from './command.ts'
import { openRun, TRUST, TRUST_HELP } from './open-run.ts'

/** A timer holds 24 days at most. */
const MOST_SECONDS = 1_000_000

const FORMATS = EXPORTERS.map(({ name, summary }) => `  ${name.padEnd(14)}  ${summary}`).join('\n')

export const command: Command = {
  summary: 'a run for other tools: trajectories with advantages, and figures',
  help: `
rl export RUN --format FORMAT -o PATH [--module MODULE] [--timeout SECONDS]

${FORMATS}

  --module MODULE     a path or package with formats of your own, exported as a list \`exporters\` of { name, summary, write }
  --timeout SECONDS   time limit of a format of your own (default ${EXPORT_SECONDS})

${TRUST_HELP}.
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          format: { type: 'string' },
          out: { type: 'string', short: 'o' },
          module: { type: 'string' },
          timeout: { type: 'string', default: String(EXPORT_SECONDS) },
          ...TRUST,
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run] = positionals
    const { format, out, module, timeout } = values
    const exporters = await exportersWith(module, secondsOf(timeout))
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

function secondsOf(timeout: string): number {
  const seconds = Number(timeout)
  if (seconds > 0 && seconds <= MOST_SECONDS) return seconds
  throw new RlError(`--timeout is a number of seconds up to ${MOST_SECONDS}, and '${timeout}' is none`, {
    code: 'cli.usage',
    hint: 'rl export --help',
  })
}
