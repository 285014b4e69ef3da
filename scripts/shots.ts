/**
 * `npm run -s shots` draws every screen in both themes into docs/ui, and lets axe look at each. The last line is
 * `screens=N files=N violations=N`. It prints SKIP if there is no Chromium.
 */
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { chromium, type Page, type Request } from 'playwright-core'
import { isProgram, programFolders } from '../src/platform/programs.ts'
import { servePages } from '../src/ui/server/serve.ts'
import { violations } from './shots/axe.ts'
import { palettePng } from './shots/palette-png.ts'
import { makeShownRuns, type Shown } from './shots/shown-runs.ts'

const FOLDER = 'docs/ui'
const MOST_BYTES = 150_000
const VIEWPORT = { width: 1200, height: 750 }
/** A day after the shown runs, so that their ages never change. */
const NOW = Date.UTC(2026, 0, 13, 9, 0)
const THEMES = ['light', 'dark'] as const

const browser = programFolders()
  .flatMap((folder) => ['chromium-headless-shell', 'chromium'].map((name) => join(folder, name)))
  .find(isProgram)

const root = mkdtempSync(join(tmpdir(), 'rl-shots-'))
process.env.RL_RUNS = root

/** Draws the pages once all that they ask for is there. Returns the number of violations. */
async function draw(page: Page, base: string, screens: readonly Shown[]): Promise<number> {
  let wrong = 0
  for (const { name, path } of screens)
    for (const theme of THEMES) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' })
      await page.goto(base + path, { waitUntil: 'load' })
      await page.locator('main h1').first().waitFor({ state: 'attached' })
      await page.waitForFunction(IS_DRAWN)
      await answered(page)
      const file = join(FOLDER, `${name}-${theme}.png`)
      const bytes = palettePng(await page.screenshot({ animations: 'disabled' }))
      writeFileSync(file, bytes)
      if (bytes.length > MOST_BYTES) throw new Error(`${file} has ${bytes.length} bytes`)
      for (const line of await violations(page)) {
        wrong++
        process.stdout.write(`${name}, ${theme}: ${line}\n`)
      }
    }
  return wrong
}

/** Resolves once no answer is waited for. The stream of new events never ends. */
async function answered(page: Page): Promise<void> {
  const open = pending.get(page) ?? new Set()
  for (let quiet = 0; quiet < 3; quiet = open.size === 0 ? quiet + 1 : 0) await page.waitForTimeout(100)
}

const pending = new WeakMap<Page, Set<Request>>()

function watch(page: Page): void {
  const open = new Set<Request>()
  pending.set(page, open)
  page.on('request', (asked) => {
    if (!asked.url().endsWith('/live')) open.add(asked)
  })
  for (const end of ['requestfinished', 'requestfailed'] as const)
    page.on(end as 'requestfinished', (asked) => open.delete(asked))
}

const IS_DRAWN = `!document.querySelector('.loading, .strip-share') &&
  !/figures are still folded|reading the log/.test(document.body.innerText) &&
  (!document.querySelector('.strip') || document.querySelector('.strip rect.part') !== null) &&
  performance.getEntriesByType('resource').every((one) => one.responseEnd > 0)`

async function main(): Promise<void> {
  const screens = makeShownRuns(root)
  mkdirSync(FOLDER, { recursive: true })
  for (const file of readdirSync(FOLDER)) if (file.endsWith('.png')) rmSync(join(FOLDER, file))
  const server = await servePages('/', 0)
  const opened = await chromium.launch({ executablePath: browser, args: ['--no-sandbox'] })
  try {
    const context = await opened.newContext({
      viewport: VIEWPORT,
      locale: 'en-GB',
      timezoneId: 'UTC',
      bypassCSP: true,
    })
    const page = await context.newPage()
    page.setDefaultTimeout(60_000)
    watch(page)
    await page.clock.setFixedTime(NOW)
    await page.goto(server.link)
    await page.locator('main h1').first().waitFor()
    const wrong = await draw(page, `http://127.0.0.1:${server.port}`, screens)
    const files = readdirSync(FOLDER).filter((file) => statSync(join(FOLDER, file)).size > 0)
    process.stdout.write(`screens=${screens.length} files=${files.length} violations=${wrong}\n`)
    process.exitCode = wrong === 0 ? 0 : 1
  } finally {
    await opened.close()
    await server.close()
  }
}

if (browser === undefined) process.stdout.write('SKIP the pictures: there is no Chromium\n')
else
  try {
    await main()
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
