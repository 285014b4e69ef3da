import { wholeNumber } from 'rlanything/kit'
import { openDesktop } from '../local/desktop.ts'
import { type DesktopServer, startDesktopServer } from '../osworld/server.ts'

const MOST_DESKTOPS = 64

type Values = { readonly desktops: string; readonly port: string; readonly host: string }

export async function serve({ desktops: wanted, port: first, host }: Values): Promise<number> {
  const count = Math.min(wholeNumber('--desktops', wanted, 1), MOST_DESKTOPS)
  const port = wholeNumber('--port', first)
  const servers: DesktopServer[] = []
  const opened = await Promise.allSettled(Array.from({ length: count }, () => openDesktop()))
  const desktops = opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  try {
    const failed = opened.find((one) => one.status === 'rejected')
    if (failed) throw failed.reason
    for (const [i, desktop] of desktops.entries()) {
      const server = await startDesktopServer({ desktop, host, port: port === 0 ? 0 : port + i })
      servers.push(server)
      process.stdout.write(`${server.url}\n`)
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
