/** The pages of runs: who may read them, what they answer of the committed run, and what a browser draws of it. */
import { request } from 'node:http'
import { join } from 'node:path'
import { chromium } from 'playwright-core'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { openLogReader } from '../../src/events/log-reader.ts'
import { isProgram, programFolders } from '../../src/platform/programs.ts'
import { type PageServer, servePages } from '../../src/ui/server/serve.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const { log: path } = unpackFixture(root)

async function withPages(work: (server: PageServer) => Promise<void>): Promise<void> {
  const server = await servePages('/r/run', 0)
  try {
    await work(server)
  } finally {
    await server.close()
  }
}

type Reply = {
  readonly status: number
  readonly body: string
  readonly cookie: string
  readonly policy: string
}

/** Asks as any program may, with any header. */
function ask(
  { port }: PageServer,
  path: string,
  headers: Readonly<Record<string, string>> = {},
  body?: string,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const method = body === undefined ? 'GET' : 'POST'
    const sent = request({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      const parts: Buffer[] = []
      answer.on('data', (part: Buffer) => parts.push(part))
      answer.on('end', () => {
        const [cookie = ''] = answer.headers['set-cookie'] ?? []
        resolve({
          status: answer.statusCode ?? 0,
          body: Buffer.concat(parts).toString(),
          cookie: cookie.split(';')[0],
          policy: String(answer.headers['content-security-policy']),
        })
      })
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

async function sessionOf(server: PageServer): Promise<string> {
  const token = new URL(server.link).hash.slice(1)
  return (await ask(server, '/api/session', {}, JSON.stringify({ token }))).cookie
}

test('a link is good for one browser, and nobody reads without it', async () => {
  await withPages(async (server) => {
    assert.is((await ask(server, '/api/runs')).status, 401)
    assert.is((await ask(server, '/api/session', {}, '{"token":"guessed"}')).status, 403)
    assert.is((await ask(server, '/api/session', {}, 'x'.repeat(5_000))).status, 413)
    const cookie = await sessionOf(server)
    assert.is((await ask(server, '/api/runs', { cookie })).status, 200)
    assert.is(await sessionOf(server), '', 'the token is spent')
    assert.is((await ask(server, '/api/runs', { cookie: cookie.replace(/.$/, '~') })).status, 401)
  })
})

test('other names of this machine, other origins and other sites are refused', async () => {
  await withPages(async (server) => {
    const cookie = await sessionOf(server)
    const foreign: readonly Record<string, string>[] = [
      { host: 'evil.example' },
      { host: `127.0.0.1.evil.example:${server.port}` },
      { origin: 'http://evil.example' },
      { 'sec-fetch-site': 'cross-site' },
    ]
    for (const headers of foreign)
      assert.is((await ask(server, '/api/runs', { cookie, ...headers })).status, 403, JSON.stringify(headers))
    assert.is((await ask(server, '/api/runs', { cookie, host: `localhost:${server.port}` })).status, 200)
  })
})

test('each answer says that no text of it becomes code', async () => {
  await withPages(async (server) => {
    const cookie = await sessionOf(server)
    const answers = [
      await ask(server, '/'),
      await ask(server, '/main.js'),
      await ask(server, '/api/runs'),
      await ask(server, '/api/runs', { cookie }),
      await ask(server, '/api/r/nowhere/head', { cookie }),
      await ask(server, '/api/runs', { cookie, host: 'evil.example' }),
      await ask(server, '/api/r/run/actions/pause', { cookie }, '{}'),
    ]
    for (const { policy, status } of answers)
      assert.match(policy, "require-trusted-types-for 'script'", `${status}`)
  })
})

test('what is not there is told with the nearest name or the last position', async () => {
  await withPages(async (server) => {
    const cookie = await sessionOf(server)
    const fault = async (path: string) => {
      const { status, body } = await ask(server, path, { cookie })
      return { status, ...(JSON.parse(body) as { code: string; hint: string; near?: unknown }) }
    }
    const run = await fault('/api/r/rum/head')
    assert.is(run.status, 404)
    assert.match(run.hint, "'run'")
    assert.equal((await fault('/api/r/quite-another/head')).near, { path: '/' })
    assert.is((await fault('/api/r/..%2f..%2fetc/head')).code, 'run.unknown')
    assert.match((await fault('/api/r/run/head?at=999999999')).hint, /positions are 1 to \d+/)
    assert.is((await fault('/api/r/run/head?at=-1')).code, 'ui.bad-position')
    assert.is((await fault('/api/r/run/iterations/99')).code, 'ui.no-iteration')
    assert.is((await fault('/api/r/run/rollouts/1/nowhere/0')).code, 'ui.no-rollout')
    assert.match((await fault('/api/r/run/events?type=PolicyUpdatd')).hint, 'PolicyUpdated')
    for (const position of ['NaN', 'x', '0', '1.5', '%00', '9007199254740993'])
      assert.is((await fault(`/api/r/run/events/${position}`)).code, 'ui.bad-position', position)
    assert.is((await fault('/api/nothing')).code, 'ui.no-page')
  })
})

test('the figures of a page are those of the log, at any position', async () => {
  const log = openLogReader(path)
  const ends = [...log.events({ types: ['IterationCompleted'] })]
  const evaluations = [...log.events({ types: ['EvaluationCompleted'] })]
  const trajectory = [...log.events({ types: ['TrajectoryCompleted'] })].find(
    ({ data }) => data.purpose === 'train',
  )
  log.close()
  await withPages(async (server) => {
    const cookie = await sessionOf(server)
    const get = async (path: string) => JSON.parse((await ask(server, `/api/r/run${path}`, { cookie })).body)
    for (const end of ends) {
      let overview = await get(`/overview?at=${end.position}`)
      for (let tries = 0; !overview.complete && tries < 200; tries++)
        overview = await get(`/overview?at=${end.position}`)
      assert.is(overview.closed, end.data.iteration)
      for (const { data } of evaluations.filter(({ position }) => position <= end.position)) {
        const point = overview.success.find(
          (one: { series: string; iteration: number }) =>
            one.series === data.split && one.iteration === data.iteration,
        )
        assert.is(point.rollouts, data.rollouts.n)
        assert.is(point.byRollout.value, data.rollouts.successes / data.rollouts.n)
      }
      const later = overview.success.filter(
        (one: { iteration: number }) => one.iteration > end.data.iteration,
      )
      assert.equal(later, [], 'the past knows nothing of later iterations')
    }
    const { rollout, actions } = trajectory!.data
    const page = await get(`/rollouts/${rollout}`)
    assert.equal(
      page.steps.map(({ action }: { action: string }) => action),
      actions,
    )
    const iteration = await get(`/iterations/${trajectory!.data.iteration}`)
    const cells = iteration.groups.flatMap(({ cells }: { cells: { rollout: string }[] }) => cells)
    assert.ok(cells.some((cell: { rollout: string }) => cell.rollout === rollout))
    const events = await get('/events?from=1')
    assert.is(events.rows[0].type, 'RunStarted')
    assert.is((await get(`/events/${trajectory!.position}`)).event.type, 'TrajectoryCompleted')
  })
})

const browser = programFolders()
  .flatMap((folder) => ['chromium-headless-shell', 'chromium'].map((name) => join(folder, name)))
  .find(isProgram)
if (browser === undefined) process.stdout.write('SKIP the pages in a browser: there is no Chromium\n')
else
  test('a browser draws each screen, and asks nobody else', async () => {
    await withPages(async (server) => {
      const opened = await chromium.launch({ executablePath: browser, args: ['--no-sandbox'] })
      try {
        const page = await opened.newPage()
        const faults: string[] = []
        const foreign: string[] = []
        page.on('pageerror', (error) => faults.push(error.message))
        page.on('console', (message) => {
          if (message.type() === 'error') faults.push(message.text())
        })
        page.on('request', (asked) => {
          if (!/^(http:\/\/127\.0\.0\.1:|data:|blob:)/.test(asked.url())) foreign.push(asked.url())
        })
        await page.goto(server.link)
        await page.getByText(/Not known yet|It learns|No difference|It gets worse/).waitFor()
        assert.is(new URL(page.url()).hash, '', 'the token leaves the address')
        await page.getByRole('link', { name: 'Iterations' }).click()
        await page.getByRole('heading', { name: 'Iterations' }).waitFor()
        await page.locator('tbody a').first().click()
        await page.getByRole('heading', { name: 'Training tasks' }).waitFor()
        await page.locator('a.cell').first().click()
        await page.locator('summary').first().waitFor()
        await page.getByRole('link', { name: 'Events', exact: true }).click()
        await page.locator('tbody button').first().click()
        await page.getByRole('button', { name: 'go to this moment' }).click()
        await page.getByRole('button', { name: /past/ }).waitFor()
        await page.keyboard.press('L')
        await page.getByRole('button', { name: '● live' }).waitFor()
        await page.keyboard.press('?')
        await page.getByText(`ssh -L ${server.port}:127.0.0.1:${server.port}`).waitFor()
        await page.keyboard.press('Escape')
        await page.keyboard.press('g')
        await page.keyboard.press('r')
        await page.getByRole('heading', { name: 'Runs' }).waitFor()
        // An address that somebody mistyped.
        await page.goto(`http://127.0.0.1:${server.port}/r/%`)
        await page.getByText('There is no page').waitFor()
        assert.equal(faults, [])
        assert.equal(foreign, [])
      } finally {
        await opened.close()
      }
    })
  })

test.run()
