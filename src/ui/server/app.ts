/** Routes of the page server: the page itself, and its answers as JSON. */
import { type Context, Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { explain, RlError } from '../../errors.ts'
import { type HttpEnv, WRITTEN } from '../../platform/listen.ts'
import { pageBundle } from './bundle.ts'
import { eventPage, eventsPage, typesOf } from './events.ts'
import { iterationPage } from './iteration.ts'
import type { Listeners } from './live.ts'
import type { OpenRun, OpenRuns } from './open-runs.ts'
import { overview } from './overview.ts'
import { positionOf, runHead } from './run-head.ts'
import { runRows } from './run-rows.ts'
import { ownHostAlone, type Session } from './session.ts'
import { trajectoryPage } from './trajectory.ts'

export type AppParts = {
  readonly session: Session
  readonly runs: OpenRuns
  readonly listeners: Listeners
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

export function pageApp({ session, runs, listeners }: AppParts): Hono<HttpEnv> {
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

  app.post('/api/session', bodyLimit({ maxSize: 4096, onError: tooLarge }), async (context) => {
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
      return context.json(
        (await answer(run, positionOf(run.log, context.req.query('at')), context)) as object,
      )
    })

  app.get('/api/runs', async (context) => context.json(await runRows()))
  ofRun('/head', (run, _, context) => runHead(run, context.req.query('at')))
  ofRun('/overview', (run, at, context) => overview(run, at, whole(context, 'since') ?? 0))
  ofRun('/iterations/:iteration', (run, at, context) =>
    iterationPage(run, Number(context.req.param('iteration')), at),
  )
  ofRun('/rollouts/:iteration/:slot/:index', (run, at, context) => {
    const { iteration, slot, index } = context.req.param() as Record<string, string>
    return trajectoryPage(run, `${iteration}/${slot}/${index}`, at)
  })
  ofRun('/events', ({ log }, at, context) =>
    eventsPage(log, at, {
      from: whole(context, 'from'),
      types: typesOf(context.req.query('type')),
      actor: context.req.query('actor')?.slice(0, 96),
      text: context.req.query('text')?.slice(0, 200),
    }),
  )
  ofRun('/events/:position', ({ log }, at, context) =>
    eventPage(log, Number(context.req.param('position')), at),
  )
  app.get('/api/r/:run/live', (context) => {
    const { log } = runs.open(context.req.param('run'))
    const from = Number(context.req.header('last-event-id') ?? log.head().position)
    listeners.add(log, Number.isSafeInteger(from) ? from : log.head().position, context.env.outgoing as never)
    return WRITTEN
  })
  app.all('/api/*', (context) =>
    context.json({ code: 'ui.no-page', message: 'there is no such answer', hint: null }, 404),
  )
  // Every other address is a view of the page.
  app.get('*', (context) => context.html(PAGE))
  return app
}

const tooLarge = (context: Asked) =>
  context.json({ code: 'ui.too-large', message: 'the request has more than 4,096 bytes', hint: null }, 413)

function whole(context: Asked, name: string): number | undefined {
  const value = Number(context.req.query(name) ?? Number.NaN)
  return Number.isSafeInteger(value) ? value : undefined
}

function faultOf(error: unknown) {
  if (error instanceof RlError) return { code: error.code, message: error.message, hint: error.hint ?? null }
  return { code: 'ui.fault', message: explain(error), hint: null }
}

function statusOf(error: unknown): 404 | 500 {
  return error instanceof RlError && /^(ui\.(no|bad)-|run\.unknown$)/.test(error.code) ? 404 : 500
}
