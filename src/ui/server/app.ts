/** Routes of the page server: the page itself, and its answers as JSON. */
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { explain, RlError } from '../../errors.ts'
import { type HttpEnv, WRITTEN } from '../../platform/listen.ts'
import { MEASURES, TRUTHS, VERDICTS } from '../logic/judge-page.ts'
import { ablationPage, ablationRows } from './ablations.ts'
import { actionOf, mayAct } from './actions.ts'
import { actorsPage } from './actors.ts'
import { pageBundle } from './bundle.ts'
import { chatPage } from './chat.ts'
import { comparePage, curveRuns, curvesOfRuns } from './compare.ts'
import { densityPage } from './density.ts'
import { searchEvents } from './event-search.ts'
import { eventPage, eventsPage, typesOf } from './events.ts'
import { withSoundFigures } from './figures.ts'
import { pictureOf } from './frames.ts'
import { groupPage } from './group-page.ts'
import { iterationPage } from './iteration.ts'
import type { Jobs } from './jobs.ts'
import { type JudgeQuery, judgePage } from './judge.ts'
import { knownConfig } from './known-config.ts'
import type { Listeners } from './live.ts'
import { newsPage } from './news.ts'
import { NotHere } from './not-here.ts'
import { addNote, notesPage } from './notes.ts'
import type { OpenRun, OpenRuns } from './open-runs.ts'
import { overview } from './overview.ts'
import { problemPage } from './problem-page.ts'
import { projectionsPage, projectionTable } from './projections-page.ts'
import { positionOf, runHead } from './run-head.ts'
import { runRows } from './run-rows.ts'
import { ownHostAlone, type Session } from './session.ts'
import { taskPage } from './task.ts'
import { tasksPage } from './tasks.ts'
import { trajectoryPage } from './trajectory.ts'
import { versionPage, versionsPage } from './versions.ts'
import { whyPage } from './why.ts'

export type AppParts = {
  readonly session: Session
  readonly runs: OpenRuns
  readonly listeners: Listeners
  readonly jobs: Jobs
}

