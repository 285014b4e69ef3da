/** A browser for the tests of pages, and what it may not do: ask others, or find a fault in the page. */
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { isProgram, programFolders } from '../../src/platform/programs.ts'
import { type PageServer, servePages } from '../../src/ui/server/serve.ts'

/** Path of the browser. Undefined if this machine has none. */
export const BROWSER = programFolders()
  .flatMap((folder) => ['chromium-headless-shell', 'chromium'].map((name) => join(folder, name)))
  .find(isProgram)

export type Watched = {
  readonly page: Page
  readonly server: PageServer
  /** Goes to another address of the same server. */
  readonly go: (path: string) => Promise<unknown>
  /** What went wrong in the page so far. Answers of 404 are asked for by tests and left out. */
  readonly faults: readonly string[]
}

/** Opens a path in a browser with a session. It fails if the page asks anybody else. */
export async function withBrowser(path: string, work: (watched: Watched) => Promise<void>): Promise<void> {
  const server = await servePages(path, 0)
  const opened = await chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox'] })
  try {
    const page = await opened.newPage()
    page.setDefaultTimeout(20_000)
    const faults: string[] = []
    page.on('pageerror', (error) => faults.push(error.message))
    page.on('console', (message) => {
      if (message.type() === 'error' && !message.text().includes('404')) faults.push(message.text())
    })
    page.on('request', (asked) => {
      if (!/^(http:\/\/127\.0\.0\.1:|data:|blob:)/.test(asked.url())) faults.push(`asked ${asked.url()}`)
    })
    await page.goto(server.link)
    await work({ page, server, faults, go: (path) => page.goto(`http://127.0.0.1:${server.port}${path}`) })
  } finally {
    await opened.close()
    await server.close()
  }
}
