/** The one way in which this project opens a port for HTTP. */
import { Hono } from 'hono'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { RlError } from '../../src/errors.ts'
import { type HttpEnv, listen, WRITTEN } from '../../src/platform/listen.ts'

const HERE = { host: '127.0.0.1', port: 0, unread: 'read' } as const

test('an address that is taken is refused by name, with what helps', async () => {
  const app = new Hono<HttpEnv>()
  const { port, close } = await listen(app, HERE)
  try {
    await listen(app, { ...HERE, port })
    assert.unreachable()
  } catch (error) {
    assert.instance(error, RlError)
    const { code, message, hint } = error as RlError
    assert.is(code, 'server.listen')
    assert.match(message, `cannot listen on 127.0.0.1:${port}: `)
    assert.is(hint, 'choose another port')
  }
  await close()
})

test('a handler may write its answer itself, before and after other servers were opened', async () => {
  for (let n = 0; n < 2; n++) {
    const app = new Hono<HttpEnv>()
    app.get('/own', ({ env: { outgoing } }) => {
      outgoing.writeHead(201, { 'content-type': 'text/plain' }).end('its own words')
      return WRITTEN
    })
    app.get('/health', (c) => c.json({ status: 'ok' }))
    const { url, port, close } = await listen(app, HERE)
    assert.is(url, `http://127.0.0.1:${port}`)
    const own = await fetch(`${url}/own`)
    assert.equal([own.status, await own.text()], [201, 'its own words'])
    assert.equal(await (await fetch(`${url}/health`)).json(), { status: 'ok' })
    await close()
  }
})

test('closing ends the calls that are open', async () => {
  const app = new Hono<HttpEnv>()
  let isAsked = () => {}
  const asked = new Promise<void>((resolve) => {
    isAsked = resolve
  })
  app.get('/never', () => {
    isAsked()
    return new Promise<Response>(() => {})
  })
  const { url, close } = await listen(app, HERE)
  const call = fetch(`${url}/never`).then(
    () => 'answered',
    () => 'ended',
  )
  await asked
  await close()
  assert.is(await call, 'ended')
})

test.run()
