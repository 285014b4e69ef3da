import { parseCommandLine, wholeNumber } from '../command-line.ts'
import { openDesktop } from '../environments/desktop/local/desktop.ts'
import { type DesktopServer, startDesktopServer } from '../environments/desktop/osworld/server.ts'
import { RlError } from '../errors.ts'
import type { Command } from './command.ts'

const HELP = `
rl desktop serve [--desktops N] [--port P]   starts N desktops (default 1) and answers OSWorld's endpoints for each, on ports P, P+1, ...

  --desktops N   default 1
  --port P       of the first (default 5000; 0 takes free ones)
  --host H       default 127.0.0.1. OSWorld's endpoints know no password: whoever reaches them controls the desktop

Needs the Debian packages bubblewrap, xvfb, openbox, dbus and at-spi2-core, and the npm package x11. Prints one URL a line, and ends
all desktops on Ctrl-C. POST /rl/reset makes a desktop as it was at the start.
`

const MOST_DESKTOPS = 64

export const command: Command = {
  summary: "serve local desktops by OSWorld's endpoints",
  help: HELP,
  async run(argv) {
    const options = {
      desktops: { type: 'string', default: '1' },
      port: { type: 'string', default: '5000' },
      host: { type: 'string', default: '127.0.0.1' },
    } as const
    const { values, positionals } = parseCommandLine({ options, allowPositionals: true }, argv)
    const [action] = positionals
    if (action !== 'serve')
      throw new RlError(
        action === undefined ? 'rl desktop needs an action' : `there is no action '${action}'`,
        {
          code: 'cli.usage',
          hint: 'see rl desktop --help',
        },
      )
    const count = Math.min(wholeNumber('--desktops', values.desktops, 1), MOST_DESKTOPS)
    return serve(count, wholeNumber('--port', values.port), values.host)
  },
}

async function serve(count: number, port: number, host: string): Promise<number> {
  const servers: DesktopServer[] = []
  const desktops = await Promise.all(Array.from({ length: count }, () => openDesktop()))
  try {
    for (const [i, desktop] of desktops.entries()) {
      servers.push(await startDesktopServer({ desktop, host, port: port === 0 ? 0 : port + i }))
      process.stdout.write(`${servers[i].url}\n`)
    }
    await new Promise<void>((stop) => {
      process.once('SIGINT', () => stop())
      process.once('SIGTERM', () => stop())
    })
  } finally {
    await Promise.all(servers.map((server) => server.close()))
    await Promise.all(desktops.map((desktop) => desktop.close()))
  }
  return 0
}
