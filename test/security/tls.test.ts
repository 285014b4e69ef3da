/** TLS: the server proves who it is before anything is sent to it, and nothing ever falls back to plain text. */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { findNatsServer } from '../../src/broker/find.ts'
import type { RlError } from '../../src/errors.ts'
import type { BusAddress } from '../../src/events/bus.ts'
import { connectBus } from '../../src/events/nats/connect.ts'
import { subscribe } from '../../src/events/subscription.ts'
import { spawnGuarded } from '../../src/platform/processes.ts'
import { startTestHead, temporaryFolder, until } from '../support/run.ts'

const SECRET = 'a-token-that-nobody-may-see'

type Certificate = { readonly cert: string; readonly key: string; readonly authority: string }

/** A certificate of an authority of its own, for one address; null where there is no openssl. */
function certificateFor(folder: string, address: string): Certificate | null {
  const path = (name: string) => join(folder, name)
  const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' })
  try {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    openssl(
      'req',
      '-x509',
      ...key,
      '-keyout',
      'ca.key',
      '-out',
      'ca.pem',
      '-days',
      '2',
      '-subj',
      '/CN=test authority',
    )
    openssl('req', ...key, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=test server')
    writeFileSync(path('names'), `subjectAltName=${address}\n`)
    const signed = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names']
    openssl('x509', '-req', '-in', 'server.csr', '-out', 'server.pem', ...signed)
    return { cert: path('server.pem'), key: path('server.key'), authority: path('ca.pem') }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

const servers: (() => Promise<void>)[] = []
test.after(async () => {
  for (const close of servers) await close()
})

async function startServer(folder: string, { cert, key }: Certificate): Promise<BusAddress> {
  const { path: program } = await findNatsServer()
  const log = join(folder, 'nats.log')
  writeFileSync(
    join(folder, 'nats.conf'),
    `host: "127.0.0.1"
port: -1
log_file: "${log}"
authorization { token: "${SECRET}" }
jetstream { store_dir: "${folder}" }
tls { cert_file: "${cert}", key_file: "${key}" }
`,
  )
  const guard = spawnGuarded(program, ['-c', join(folder, 'nats.conf')])
  const port = () =>
    /Listening for client connections on 127\.0\.0\.1:(\d+)/.exec(readFileSync(log, 'utf8'))?.[1]
  await until('the server listens', () => {
    try {
      return port() !== undefined
    } catch {
      return false
    }
  })
  servers.push(async () => {
    const ended = new Promise((resolve) => guard.once('exit', resolve))
    guard.stdin?.end()
    await ended
  })
  return { url: `tls://127.0.0.1:${port()}`, token: SECRET }
}

async function codeOf(address: BusAddress): Promise<string> {
  return connectBus({ ...address, timeoutMs: 20_000 }).then(
    async (bus) => {
      await bus.close()
      return 'connected'
    },
    (error: RlError) => error.code,
  )
}

const folder = temporaryFolder()
const certificate = certificateFor(folder, 'IP:127.0.0.1')
if (certificate === null) process.stdout.write('SKIP certificates: there is no openssl\n')
const withCertificate = certificate === null ? test.skip : test

withCertificate('a whole run goes over TLS where its authority is named, and nowhere else', async () => {
  const { authority } = certificate as Certificate
  const bare = await startServer(folder, certificate as Certificate)
  const address = { ...bare, ca: authority }
  const head = await startTestHead({ nats: address })
  const seen: string[] = []
  const subscription = await subscribe({ ...address, run: 'test' }, ({ type }) => void seen.push(type))
  head.service.append([{ type: 'RunPaused', data: { reason: 'a test' } }])
  await until('an event', () => seen.length === 1)
  await subscription.stop()
  await head.close()
  const plain = { ...bare, url: bare.url.replace('tls:', 'nats:') }
  for (const other of [{ ...bare, ca: join(folder, 'server.key') }, plain])
    assert.is.not(await codeOf(other), 'connected', other.url)
  assert.is(await codeOf(bare), 'bus.tls-unverified')
})

withCertificate('a certificate for another name is refused', async () => {
  for (const name of ['DNS:elsewhere.example', 'DNS:localhost', 'IP:127.0.0.2']) {
    const other = temporaryFolder()
    const wrong = certificateFor(other, name) as Certificate
    const address = await startServer(other, wrong)
    assert.is(await codeOf({ ...address, ca: wrong.authority }), 'bus.tls-unverified', name)
  }
})

test('a server without TLS is told nothing, whatever its greeting says', async () => {
  const heard: Buffer[] = []
  const sockets: Socket[] = []
  const greetings = [{}, { tls_available: true }, { tls_required: true }, { auth_required: true }]
  for (const greeting of greetings) {
    const info = JSON.stringify({
      server_id: 'x',
      version: '2.9.0',
      max_payload: 1000,
      headers: true,
      proto: 1,
      ...greeting,
    })
    const server = createServer((socket) => {
      sockets.push(socket.on('error', () => {}).on('data', (bytes) => heard.push(bytes)))
      socket.write(`INFO ${info}\r\n`)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as { port: number }
    const address = { url: `tls://127.0.0.1:${port}`, token: SECRET, timeoutMs: 500 }
    const refused = await connectBus(address).then(
      () => false,
      () => true,
    )
    assert.ok(refused, info)
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  assert.not.match(Buffer.concat(heard).toString('latin1'), new RegExp(`${SECRET}|CONNECT`))
})

test.run()
