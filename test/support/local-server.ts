/** HTTP servers of tests, on a free port of this machine. */
import type { IncomingMessage, Server } from 'node:http'
import type { AddressInfo } from 'node:net'

export type LocalServer = {
  readonly url: string
  /** Ends the server with all its connections. */
  readonly close: () => Promise<void>
}

export async function listenLocally(server: Server): Promise<LocalServer> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

export async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part)
  return Buffer.concat(parts).toString()
}
