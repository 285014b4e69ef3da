/** Proxies that the environment names, by a proxy on loopback: what is asked of it has no address of its own. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, connect, type Server } from 'node:net'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { downloadNatsServer } from '../../src/broker/fetch.ts'
import { openUpstream, readAll } from '../../src/gateway/upstream.ts'
import { describeHubModel } from '../../src/models/hub.ts'
import { httpFetch } from '../../src/platform/http.ts'
import { proxyFor } from '../../src/platform/proxy.ts'
import { against, plain, request } from '../support/against-endpoint.ts'
import { errorOf } from '../support/error-of.ts'
import { temporaryFolder } from '../support/run.ts'
import { completion } from '../support/scripted-endpoint.ts'

const NAMES = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'HTTPS_PROXY', 'no_proxy', 'NO_PROXY']
const before = NAMES.map((name) => [name, process.env[name]] as const)

function setProxies(values: Readonly<Record<string, string>>): void {
  for (const name of NAMES) delete process.env[name]
  Object.assign(process.env, values)
}

test.after(() => {
  for (const [name, value] of before)
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
})

async function listen<S extends Server>(server: S): Promise<S & { readonly port: number }> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return Object.assign(server, { port: (server.address() as AddressInfo).port })
}

const reasonOf = (failing: Promise<unknown>): Promise<string> => failing.then(String, String)

const proxyOf = (url: string, env: Readonly<Record<string, string>>) => proxyFor(new URL(url), env)

test('a proxy is that of the scheme, small letters first; an empty variable names none', () => {
  const env = { http_proxy: 'http://small:1', HTTP_PROXY: 'http://large:2', HTTPS_PROXY: 'secure:3' }
  assert.is(proxyOf('http://a.example', env)?.url.host, 'small:1')
  assert.is(proxyOf('https://a.example', env)?.url.host, 'secure:3')
  assert.is(proxyOf('https://a.example', env)?.variable, 'HTTPS_PROXY')
  assert.is(
    proxyOf('http://a.example', { http_proxy: '', HTTP_PROXY: 'http://large:2' })?.url.host,
    'large:2',
  )
  assert.is(proxyOf('https://a.example', { HTTP_PROXY: 'http://large:2' }), null)
})

test('this machine is asked by no proxy', () => {
  for (const host of [
    'localhost',
    'a.localhost',
    '127.0.0.1',
    '127.9.9.9',
    '2130706433',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
  ])
    assert.is(proxyOf(`http://${host}:1/`, { HTTP_PROXY: 'http://p:1' }), null, host)
})

test('NO_PROXY names hosts, all below a name, addresses, networks and ports', () => {
  const isBy = (url: string, NO_PROXY: string) =>
    proxyOf(url, { HTTP_PROXY: 'http://p:1', NO_PROXY }) !== null
  for (const [url, entries, expected] of [
    ['http://a.example/', 'a.example', false],
    ['http://b.a.example/', 'x, a.example', false],
    ['http://b.a.example./', '.a.example', false],
    ['http://b.a.example/', '*.A.example', false],
    ['http://ba.example/', 'a.example', true],
    ['http://a.example/', 'a.example:8080 ', true],
    ['http://a.example:8080/', 'a.example:8080', false],
    ['http://a.example/', 'a.example:80', false],
    ['http://10.1.2.3/', '10.0.0.0/8', false],
    ['http://11.1.2.3/', '10.0.0.0/8', true],
    ['http://[fd00::1]/', 'fd00::/8', false],
    ['http://[fd00::1]:8/', '[fd00::1]:8', false],
    ['http://a.example/', '*', false],
    ['http://a.example/', '10.0.0.0/99', true],
  ] as const)
    assert.is(isBy(url, entries), expected, `${url} ${entries}`)
})

test('a variable that names no HTTP proxy is told by its name, and shows no password', () => {
  for (const value of ['socks5://user:word@p:1', 'http://', 'http://us er@/'])
    try {
      proxyOf('http://a.example', { http_proxy: value })
      assert.unreachable(value)
    } catch (error) {
      assert.match((error as Error).message, 'http_proxy names no HTTP proxy')
      assert.not.match((error as Error).message, 'word')
    }
})

test('gateway, endpoint, hub and set-up go by the proxy that the environment names', async () => {
  const asked: { url: string; host?: string; authorization?: string }[] = []
  const answers = (message: IncomingMessage): unknown =>
    message.url?.includes('/api/models/')
      ? { sha: 'abcd', siblings: [{ rfilename: 'model.safetensors', size: 1 }] }
      : completion({ content: 'by proxy' }, { prompt: [1], tokens: [2] })
  const proxy = await listen(
    createServer((message, response) => {
      const { host, 'proxy-authorization': authorization } = message.headers
      asked.push({ url: message.url ?? '', host, authorization })
      message.resume()
      response.end(JSON.stringify(answers(message)))
    }),
  )
  proxy.on('connect', (message, socket) => {
    asked.push({ url: `CONNECT ${message.url}` })
    socket.end('HTTP/1.1 407 Who are you\r\n\r\n')
  })
  setProxies({
    http_proxy: `http://user:pass%3Aword@127.0.0.1:${proxy.port}`,
    HTTPS_PROXY: `127.0.0.1:${proxy.port}`,
    NO_PROXY: 'elsewhere.invalid',
  })
  const upstream = openUpstream({ key: null, callMs: 60_000 })
  const { signal } = new AbortController()
  const target = { baseUrl: 'http://gateway.invalid:81/v1', model: 'scripted' }
  const answer = await upstream.post(target, '/chat/completions', Buffer.from('{}'), signal)
  assert.match(`${await readAll(answer, 10_000, () => new Error('too long'))}`, 'by proxy')
  await against(
    () => plain('straight'),
    async (open) => {
      assert.is((await open().generate([request(1)]))[0].text, 'straight')
      const by = open({ baseUrl: 'http://endpoint.invalid/v1' })
      assert.is((await by.generate([request(1)]))[0].text, 'by proxy')
      const secure = open({ baseUrl: 'https://endpoint.invalid/v1', budgetMs: 100 })
      const refused = await errorOf(secure.generate([request(1)]))
      assert.match(
        refused.message,
        /by the proxy http:\/\/127.0.0.1:\d+ \(HTTPS_PROXY\): it answered 407 to CONNECT/,
      )
    },
  )
  const hub = await describeHubModel('a/b', { endpoint: 'http://hub.invalid', token: null })
  assert.is(hub.commit, 'abcd')
  const failed = await errorOf(downloadNatsServer(join(temporaryFolder(), 'bin')))
  assert.match(failed.message, 'HTTPS_PROXY')
  assert.not.match(await reasonOf(httpFetch('http://elsewhere.invalid/')), 'proxy')
  upstream.close()
  await new Promise((resolve) => proxy.close(resolve).closeAllConnections())
  const authorization = `Basic ${Buffer.from('user:pass:word').toString('base64')}`
  assert.equal(
    asked.slice(0, 2),
    ['gateway.invalid:81', 'endpoint.invalid'].map((host) => ({
      ...{ url: `http://${host}/v1/chat/completions`, host, authorization },
    })),
  )
  assert.ok(asked.some(({ url }) => url === 'CONNECT endpoint.invalid:443'))
  assert.ok(asked.some(({ url }) => url.startsWith('http://hub.invalid/api/models/a/b')))
})

test('a secure server is reached through a tunnel, with its own certificate at the end of it', async () => {
  const folder = temporaryFolder()
  const files = { key: join(folder, 'key.pem'), cert: join(folder, 'cert.pem') }
  try {
    const subject = ['-subj', '/CN=secure.invalid', '-keyout', files.key, '-out', files.cert]
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...subject], {
      stdio: 'ignore',
    })
  } catch {
    console.log('SKIP: openssl makes no certificate here')
    return
  }
  const tls = { key: readFileSync(files.key), cert: readFileSync(files.cert) }
  const secure = await listen(createSecureServer(tls, (_, response) => response.end('within')))
  const ways: string[] = []
  const proxy = await listen(createServer())
  proxy.on('connect', (message, socket) => {
    ways.push(message.url ?? '')
    const on = connect(secure.port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      on.pipe(socket).pipe(on)
    })
    on.on('error', () => socket.destroy())
    socket.on('error', () => on.destroy())
  })
  setProxies({ https_proxy: `http://127.0.0.1:${proxy.port}` })
  // Nobody signed it: that is told of the server at the far end.
  assert.match(await reasonOf(httpFetch('https://secure.invalid/')), /self-signed certificate/)
  assert.equal(ways, ['secure.invalid:443'])
  await new Promise((resolve) => proxy.close(resolve).closeAllConnections())
  await new Promise((resolve) => secure.close(resolve).closeAllConnections())
})

test.run()
