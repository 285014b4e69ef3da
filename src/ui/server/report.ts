/** One file that shows a run anywhere, without a server: the page with its answers inside. */
import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { RlError } from '../../errors.ts'
import type { HttpEnv } from '../../platform/listen.ts'
import type { IterationPage, Overview, RunHead } from '../logic/answers.ts'
import { pageApp } from './app.ts'
import { pageBundle } from './bundle.ts'
import { openJobs } from './jobs.ts'
import { openListeners } from './live.ts'
import { openRuns } from './open-runs.ts'

/** Most bytes of a report. Browsers open such a file at once. */
export const MOST_BYTES = 5 * 1024 * 1024
/** The page itself takes some of them. */
const PAGE_BYTES = 400 * 1024
/** A report is full after so many pages in a row that did not fit in. The rest is counted and not made. */
const MOST_UNFIT = 20
/** Answers are packed together, as in the file: alone they would be twice as large. */
const BATCH = 256 * 1024

export type Report = {
  readonly html: Buffer
  /** Number of pages that the report holds, and of those that did not fit in. */
  readonly held: number
  readonly left: number
}

/**
 * Makes a report of a run as it stands. It holds the figures, the iterations, the tasks, the judge, and as many rollouts
 * as fit into 5 MB, those of the last iterations first.
 * @param onProgress hears how many answers are there
 * @param mostBytes size of the file
 * @throws RlError `run.unknown`, `ui.not-built`, and those of the log
 */
export async function makeReport(
  run: string,
  onProgress?: (count: number) => void,
  mostBytes = MOST_BYTES,
): Promise<Report> {
  // Base64 takes 4 bytes for 3.
  const mostPacked = Math.floor((mostBytes - PAGE_BYTES) * 0.75)
  const runs = openRuns()
  const reader = { isReader: () => true, begin: () => false }
  const app = pageApp({ session: reader, runs, listeners: openListeners(), jobs: openJobs() })
  const base = `/api/r/${encodeURIComponent(runs.open(run).folder.run)}`
  const answers: Record<string, unknown> = {}
  let [packed, batch, left, unfit] = [0, '', 0, 0]

  /** Whether a body still fits in. */
  function fits(body: string): boolean {
    if (batch.length + body.length > BATCH) {
      const size = gzipSync(batch + body).length
      if (packed + size > mostPacked) return false
      packed += size
      batch = ''
    } else batch += body
    return true
  }

  async function hold<T>(path: string): Promise<T | null> {
    if (unfit >= MOST_UNFIT) {
      left++
      return null
    }
    const url = `${base}${path}`
    const answer = await app.request(url, { headers: { host: '127.0.0.1' } }, {} as HttpEnv['Bindings'])
    const body = await answer.text()
    if (answer.status !== 200) return refused(body, path)
    if (!fits(body)) {
      left++
      unfit++
      return null
    }
    unfit = 0
    const value = JSON.parse(body) as T
    answers[url] = value
    onProgress?.(Object.keys(answers).length)
    return value
  }

  try {
    const head = await hold<RunHead>('/head')
    await whole(() => hold<Overview>('/overview'))
    for (const path of ['/tasks', '/judge', '/projections', '/versions']) await hold(path)
    const pages: IterationPage[] = []
    for (let iteration = head?.iteration ?? -1; iteration >= 0; iteration--) {
      const page = await hold<IterationPage>(`/iterations/${iteration}`)
      if (page) pages.push(page)
    }
    for (const { iteration, groups } of pages)
      for (const { slot, programs } of groups) {
        await hold(`/groups/${iteration}/${encodeURIComponent(slot)}`)
        if (programs) await hold(`/problems/${iteration}/${encodeURIComponent(slot)}`)
      }
    for (const slot of new Set(pages.flatMap(({ groups }) => groups.map(({ slot }) => slot))))
      await hold(`/tasks/${encodeURIComponent(slot)}`)
    for (const { groups } of pages)
      for (const { cells } of groups)
        for (const { rollout, state } of cells)
          if (state === 'played')
            await hold(`/rollouts/${rollout.split('/').map(encodeURIComponent).join('/')}`)
    const name = runs.open(run).folder.run
    return { html: await fileOf(name, answers), held: Object.keys(answers).length, left }
  } finally {
    runs.close()
  }
}

/** Pages that a run does not have are left out. What is wrong with the run itself ends the report. */
function refused(body: string, path: string): null {
  if (path !== '/head') return null
  const { code = 'ui.fault', message = body, hint } = JSON.parse(body) as Record<string, string>
  throw new RlError(message, { code, hint })
}

/** Asks until all figures are folded. */
async function whole(ask: () => Promise<Overview | null>): Promise<void> {
  for (;;) {
    const overview = await ask()
    if (overview === null || overview.complete) return
    // Figures are folded in turns of the event loop, and answers alone give it none.
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function fileOf(run: string, answers: Readonly<Record<string, unknown>>): Promise<Buffer> {
  const bundle = await pageBundle()
  const script = Buffer.from(bundle.script).toString()
  const style = Buffer.from(bundle.style).toString()
  for (const [text, end] of [
    [script, '</script'],
    [style, '</style'],
  ] as const)
    if (text.toLowerCase().includes(end)) throw new TypeError(`the page's code holds ${end}`)
  const start = `/r/${encodeURIComponent(run)}`
  const data = gzipSync(JSON.stringify({ start, answers }), { level: 9 }).toString('base64')
  const policy = [
    "default-src 'none'",
    `script-src '${hashOf(script)}'`,
    `style-src '${hashOf(style)}'`,
    'img-src data: blob:',
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ')
  return Buffer.from(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>rl ${run}</title>
<link rel="icon" href="data:,">
<style>${style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This report needs JavaScript.</noscript>
<script type="text/plain" id="report" data-start="${start}">${data}</script>
<script type="module">${script}</script>
</body>
</html>
`)
}

function hashOf(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`
}