type Asked = Context<HttpEnv>

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>rl</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/main.css">
<script type="module" src="/main.js"></script>
</head>
<body><div id="page"></div><noscript>This page needs JavaScript.</noscript></body>
</html>
`

export function pageApp({ session, runs, listeners, jobs }: AppParts): Hono<HttpEnv> {
  const app = new Hono<HttpEnv>()
  app.use(ownHostAlone)
  app.onError((error, context) => context.json(faultOf(error), statusOf(error)))

  app.get('/main.js', async (context) => {
    const { script } = await pageBundle()
    return context.body(new Uint8Array(script), 200, { 'content-type': 'text/javascript; charset=utf-8' })
  })
  app.get('/main.css', async (context) => {
    const { style } = await pageBundle()
    return context.body(new Uint8Array(style), 200, { 'content-type': 'text/css; charset=utf-8' })
  })

  const small = bodyLimit({ maxSize: 4096, onError: tooLarge })
  app.post('/api/session', small, async (context) => {
    const body: unknown = await context.req.json().catch(() => null)
    const token = typeof body === 'object' && body !== null && 'token' in body ? body.token : undefined
    if (session.begin(context, token)) return context.json({ ok: true })
    return context.json(
      {
        code: 'ui.no-session',
        message: 'this link has been used, or is not the one of this server',
        hint: 'make a new link: rl ui',
      },
      403,
    )
  })
  app.use('/api/*', async (context, next) => {
    if (session.isReader(context)) return next()
    return context.json(
      { code: 'ui.no-session', message: 'this browser has no session', hint: 'make a new link: rl ui' },
      401,
    )
  })

  const ofRun = (path: string, answer: (run: OpenRun, at: number, context: Asked) => unknown) =>
    app.get(`/api/r/:run${path}`, async (context) => {
      const run = runs.open(context.req.param('run') ?? '')
      const use = (): void => {}
      run.uses.add(use)
      try {
        const at = positionOf(run.log, context.req.query('at'))
        const given = await withSoundFigures([run.figures], () => answer(run, at, context))
        return context.json(given as object)
      } finally {
        run.uses.delete(use)
      }
    })

  app.get('/api/runs', async (context) => context.json(await runRows()))
  app.get('/api/ablations', (context) => context.json(ablationRows()))
  app.get('/api/ablations/:name', (context) => context.json(ablationPage(context.req.param('name'))))
  app.get('/api/compare', async (context) => {
    const { a = '', b = '', group } = context.req.query()
    return context.json(await comparePage(runs, a, b, group))
  })
  app.get('/api/curves', async (context) => {
    const opened = curveRuns(runs, (context.req.query('runs') ?? '').split(',').filter(Boolean))
    const figures = opened.map((run) => run.figures)
    return context.json(await withSoundFigures(figures, () => curvesOfRuns(opened)))
  })
  ofRun('/head', (run, _, context) => runHead(run, context.req.query('at')))
  ofRun('/overview', (run, at, context) => overview(run, at, whole(context, 'since') ?? 0))
  ofRun('/iterations/:iteration', (run, at, context) =>
    iterationPage(run, Number(context.req.param('iteration')), at),
  )
  ofRun('/groups/:iteration/:slot', (run, at, context) =>
    groupPage(run, Number(context.req.param('iteration')), context.req.param('slot') ?? '', at),
  )
  ofRun('/rollouts/:iteration/:slot/:index', (run, at, context) => {
    const { iteration, slot, index } = context.req.param() as Record<string, string>
    return trajectoryPage(run, `${iteration}/${slot}/${index}`, at)
  })
  ofRun('/problems/:iteration/:slot', (run, at, context) =>
    problemPage(run, Number(context.req.param('iteration')), context.req.param('slot') ?? '', at),
  )
  app.get('/api/r/:run/blobs/:sha256', (context) => {
    const run = runs.open(context.req.param('run'))
    const { at, rollout = '' } = context.req.query()
    const { bytes, mediaType } = pictureOf(run, rollout, context.req.param('sha256'), positionOf(run.log, at))
    return context.body(new Uint8Array(bytes), 200, { 'content-type': mediaType })
  })
  ofRun('/chats/:iteration/:slot/:index', (run, at, context) => {
    const { iteration, slot, index } = context.req.param() as Record<string, string>
    return chatPage(run, `${iteration}/${slot}/${index}`, at)
  })
  ofRun('/tasks', (run, at, context) => tasksPage(run, at, context.req.query('all') === '1'))
  ofRun('/tasks/:slot', (run, at, context) => taskPage(run, context.req.param('slot') ?? '', at))
  ofRun('/why/:iteration', (run, at, context) =>
    whyPage(run, Number(context.req.param('iteration')), context.req.query('series') ?? 'train', at),
  )
  ofRun('/versions', versionsPage)
  ofRun('/versions/:role/:version', (run, at, context) => {
    const { role, version } = context.req.param() as Record<'role' | 'version', string>
    return versionPage(run, role, Number(version), at)
  })
  ofRun('/projections', projectionsPage)
  ofRun('/projections/:table', (run, at, context) =>
    projectionTable(run, context.req.param('table') ?? '', at),
  )
  ofRun('/judge', (run, at, context) => judgePage(run, at, judgeQuery(context)))
  ofRun('/events', ({ log }, at, context) => {
    const query = {
      from: whole(context, 'from'),
      until: whole(context, 'until'),
      types: typesOf(context.req.query('type')),
      actor: context.req.query('actor')?.slice(0, 96),
      folds: context.req.query('fold') !== '0',
    }
    const text = context.req.query('q')?.slice(0, 200)
    return text ? searchEvents(log, at, text, query) : eventsPage(log, at, query)
  })
  ofRun('/events/:position', ({ log }, at, context) =>
    eventPage(log, Number(context.req.param('position')), at, context.req.query('columns') === '1'),
  )
  // A job is asked for by the page alone: another site cannot send JSON here without being asked first.
  app.post('/api/r/:run/actions/:kind', ofThePage, small, async (context) => {
    const { run, kind } = context.req.param()
    const { folder } = actingOn(runs.open(run))
    const action = actionOf(kind, folder.run, await context.req.json().catch(() => null))
    if (context.req.query('only') === 'command') return context.json({ command: action.command })
    return context.json(jobs.start(folder.run, action))
  })
  const note = bodyLimit({ maxSize: 32 * 1024, onError: tooLarge })
  app.post('/api/r/:run/notes', ofThePage, note, async (context) => {
    const run = actingOn(runs.open(context.req.param('run')))
    return context.json(addNote(run, await context.req.json().catch(() => null)))
  })
  ofRun('/notes', (run, at, context) => notesPage(run, at, whole(context, 'on')))
  app.get('/api/jobs/:id', (context) => context.json(jobs.find(Number(context.req.param('id')))))
  app.post('/api/jobs/:id/end', ofThePage, small, (context) =>
    context.json(jobs.end(Number(context.req.param('id')))),
  )
  ofRun('/states', ({ past }, at, context) =>
    past.ask('states', { at, context: context.req.query('context') ?? null }),
  )
  ofRun('/news', ({ log }, at, context) => newsPage(log, at, whole(context, 'after')))
  ofRun('/density', (run) => densityPage(run))
  ofRun('/actors', (run, at, context) => actorsPage(run, at, context.req.query('at') === undefined))
  app.get('/api/r/:run/live', (context) => {
    const run = runs.open(context.req.param('run'))
    const end = run.log.head().position
    const from = Number(context.req.header('last-event-id') ?? end)
    listeners.add(run, Number.isSafeInteger(from) ? from : end, context.env.outgoing as never)
    return WRITTEN
  })
  app.all('/api/*', (context) =>
    context.json({ code: 'ui.no-page', message: 'there is no such answer', hint: null }, 404),
  )
  // Every other address is a view of the page.
  app.get('*', (context) => context.html(PAGE))
  return app
}

/** @throws RlError `ui.actions-off` */
function actingOn(run: OpenRun): OpenRun {
  const { folder, log } = run
  if (mayAct(knownConfig(log, log.head().position).ui)) return run
  throw new RlError(`the config of run '${folder.run}' allows no actions on its pages`, {
    code: 'ui.actions-off',
    hint: 'ui.actions is false: use the rl commands',
  })
}

const ofThePage: MiddlewareHandler<HttpEnv> = (context, next) => {
  const own = `http://${context.req.header('host')}`
  if (context.req.header('content-type') === 'application/json' && context.req.header('origin') === own)
    return next()
  const message = 'actions are asked for by this page alone'
  return Promise.resolve(context.json({ code: 'ui.foreign', message, hint: null }, 403))
}

const tooLarge = (context: Asked) =>
  context.json({ code: 'ui.too-large', message: 'the request is too large', hint: null }, 413)

function whole(context: Asked, name: string): number | undefined {
  const value = Number(context.req.query(name) ?? Number.NaN)
  return Number.isSafeInteger(value) ? value : undefined
}

function judgeQuery(context: Asked): JudgeQuery {
  const one = <T extends string>(name: string, of: readonly T[]) =>
    of.find((value) => value === context.req.query(name))
  const [verdict, truth] = [one('verdict', VERDICTS), one('truth', TRUTHS)]
  return {
    iteration: whole(context, 'i'),
    by: one('by', MEASURES),
    cell: verdict !== undefined && truth !== undefined ? { verdict, truth } : undefined,
  }
}

function faultOf(error: unknown) {
  if (error instanceof RlError) {
    const near = error instanceof NotHere ? { near: error.near } : {}
    return { code: error.code, message: error.message, hint: error.hint ?? null, ...near }
  }
  return { code: 'ui.fault', message: explain(error), hint: null }
}

function statusOf(error: unknown): 404 | 500 {
  return error instanceof RlError && /^(ui\.(no|bad)-|run\.unknown$)/.test(error.code) ? 404 : 500
}
