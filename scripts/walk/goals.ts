/** What a person wants of a run, how the pages lead there, and how the log proves what was found. */
import { rmSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { type RunFolder, runFolder } from '../../src/broker/connection.ts'
import type { EventType, LoggedEvent } from '../../src/events/catalogue.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { progressLabel } from '../../src/learning/progress-labels.ts'
import type { Action, Hands } from './hands.ts'

export type Walk = {
  readonly name: string
  /** Whether the run must still go on. */
  readonly live: boolean
  /**
   * Walks from the overview, and returns what was found.
   * @throws Error if the log says otherwise
   */
  readonly walk: (page: Page, hands: Hands, folder: RunFolder) => Promise<string>
}

const tab = (name: string, key: string): Action => ({
  click: (page) => page.getByRole('navigation', { name: 'screens' }).getByRole('link', { name }),
  keys: [`g ${key}`],
})
const firstRow = (page: Page) => page.locator('main tbody tr[data-row] th a').first()
const FIRST_ROW: Action = { click: firstRow, keys: ['j', 'Enter'] }
const button = (name: string, key: string): Action => ({
  click: (page) => page.getByRole('button', { name, exact: true }),
  keys: [key],
})

export const GOALS: readonly Walk[] = [
  {
    name: 'pause and resume',
    live: true,
    async walk(page, { act }, folder) {
      const before = countOf(folder, 'RunResumed')
      await act(button('pause', 'p'))
      await page.locator('pre.command', { hasText: `rl -- pause ${folder.run}` }).waitFor()
      await act(button('Pause the run', 'Enter'))
      await page.locator('.state.paused').waitFor()
      wants('RunPaused', countOf(folder, 'RunPaused') === before + 1)
      await act(button('resume', 'p'))
      await page.locator('pre.command', { hasText: `rl -- resume ${folder.run}` }).waitFor()
      await act(button('Resume the run', 'Enter'))
      await page.locator('.state.running').waitFor()
      wants('RunResumed', countOf(folder, 'RunResumed') === before + 1)
      return 'RunPaused and RunResumed are in the log'
    },
  },
  {
    name: 'find a rewritten task',
    live: false,
    async walk(page, { act }, folder) {
      await act(tab('Tasks', 't'))
      await act(FIRST_ROW)
      await page.locator('ins').first().waitFor()
      const slot = await page.locator('main h1').innerText()
      const goal = await page
        .locator('section.task-version')
        .filter({ has: page.locator('ins') })
        .first()
      const shown = (await goal.getAttribute('aria-label')) ?? ''
      const proposal = eventOf(folder, 'TaskProposed', ({ data }) => shown.endsWith(data.task.id))
      wants('TaskProposed of that task', proposal.data.slot === slot)
      return `${slot} was rewritten into ${proposal.data.task.id}`
    },
  },
  {
    name: 'why it was accepted',
    live: false,
    async walk(page, { act }, folder) {
      await act(tab('Tasks', 't'))
      await act(FIRST_ROW)
      await page.getByRole('heading', { name: 'Why was it accepted?' }).first().waitFor()
      const version = page.locator('section.task-version').filter({ has: page.locator('.why-box.yes') })
      const shown = (await version.first().getAttribute('aria-label')) ?? ''
      const said = await version.first().locator('.why-box').innerText()
      const accepted = eventOf(folder, 'TaskAccepted', ({ data }) => shown.endsWith(data.task))
      const { successes, n } = accepted.data.accuracy
      wants(`${successes} of ${n} times in: ${said}`, said.includes(`${successes} of ${n}`))
      return `the candidate was solved ${successes} of ${n} times: ${accepted.data.reason}`
    },
  },
  {
    name: 'the step that the judge got wrong',
    live: false,
    async walk(page, { act }, folder) {
      await act(tab('Judge', 'j'))
      await act(FIRST_ROW)
      const step = await wrongStep(page, folder)
      return `${step.data.rollout}#${step.data.step} was called ${sumOf(step) > 0 ? 'good' : 'bad'} in error`
    },
  },
  {
    name: 'a fork before it',
    live: false,
    async walk(page, { act }, folder) {
      await act(tab('Judge', 'j'))
      await act(FIRST_ROW)
      const step = await wrongStep(page, folder)
      await act({
        click: () =>
          page.locator('tr[aria-selected=true]').getByRole('button', { name: 'fork before its verdict' }),
        keys: ['f'],
      })
      await page.locator('pre.command', { hasText: `--at ${step.position - 1}` }).waitFor()
      await act(button('Make a fork', 'Enter'))
      const made = page.locator('dialog').getByRole('link')
      await made.waitFor()
      const own = runFolder(await made.innerText())
      const parent = reading(own, (fork) => fork.parent)
      // The next walk makes the same one.
      rmSync(own.folder, { recursive: true })
      const isRight = parent?.run === folder.run && parent.position === step.position - 1
      wants(`a fork at ${step.position - 1}`, isRight)
      return `${own.run} left the run right before its verdict`
    },
  },
]

async function wrongStep(page: Page, folder: RunFolder): Promise<LoggedEvent<'StepScored'>> {
  await page.locator('tr[aria-selected=true]').waitFor()
  const rollout = await page.locator('main h1').innerText()
  const step = Number(new URL(page.url()).searchParams.get('step'))
  const event = eventOf(folder, 'StepScored', ({ data }) => data.rollout === rollout && data.step === step)
  const outcome = eventOf(folder, 'TrajectoryCompleted', ({ data }) => data.rollout === rollout).data.outcome
  const { progress } = event.data
  const isGood =
    progress === null ? outcome.kind === 'scored' && outcome.success : progressLabel(progress) > 0
  wants(`a wrong verdict on ${rollout}#${step}`, sumOf(event) > 0 !== isGood)
  return event
}

function sumOf({ data }: LoggedEvent<'StepScored'>): number {
  return data.judgements.reduce((sum, { score }) => sum + score, 0)
}

function reading<T>({ log: path }: RunFolder, read: (log: LogReader) => T): T {
  const log = openLogReader(path)
  try {
    return read(log)
  } finally {
    log.close()
  }
}

function countOf(folder: RunFolder, type: EventType): number {
  return reading(folder, (log) => [...log.events({ types: [type] })].length)
}

function eventOf<T extends EventType>(
  folder: RunFolder,
  type: T,
  isWanted: (event: LoggedEvent<T>) => boolean,
): LoggedEvent<T> {
  const found = reading(folder, (log) => {
    for (const event of log.events({ types: [type] }))
      if (isWanted(event as LoggedEvent<T>)) return event as LoggedEvent<T>
    return null
  })
  if (found === null) throw new Error(`the log has no such ${type}`)
  return found
}

function wants(what: string, isSo: boolean): void {
  if (!isSo) throw new Error(`the log does not say: ${what}`)
}
