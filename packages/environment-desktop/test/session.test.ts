/** The requests that OSWorld's own client sent in a recorded session, each answered by our server in the form of the recorded answer. */
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openDesktop } from '../src/local/desktop.ts'
import { startDesktopServer } from '../src/osworld/server.ts'
import { pngSize } from '../src/screen/png.ts'
import { canRun } from './support.ts'

const FILE = '../shared/data/osworld/session.jsonl'
const NOTE = '/home/user/Desktop/note.txt'

type Recorded = {
  readonly n: number
  readonly method: string
  readonly path: string
  readonly requestType: string | null
  readonly request: string | { readonly bytes: number }
  readonly status: number
  readonly responseType: string
  readonly response: string | { readonly head64: string }
}

/** Keys and types of a JSON value; of a text that may be absent, that it is one. */
function formOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value === null ? 'string' : typeof value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, formOf(inner)]))
}

if (!existsSync(FILE)) process.stdout.write(`SKIP the recorded session: ${FILE} is not here\n`)
else if (canRun('the recorded session', 'mousepad'))
  test("69 requests of OSWorld's client are answered as the recorded server did", async () => {
    const recorded = readFileSync(FILE, 'utf8')
      .trim()
      .split('\n')
      .map((line): Recorded => JSON.parse(line))
    assert.is(recorded.length, 69)
    const desktop = await openDesktop()
    const server = await startDesktopServer({ desktop })
    try {
      await desktop.writeFile(NOTE, Buffer.from('hello world\n'))
      for (const { n, method, path, requestType, request, status, responseType, response } of recorded) {
        const what = `request ${n}, ${method} ${path}`
        const form = new FormData()
        form.set('file_path', '/home/user/Desktop/a.py')
        form.set('file_data', new Blob([Buffer.alloc(4096)]), 'a.py')
        const answer = await fetch(server.url + path, {
          method,
          ...(typeof request === 'object'
            ? { body: form }
            : method === 'GET'
              ? {}
              : { body: request, headers: requestType === null ? {} : { 'content-type': requestType } }),
        })
        const bytes = Buffer.from(await answer.arrayBuffer())
        assert.is(answer.status, status, `${what}: ${bytes.toString().slice(0, 200)}`)
        const type = (answer.headers.get('content-type') ?? '').split(';')[0]
        assert.is(type.replace('text/html', 'text/plain'), responseType, what)
        if (typeof response === 'object')
          assert.equal(
            pngSize(bytes),
            pngSize(Buffer.concat([Buffer.from(response.head64, 'base64'), Buffer.alloc(64)])),
            what,
          )
        else if (responseType === 'application/json') {
          const [given, wanted] = [JSON.parse(bytes.toString()), JSON.parse(response)]
          assert.equal(formOf(given), formOf(wanted), what)
          for (const key of ['status', 'returncode', 'error', 'width', 'height'])
            assert.equal(given[key], wanted[key], what)
          if (typeof given.AT === 'string')
            assert.match(
              given.AT,
              /^<desktop-frame xmlns:st="https:\/\/accessibility\.ubuntu\.example\.org\/ns\/state".* name="main"/,
            )
          if (typeof request === 'string' && request.includes('platform.system'))
            assert.is(given.output, wanted.output)
        } else assert.ok(bytes.length > 0, what)
      }
    } finally {
      await server.close()
      await desktop.close()
    }
  })

test.run()
