/** Every screen of a run that is playing, of each setting, in a real browser; and a page whose run loses its broker. */
import '../support/packages.ts'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { chromium, type Page } from 'playwright-core'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { isProgram, programFolders } from '../../src/platform/programs.ts'
import { pathOf, pathOfRollout } from '../../src/ui/logic/route.ts'
import { eventsBelow } from '../support/logged.ts'
import { type Started, startProcess } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'
import { BROWSER } from './browser.ts'
import { hasBrowser } from './reading-pages.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const WAIT_MS = 240_000

/** Makes each run short of work and long of iterations: it plays as long as somebody looks. */
const SMALL = [
  ...['policy.provider=simulated', 'rewardModel.mode=off', 'learning.reward=outcome', 'run.iterations=500'],
  ...['environment.tasks=4', 'environment.tasksPerIteration=2', 'environment.rolloutsPerTask=2'],
  ...[
    'environment.minGroupSize=2',
    'evaluation.tasks=2',
    'evaluation.rollouts=1',
    'adaptation.enabled=false',
  ],
]

/** Further keys of each setting. */
const SETTINGS: Readonly<Record<string, readonly string[]>> = {
  alfworld: [],
  simulated: [],
  coding: ['environment.source=generated', 'policy.acting=free'],
  web: ['environment.maxSteps=4'],
  tools: ['environment.source=generated', 'policy.acting=free', 'environment.maxSteps=4'],
  desktop: ['environment.maxSteps=4', 'environment.desktop.desktops=1'],
}

function startHead(name: string, more: readonly string[]): Started {
  const words = [...(name === 'broken' ? [] : [`environment.name=${name}`]), ...SMALL, ...more].flatMap(
    (setting) => ['--set', setting],
  )
  return startProcess(['src/main.ts', '--role', 'head', '--run', name, ...words], { RL_RUNS: root })
}

/** Paths of all screens of a run, with an iteration, a group and a rollout of it. */
function screensOf(run: string): readonly string[] {
  const [played] = eventsOf(run, ['TrajectoryCompleted']).filter(({ data }) => data.purpose === 'train')
  const { iteration, slot, rollout } = (played as LoggedEvent<'TrajectoryCompleted'>).data
  const of = (...parts: readonly (string | number)[]) => pathOf(run, ...parts)
  return [
    ...['/', of(), of('i'), of('i', iteration), of('g', iteration, slot), pathOfRollout(run, rollout)],
    ...[of('tasks'), of('tasks', slot), of('versions'), of('versions', 'policy', 0), of('judge')],
    ...[of('actors'), of('projections'), of('events'), `${of()}?at=12`],
  ]
}

const hasDesktop = ['Xvfb', 'bwrap'].every((name) =>
  programFolders().some((folder) => isProgram(join(folder, name))),
)

async function linkOf(head: Started): Promise<string> {
  await until('the link', () => /look +http\S+/.test(head.output()), WAIT_MS)
  return /look +(http\S+)/.exec(head.output())![1]
}

const iterations = (run: string) => eventsOf(run, ['IterationCompleted']).length

/** Waits until the page draws a further iteration, without being asked. */
async function followed(run: string, page: Page): Promise<void> {
  const shown = () => page.locator('main').innerText()
  const before = await shown()
  const ended = iterations(run)
  await until('a further iteration', () => iterations(run) > ended, WAIT_MS)
  await until('it is drawn', async () => (await shown()) !== before, 30_000)
}

if (hasBrowser()) {
  for (const [name, more] of Object.entries(SETTINGS)) {
    if (name === 'desktop' && !hasDesktop) {
      process.stdout.write('SKIP screens of a running desktop: Xvfb or bwrap missing\n')
      continue
    }
    test(`each screen of a running ${name} is drawn, without a fault`, async () => {
      const head = startHead(name, more)
      const browser = await chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox'] })
      try {
        const link = await linkOf(head)
        await until('two iterations', () => iterations(name) > 1 || head.process.exitCode !== null, WAIT_MS)
        assert.is(head.process.exitCode, null, head.output())
        const page = await browser.newPage()
        const faults: string[] = []
        page.on('pageerror', (error) => faults.push(error.message))
        page.on('request', (asked) => {
          if (!/^(http:\/\/127\.0\.0\.1:|data:|blob:)/.test(asked.url())) faults.push(`asked ${asked.url()}`)
        })
        await page.goto(link)
        await page.locator('main h1').first().waitFor()
        for (const path of screensOf(name)) {
          await page.goto(new URL(path, link).href)
          await page.locator('main h1').first().waitFor({ state: 'attached' })
          await page.locator('.loading').first().waitFor({ state: 'detached' })
          // The judge may speak while its page is drawn, and a page shows that it loads only after a while.
          const silent = () => path.endsWith('/judge') && eventsOf(name, ['StepScored']).length === 0
          let told: string[] = []
          await until(
            `${path} without a fault`,
            async () => {
              told = await page.locator('main [role=alert]').allInnerTexts()
              return silent()
                ? told.length === 1 && /has said nothing/.test(told[0] ?? '')
                : told.length === 0
            },
            30_000,
          ).catch((error) => assert.unreachable(`${error}: ${told}`))
        }
        await page.goto(new URL(pathOf(name), link).href)
        await page.locator('main h1').first().waitFor()
        await followed(name, page)
        assert.equal(faults, [])
      } finally {
        await browser.close()
        head.process.kill('SIGINT')
        await head.status
      }
    })
  }

  test('a page stays while the broker of its run is killed, and follows the run again', async () => {
    const head = startHead('broken', ['environment.name=simulated'])
    const browser = await chromium.launch({ executablePath: BROWSER, args: ['--no-sandbox'] })
    try {
      const page = await browser.newPage()
      await page.goto(await linkOf(head))
      await page.locator('main h1').first().waitFor()
      await followed('broken', page)
      const pid = Number(readFileSync(join(runFolder('broken', root).folder, 'broker', 'nats.pid'), 'utf8'))
      process.kill(pid, 'SIGKILL')
      await page.reload()
      await page.locator('main h1').first().waitFor()
      await followed('broken', page)
      assert.is(head.process.exitCode, null, head.output())
    } finally {
      await browser.close()
      head.process.kill('SIGINT')
      await head.status
    }
  })
}

test.run()
