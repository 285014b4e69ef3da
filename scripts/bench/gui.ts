/**
 * Pages in a real browser: time of a reset, a step and an episode, pictures, memory. If playwright-core is
 * there (`npm install --no-save playwright-core`), it plays the same page in the same run. Then desktops
 * (bench desktop).
 */
import { existsSync, readFileSync } from 'node:fs'
import { lookForBrowser } from '../../packages/environment-web/src/browser/find.ts'
import { type WebEnvironment, webEnvironment } from '../../packages/environment-web/src/environment.ts'
import { ownSite } from '../../packages/environment-web/src/own/site.ts'
import type { Task } from '../../src/environments/port.ts'
import { installHint } from '../../src/platform/programs.ts'
import { median, report } from './report.ts'

const SEED = [1, 1] as const
const MAX_STEPS = 20
const program = lookForBrowser()

if (program === null) process.stdout.write(`SKIP gui: there is no Chromium; ${installHint('chromium')}\n`)
else {
  await measureSteps()
  await measureEpisodes()
  await measurePictures()
  await measurePlaywright()
}
await import('./desktop.ts')

function open(pages: number): WebEnvironment {
  const counts = { train: 200, 'in-domain': 1, ood: 1 }
  return webEnvironment({ site: ownSite({ seed: 1, counts, difficulty: 'easy' }), browser: null, pages })
}

/** One page, one episode after the other, played by the oracle. */
async function measureSteps(): Promise<void> {
  const environment = open(1)
  const resets: number[] = []
  const steps: number[] = []
  try {
    const tasks = await environment.tasks('train')
    for (const task of [...tasks.slice(0, 20), ...tasks]) await play(environment, task, resets, steps)
  } finally {
    await environment.close()
  }
  const note =
    'own pages, one page, DOM events; read back with all lines and commands, and the oracle’s advice'
  report({
    suite: 'gui',
    name: 'reset_p50_ms',
    value: median(resets),
    unit: 'ms',
    goal: '<= 3',
    n: resets.length,
    note,
  })
  report({
    suite: 'gui',
    name: 'step_p50_ms',
    value: median(steps),
    unit: 'ms',
    goal: '<= 3',
    n: steps.length,
    note,
  })
}

async function play(
  environment: WebEnvironment,
  task: Task,
  resets: number[] = [],
  steps: number[] = [],
): Promise<number> {
  const started = performance.now()
  let episode = await environment.reset(task, { seed: SEED, maxSteps: MAX_STEPS })
  resets.push(performance.now() - started)
  while (!episode.turn.done) {
    const before = performance.now()
    episode = await episode.step(environment.expert.advise(episode.turn))
    steps.push(performance.now() - before)
  }
  return episode.steps
}

/** Episodes of `login` (three steps) on two pages. */
async function measureEpisodes(): Promise<void> {
  const environment = open(2)
  try {
    const tasks = (await environment.tasks('train')).filter(({ kind }) => kind === 'login')
    const rounds = []
    const count = 200
    for (let round = 0; round < 5; round++) {
      const started = performance.now()
      const worker = async (first: number) => {
        for (let i = first; i < count; i += 2) await play(environment, tasks[i % tasks.length])
      }
      await Promise.all([worker(0), worker(1)])
      rounds.push((1000 * count) / (performance.now() - started))
    }
    const note = 'login (3 steps) by the oracle, 2 pages'
    report({
      suite: 'gui',
      name: 'episodes_per_s',
      value: median(rounds),
      unit: '1/s',
      goal: '>= 250',
      n: rounds.length,
      note,
    })
  } finally {
    await environment.close()
  }
}

/** A step and a PNG on each of eight pages, and the memory that they take. */
async function measurePictures(): Promise<void> {
  const pages = 8
  const environment = open(pages)
  try {
    const tasks = (await environment.tasks('train')).slice(0, pages)
    const each = 20
    const rounds = []
    // The first one opens the pages.
    for (let round = 0; round <= 3; round++) {
      const started = performance.now()
      await Promise.all(
        tasks.map(async (task) => {
          for (let i = 0; i < each; i++) {
            const episode = await environment.reset(task, { seed: SEED, maxSteps: MAX_STEPS })
            await environment.picture(episode)
          }
        }),
      )
      if (round > 0) rounds.push((1000 * pages * each) / (performance.now() - started))
    }
    const value = median(rounds)
    const note = `reset and PNG, ${pages} pages, after a round that opens them`
    report({
      suite: 'gui',
      name: 'png_steps_per_s',
      value,
      unit: '1/s',
      goal: '>= 150',
      n: rounds.length,
      note,
    })
    const pss = pssOf(environment.pool.pid() ?? 0)
    if (pss > 0)
      report({
        suite: 'gui',
        name: 'browser_pss_mb',
        value: pss,
        unit: 'MB',
        goal: '<= 400',
        n: 1,
        note: `${pages} pages`,
      })
  } finally {
    await environment.close()
  }
}

/**
 * Proportional set size of a process and all its descendants, in MB. Returns 0 if the system does not tell
 * it.
 */
function pssOf(pid: number): number {
  const rollup = `/proc/${pid}/smaps_rollup`
  if (!existsSync(rollup)) return 0
  const own = Number(/^Pss:\s+(\d+) kB/m.exec(readFileSync(rollup, 'utf8'))?.[1] ?? 0) / 1024
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  return own + children.reduce((sum, child) => sum + pssOf(Number(child)), 0)
}

type Playwright = {
  readonly chromium: {
    launch(options: object): Promise<{
      newPage(): Promise<PlaywrightPage>
      close(): Promise<void>
    }>
  }
}
type PlaywrightPage = {
  setContent(html: string): Promise<void>
  evaluate(source: string): Promise<unknown>
  fill(selector: string, text: string): Promise<void>
}

/** The same step (a field is filled, and the page read) by playwright-core and here, in turn. */
async function measurePlaywright(): Promise<void> {
  const name = 'playwright-core'
  const loaded: unknown = await import(name).catch(() => null)
  if (loaded === null) {
    process.stdout.write(`SKIP gui step_vs_playwright: npm install --no-save ${name}\n`)
    return
  }
  const { chromium } = loaded as Playwright
  const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] })
  const environment = open(1)
  try {
    const page = await browser.newPage()
    await page.setContent(
      '<label>user<input id=user></label><label>password<input id=password></label><button>login</button>',
    )
    const task = (await environment.tasks('train')).find(({ kind }) => kind === 'login') as Task
    const start = await environment.reset(task, { seed: SEED, maxSteps: 1000 })
    const fill = start.turn.admissible.filter((action) => action.startsWith('type '))
    const [theirs, ours]: [number[], number[]] = [[], []]
    let episode = start
    for (let i = 0; i < 220; i++) {
      const before = performance.now()
      await page.fill('#user', `user ${i}`)
      await page.evaluate(
        "[...document.querySelectorAll('input,button')].map((e) => [e.tagName, e.innerText, e.value])",
      )
      const between = performance.now()
      episode = (await episode.step(fill[i % fill.length])) as typeof episode
      const after = performance.now()
      if (i < 20) continue
      theirs.push(between - before)
      ours.push(after - between)
    }
    const value = median(theirs) / median(ours)
    const note = `a field filled and the page read: ${median(theirs).toFixed(1)} ms by ${name}, ${median(ours).toFixed(1)} ms here`
    report({ suite: 'gui', name: 'step_vs_playwright', value, unit: 'x', goal: '>= 5', n: ours.length, note })
  } finally {
    await browser.close()
    await environment.close()
  }
}
