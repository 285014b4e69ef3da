/** Reads pages as a browser would: their answers with a session, and what Chromium draws of them. */
import { type Browser, chromium, type Page } from 'playwright-core'
import * as assert from 'uvu/assert'
import { servePages } from '../../src/ui/server/serve.ts'
import { BROWSER } from './browser.ts'

export type Reading = {
  readonly base: string
  /** The page to begin at. */
  readonly start: string
  /** Name and value of the session's cookie. */
  readonly session: () => Promise<readonly [name: string, value: string]>
  /** Returns the status and the body of an answer, e.g. of `/api/runs`. */
  readonly ask: (path: string) => Promise<{ readonly status: number; readonly body: unknown }>
  /** Returns the body of an answer on the run `run`. */
  readonly get: <T>(path: string) => Promise<T>
}

/** Serves pages while `work` runs. `start` is the page that the link opens. */
export async function readPages(start: string, work: (reading: Reading) => Promise<void>): Promise<void> {
  const server = await servePages(start, 0)
  const base = `http://127.0.0.1:${server.port}`
  let cookie = ''
  async function ask(path: string) {
    const answer = await fetch(base + path, { headers: { cookie } })
    return { status: answer.status, body: (await answer.json()) as unknown }
  }
  /** A link is good for one browser, so the session begins with the first question. */
  async function begin(): Promise<void> {
    if (cookie !== '') return
    const body = JSON.stringify({ token: new URL(server.link).hash.slice(1) })
    const answer = await fetch(`${base}/api/session`, { method: 'POST', body })
    cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0]
  }
  try {
    await work({
      base,
      start,
      async session() {
        await begin()
        const [name, value] = cookie.split('=')
        return [name, value]
      },
      async ask(path) {
        await begin()
        return ask(path)
      },
      async get<T>(path: string): Promise<T> {
        await begin()
        const { status, body } = await ask(`/api/r/run${path}`)
        assert.is(status, 200, JSON.stringify(body))
        return body as T
      },
    })
  } finally {
    await server.close()
  }
}

/** Whether there is a browser. It says SKIP if there is none. */
export function hasBrowser(): boolean {
  if (BROWSER === undefined) process.stdout.write('SKIP the pages in a browser: there is no Chromium\n')
  return BROWSER !== undefined
}

/**
 * Opens the first page in a browser that has a session, and asks nobody but the server.
 * @param options for the browser
 */
export async function browse(
  { base, start, session }: Reading,
  work: (page: Page) => Promise<void>,
  { bypassCSP }: Pick<Watching, 'bypassCSP'> = {},
): Promise<void> {
  const [name, value] = await session()
  await watchPage(base + start, /^(http:\/\/127\.0\.0\.1:|data:|blob:)/, work, {
    cookie: { name, value, url: base },
    bypassCSP,
  })
}

/**
 * Opens a file in a browser. The file may ask nobody.
 * @param expected messages of the console that are no fault
 */
export async function openFile(
  address: string,
  work: (page: Page) => Promise<void>,
  expected?: RegExp,
): Promise<void> {
  await watchPage(address, /^(file:|data:|blob:)/, work, { expected })
}

type Watching = {
  readonly cookie?: { readonly name: string; readonly value: string; readonly url: string }
  readonly expected?: RegExp
  /** For scripts that a test puts into the page. */
  readonly bypassCSP?: boolean
}

/** It fails if a page throws, warns in its console, or asks anybody else. */
async function watchPage(
  address: string,
  allowed: RegExp,
  work: (page: Page) => Promise<void>,
  { cookie, expected, bypassCSP = false }: Watching,
): Promise<void> {
  const opened: Browser = await chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox'] })
  const wrong: string[] = []
  try {
    const page = await opened.newPage({ bypassCSP })
    page.on('pageerror', (error) => wrong.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error' && !expected?.test(message.text())) wrong.push(message.text())
    })
    page.on('request', (asked) => {
      if (!allowed.test(asked.url())) wrong.push(asked.url())
    })
    if (cookie) await page.context().addCookies([cookie])
    await page.goto(address)
    await page.locator('h1').first().waitFor({ state: 'attached' })
    await work(page)
    assert.equal(wrong, [])
  } finally {
    await opened.close()
  }
}
