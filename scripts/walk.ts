/**
 * `npm run -s walk` makes a fresh default run of ten iterations, and walks through its pages in Chromium: each of five
 * goals by mouse alone, then by keyboard alone. What a page shows is compared with the log of the run. The last line is
 * `walks=N done=N most_actions=N external=N`. It prints SKIP if there is no Chromium.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { chromium, type Page } from 'playwright-core'
import { runFolder } from '../src/broker/connection.ts'
import { isProgram, programFolders } from '../src/platform/programs.ts'
import { GOALS, type Walk } from './walk/goals.ts'
import { type Hands, keyboard, mouse } from './walk/hands.ts'

const RUN = 'walk'
const ITERATIONS = 10
const MOST_ACTIONS = 5
const LINK = /http:\/\/127\.0\.0\.1:\d+\S+/
const LINK_MS = 120_000
const RUN_MS = 30 * 60_000

const browser = programFolders()
  .flatMap((folder) => ['chromium-headless-shell', 'chromium'].map((name) => join(folder, name)))
  .find(isProgram)

const root = mkdtempSync(join(tmpdir(), 'rl-walk-'))
process.env.RL_RUNS = root
let [walks, done, most, external] = [0, 0, 0, 0]

/** Starts a command of this project, and returns the link that it prints. */
async function linkOf(words: readonly string[]): Promise<{ child: ChildProcess; link: string }> {
  // A group of its own, so that npm and what it starts end together.
  const child = spawn('npm', words, { stdio: ['ignore', 'pipe', 'inherit'], detached: true })
  const lines = createInterface({ input: child.stdout! })
  const timer = setTimeout(() => interrupt(child), LINK_MS)
  try {
    for await (const line of lines) {
      const [link] = LINK.exec(line) ?? []
      if (link === undefined) continue
      // What comes later is read, so that the command never waits for a reader.
      child.stdout?.resume()
      return { child, link }
    }
  } finally {
    clearTimeout(timer)
  }
  throw new Error(`${words.join(' ')} printed no link`)
}

function interrupt({ pid }: ChildProcess): void {
  if (pid !== undefined) process.kill(-pid, 'SIGINT')
}

async function walkAll(page: Page, start: string, goals: readonly Walk[]): Promise<void> {
  for (const goal of goals)
    for (const hands of [mouse(page), keyboard(page)]) {
      await page.goto(start)
      await page.locator('main h1').first().waitFor({ state: 'attached' })
      walks++
      await walkOnce(page, goal, hands)
    }
}

async function walkOnce(page: Page, goal: Walk, hands: Hands): Promise<void> {
  const name = `${goal.name}, by ${hands.name}`
  try {
    const found = await goal.walk(page, hands, runFolder(RUN))
    const actions = hands.actions()
    most = Math.max(most, actions)
    if (actions <= MOST_ACTIONS) done++
    process.stdout.write(`${name}: ${actions} actions, ${found}\n`)
  } catch (error) {
    process.stdout.write(`${name}: not done: ${error instanceof Error ? error.message : String(error)}\n`)
  }
}

async function open(link: string, work: (page: Page, start: string) => Promise<void>): Promise<void> {
  const opened = await chromium.launch({ executablePath: browser, args: ['--no-sandbox'] })
  try {
    const page = await opened.newPage()
    page.setDefaultTimeout(30_000)
    page.on('request', (asked) => {
      if (!/^(http:\/\/127\.0\.0\.1:|data:|blob:)/.test(asked.url())) external++
    })
    await page.goto(link)
    const start = new URL(link)
    start.hash = ''
    await work(page, start.href)
  } finally {
    await opened.close()
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  interrupt(child)
  await ended
}

async function main(): Promise<void> {
  const begin = ['start', '--', '--role', 'head', '--run', RUN, '--set', `run.iterations=${ITERATIONS}`]
  const head = await linkOf(begin)
  try {
    await open(head.link, (page, start) =>
      walkAll(
        page,
        start,
        GOALS.filter(({ live }) => live),
      ),
    )
    if (head.child.exitCode === null) await once(head.child, 'exit', { signal: AbortSignal.timeout(RUN_MS) })
  } finally {
    await end(head.child)
  }
  const pages = await linkOf(['run', '-s', 'rl', '--', 'ui', RUN, '--print-url'])
  try {
    await open(pages.link, (page, start) =>
      walkAll(
        page,
        start,
        GOALS.filter(({ live }) => !live),
      ),
    )
  } finally {
    await end(pages.child)
  }
}

if (browser === undefined) process.stdout.write('SKIP the walk: there is no Chromium\n')
else
  try {
    await main()
    process.exitCode = done === walks && external === 0 ? 0 : 1
    process.stdout.write(`walks=${walks} done=${done} most_actions=${most} external=${external}\n`)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
