import { mkdir, readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { checkJoined, joinedAddress } from '../actors/joined.ts'
import { runFolder } from '../broker/connection.ts'
import { readJoinFile } from '../broker/joins.ts'
import { parseCommandLine, portNumber, printLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { connectLog } from '../events/log-client.ts'
import { connectBus } from '../events/nats/connect.ts'
import { weightsRelay } from '../gateway/weights-relay.ts'
import { listen } from '../platform/listen.ts'
import type { Command } from './command.ts'
import { required } from './model-flags.ts'

export const command: Command = {
  summary: 'brings the weights of a run to a server on a host without its folder',
  serves: true,
  help: `
rl weights --join FILE --server URL [--host 127.0.0.1] [--port 8001] [--any-code]

Stands before a server (vLLM, SGLang, rl serve --allow-loading) on that server's host. The run names each new version by its
folder. This fetches the version's files from the run, and gives the server the folder here. Every other request is passed
on as it is. The server checks the caller's key.

On the head's host: npm run -s rl -- join RUN --role policy --worker -o FILE
In the run's config: policy.publish.replicas and policy.baseUrl name this relay, e.g. http://GPU:8001/v1

  --server URL   the server, e.g. http://127.0.0.1:8000
  --host, --port its own address; --host 0.0.0.0 lets other hosts in, and the server must want a key then
`,
  async run(argv) {
    const { values } = parseCommandLine(
      {
        options: {
          join: { type: 'string' },
          server: { type: 'string' },
          host: { type: 'string', default: '127.0.0.1' },
          port: { type: 'string', default: '8001' },
          'any-code': { type: 'boolean', default: false },
        },
      },
      argv,
    )
    const server = required('--server', values.server)
    const url = URL.parse(server)
    if (!/^https?:\/\//.test(server) || url === null || url.username !== '' || url.password !== '')
      throw new RlError(`--server is no URL of a server, or has a password in it`, {
        code: 'cli.usage',
        hint: 'give its URL, e.g. http://127.0.0.1:8000; the caller brings the key',
      })
    const file = await readJoinFile(required('--join', values.join))
    process.umask(0o077)
    const served = join(runFolder(file.run).folder, 'served-weights')
    // A later run of this name has versions of the same names, and other weights.
    const folder = join(served, file.runStart.slice(0, 16))
    await mkdir(folder, { recursive: true })
    const bus = await connectBus({ ...joinedAddress(file), name: 'weights' })
    const log = connectLog({ bus, run: file.run, actor: `${file.role}/weights` })
    try {
      await checkJoined(log, file, values['any-code'])
      for (const other of await readdir(served))
        if (other !== basename(folder)) await rm(join(served, other), { recursive: true, force: true })
      const app = weightsRelay({ log, server, folder, say: printLine })
      const { url, close } = await listen(app, {
        host: values.host,
        port: portNumber(values.port),
        unread: 'end',
      })
      printLine(`weights of run '${file.run}' go to ${server}`)
      printLine(`${url}/v1`)
      const ended = new Promise<null>((stop) => {
        process.once('SIGINT', () => stop(null))
        process.once('SIGTERM', () => stop(null))
      })
      const reason = await Promise.race([ended, bus.closed])
      await close()
      if (reason !== null) throw reason
    } finally {
      log.close()
      await bus.close()
    }
    return 0
  },
}
