/**
 * Pages of a generated run of a million events (RL_BENCH_EVENTS changes the number): size, answers, states, what a browser
 * shows when, memory, and what the pages cost a run. Without a Chromium the figures of the browser are left out.
 */
import { cpSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { runFolder } from '../../src/broker/connection.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { cachePlace } from '../../src/package.ts'
import { isProgram, programFolders } from '../../src/platform/programs.ts'
import { rng } from '../../src/random.ts'
import { pageBundle } from '../../src/ui/server/bundle.ts'
import { openDoor } from '../../src/ui/server/door.ts'
import { median, percentile, report } from './report.ts'
import { bigLog } from './ui/big-log.ts'
import { measureBrowser } from './ui/in-browser.ts'
import { type PageProcess, startPages } from './ui/page-process.ts'

const EVENTS = Number(process.env.RL_BENCH_EVENTS ?? 1_000_000)
const RUN = 'bench'
/** Questions of each kind. */
const ASKED = 12
const STATES = 60
const DOORS = 5
const BUILD_MS = 300_000

const browser = programFolders()
  .flatMap((folder) => ['chromium-headless-shell', 'chromium'].map((name) => join(folder, name)))
  .find(isProgram)

function say(name: string, value: number, unit: string, goal: string | null, n: number, note = ''): void {
  report({ suite: 'ui', name, value, unit, goal, n, note })
}

// A copy, since the log grows here.
const root = mkdtempSync(join(tmpdir(), 'rl-bench-ui-'))
const folder = runFolder(RUN, root)
cpSync(bigLog(EVENTS).folder, folder.folder, { recursive: true })
process.env.RL_RUNS = root
const { script, style } = await pageBundle()
say(
  'javascript_gzip_kb',
  gzipSync(script).length / 1000,
  'kB',
  '<= 60',
  1,
  `style ${gzipSync(style).length} B`,
)

const log = openLogReader(folder.log)
const end = log.head().position
const scored = log.newest(['StepScored'])
const ended = log.newest(['IterationCompleted'])
const iterations = ended?.type === 'IterationCompleted' ? ended.data.iteration : 0
const of = `${end} events, ${iterations} iterations`
const draw = rng([1, 1])
const anyPosition = () => 1 + draw.below(end)
const anyIteration = () => 1 + draw.below(iterations)

await measureDoor()
const building = await startPages(root, RUN)
try {
  tellIndex(await built(building), building.memory()?.peak ?? 0)
} finally {
  await building.close()
}
const pages = await startPages(root, RUN)
try {
  await built(pages)
  await measureAnswers(pages)
  if (browser === undefined) process.stdout.write('SKIP the browser: there is no Chromium\n')
  else if (scored?.type === 'StepScored')
    await measureBrowser({ executablePath: browser, pages, folder, scored, say })
  const memory = pages.memory()
  if (memory !== null)
    say(
      'process_mb',
      memory.now,
      'MB',
      '<= 160',
      1,
      `${of}, after all of the above; peak ${Math.round(memory.peak)}, of its own ${Math.round(memory.own)}; of sources, whose types are stripped`,
    )
} finally {
  await pages.close()
  log.close()
  rmSync(root, { recursive: true, force: true })
}

/** Before somebody looks, a head has a listening socket and no process. */
async function measureDoor(): Promise<void> {
  const without: number[] = []
  const open: number[] = []
  for (let i = 0; i < DOORS; i++) {
    without.push(await idleShare())
    const door = await openDoor({ path: `/r/${RUN}`, log: join(root, 'ui.log') })
    open.push(await idleShare())
    await door.close()
  }
  const share = Math.max(0, median(open) - median(without))
  const note = `processor time of the open door, beside ${median(without).toFixed(2)} % of this process without it`
  say('loop_slowed_closed_percent', Number(share.toFixed(1)), '%', '<= 0', DOORS, note)
}

/** Processor time of this process while it waits, in percent of one processor. */
async function idleShare(): Promise<number> {
  const before = process.cpuUsage()
  const begun = performance.now()
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 10 / (performance.now() - begun)
}

/** Waits for the index and the figures. Returns the time that it took, in seconds. */
async function built({ ask }: PageProcess): Promise<number> {
  const begun = performance.now()
  for (;;) {
    const { complete } = JSON.parse((await ask('/overview')).text)
    const { built } = JSON.parse((await ask('/density')).text)
    if (complete && built >= 1) break
    if (performance.now() - begun > BUILD_MS) throw new Error('the index is not built in time')
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
  return (performance.now() - begun) / 1000
}

function tellIndex(seconds: number, peak: number): void {
  const place = cachePlace('ui', `${RUN}-${log.hashAt(1).slice(0, 16)}`)
  const bytes = readdirSync(place).reduce((sum, file) => sum + statSync(join(place, file)).size, 0)
  const note = `${of}; ready after ${seconds.toFixed(1)} s, peak of the process ${Math.round(peak)} MB`
  say('index_mb', (bytes / 1e6 / end) * 1e6, 'MB a million events', '<= 40', 1, note)
}

async function measureAnswers({ ask }: PageProcess): Promise<void> {
  const some = JSON.parse((await ask(`/iterations/${anyIteration()}`)).text)
  const { iteration } = some
  const group = some.groups.find((one: { cells: { state: string }[] }) => one.cells[0]?.state === 'played')
  const lanes = JSON.parse((await ask('/tasks')).text).lanes as { slot: string }[]
  const routes: Readonly<Record<string, () => string>> = {
    head: () => '/head',
    overview: () => '/overview',
    events: () => `/events?from=${anyPosition()}`,
    event: () => `/events/${anyPosition()}`,
    group: () => `/groups/${iteration}/${group.slot}`,
    trajectory: () => `/rollouts/${group.cells[draw.below(group.cells.length)].rollout}`,
    tasks: () => '/tasks',
    task: () => `/tasks/${lanes[draw.below(lanes.length)].slot}`,
    why: () => `/why/${Math.max(2, anyIteration())}?series=train`,
    versions: () => '/versions',
    version: () => `/versions/policy/${anyIteration()}`,
    projections: () => '/projections',
    actors: () => '/actors',
    density: () => '/density',
  }
  const all: number[] = []
  const each: string[] = []
  for (const [name, path] of Object.entries(routes)) {
    await ask(path())
    const times = await timesOf(ask, path, ASKED)
    all.push(...times)
    each.push(`${name} ${percentile(times, 0.95).toFixed(0)}`)
  }
  say(
    'page_p95_ms',
    percentile(all, 0.95),
    'ms',
    '<= 20',
    all.length,
    `${of}; p95 of each: ${each.join(', ')}`,
  )
  for (const [name, path] of [
    ['heat_map', () => `/iterations/${anyIteration()}`],
    ['judge', () => `/judge?i=${anyIteration()}`],
  ] as const) {
    const times = await timesOf(ask, path, 3 * ASKED)
    say(
      `${name}_p95_ms`,
      percentile(times, 0.95),
      'ms',
      '<= 50',
      times.length,
      `${of}; p50 ${median(times).toFixed(0)}`,
    )
  }
  await ask(`/states?at=${anyPosition()}`)
  const states = await timesOf(ask, () => `/states?at=${anyPosition()}`, STATES)
  const note = `${of}; state and context of five deciders, p50 ${median(states).toFixed(0)}`
  say('state_p95_ms', percentile(states, 0.95), 'ms', '<= 150', states.length, note)
}

async function timesOf(ask: PageProcess['ask'], path: () => string, n: number): Promise<number[]> {
  const times: number[] = []
  for (let i = 0; i < n; i++) times.push((await ask(path())).ms)
  return times
}
