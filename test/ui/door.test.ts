/** Pages that a head offers: nothing runs until somebody looks, and a killed process of the pages costs nobody anything. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { openDoor } from '../../src/ui/server/door.ts'
import { copyRun, unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder, until } from '../support/run.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const source = unpackFixture(root)
const log = join(root, 'ui.log')

/** Processes that this one started and that serve pages. */
function pages(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const parent = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[1]
        return (
          Number(parent) === process.pid &&
          readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('ui/server/main')
        )
      } catch {
        return false
      }
    })
}

async function sessionOf(link: string): Promise<string> {
  const { origin, hash } = new URL(link)
  const answer = await fetch(`${origin}/api/session`, {
    method: 'POST',
    headers: { connection: 'close' },
    body: JSON.stringify({ token: hash.slice(1) }),
  })
  return (answer.headers.get('set-cookie') ?? '').split(';')[0]
}

const seen = (link: string, cookie: string) =>
  fetch(`${new URL(link).origin}/api/r/run/head`, { headers: { cookie, connection: 'close' } })

if (process.platform === 'linux') {
  test('no process runs until somebody looks, and it ends with the head', async () => {
    const door = await openDoor({ path: '/r/run', log })
    assert.is(pages().length, 0)
    const cookie = await sessionOf(door.link)
    const answer = await seen(door.link, cookie)
    assert.is(((await answer.json()) as { run: string }).run, 'run')
    assert.is(pages().length, 1)
    await door.close()
    assert.is(pages().length, 0)
  })

  test('a browser goes on reading after the process of the pages was killed, and the link stays spent', async () => {
    const door = await openDoor({ path: '/r/run', log })
    const cookie = await sessionOf(door.link)
    const [killed] = pages()
    process.kill(killed, 'SIGKILL')
    await until('the killed process is gone', () => pages().length === 0)
    assert.is((await seen(door.link, cookie)).status, 200)
    assert.is(await sessionOf(door.link), '')
    assert.is.not(pages()[0], killed)
    await door.close()
  })

  test("a run of a package's setting is read, and its states are told", async () => {
    copyRun(source, runFolder('packaged'), {
      change(event) {
        if (event.type !== 'RunStarted') return event
        const { config } = event.data
        const environment = { ...(config.environment as object), name: 'tools' }
        return { ...event, data: { ...event.data, config: { ...config, environment } } }
      },
    })
    const door = await openDoor({ path: '/r/packaged', log })
    const cookie = await sessionOf(door.link)
    for (const page of ['head', 'states', 'actors']) {
      const url = `${new URL(door.link).origin}/api/r/packaged/${page}`
      const answer = await fetch(url, { headers: { cookie, connection: 'close' } })
      assert.is(answer.status, 200, `${page}: ${await answer.text()}`)
    }
    await door.close()
  })

  test('a process of the pages ends if nobody looks, and begins again', async () => {
    const door = await openDoor({ path: '/r/run', log, idleMs: 50 })
    const cookie = await sessionOf(door.link)
    await until('the idle process is gone', () => pages().length === 0)
    assert.is(door.open(), 0)
    assert.is((await seen(door.link, cookie)).status, 200)
    await door.close()
  })
}

test.run()
