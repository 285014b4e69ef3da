/** `rl ui`: pages of all runs in the browser. */
import { runNames, unknownRun } from '../broker/run-names.ts'
import { parseCommandLine, portNumber, printLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { USUAL_PORT } from '../ui/server/secrets.ts'
import { servePages } from '../ui/server/serve.ts'
import type { Command } from './command.ts'

export const command: Command = {
  summary: 'shows runs in the browser: curves, rollouts, tasks, actors, every event',
  serves: true,
  help: `
rl ui [RUN] [--port N] [--print-url]

Serves pages of the runs in ./runs, or in the folder that RL_RUNS names, and prints one link. It opens in one browser
of this machine. Ctrl-C ends the server. Runs go on without it.

  --port N      the port (${USUAL_PORT}, or a free one if that is taken)
  --print-url   the link alone on the first line, for programs
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          port: { type: 'string' },
          'print-url': { type: 'boolean', default: false },
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run, ...rest] = positionals
    if (rest.length > 0)
      throw new RlError('expected one run, or none for all', {
        code: 'cli.usage',
        hint: 'rl runs lists them',
      })
    if (run !== undefined && run !== 'latest' && !runNames().includes(run)) throw unknownRun(run)
    const port = values.port === undefined ? undefined : portNumber(values.port)
    const { link, close, port: taken } = await servePages(run === undefined ? '/' : `/r/${run}`, port)
    if (values['print-url']) printLine(link)
    else for (const line of lines(link, taken)) printLine(line)
    await new Promise<void>((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
    })
    await close()
    return 0
  },
}

function lines(link: string, port: number): readonly string[] {
  return [
    `open       ${link}`,
    `from afar  ssh -L ${port}:127.0.0.1:${port} USER@THIS-MACHINE, then the same link there`,
    `runs       ${runNames().length}; Ctrl-C ends the pages, and no run`,
  ]
}
