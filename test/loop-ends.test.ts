/** How a run is ended, goes on and is refused, as a user meets it. The learner is simulated, everything else is real. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../src/broker/connection.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { forkRun } from '../src/replay/fork.ts'
import { replay } from '../src/replay/replay.ts'
import { eventsBelow } from './support/logged.ts'
import { isAlive, startHead } from './support/processes.ts'
import { temporaryFolder, until } from './support/run.ts'
import { checkInvariants, SETTINGS, victim } from './support/simulated-run.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)

/** What the pages behind a link answer of the run. */
async function headOnPage(link: string): Promise<string> {
  const { origin, pathname, hash } = new URL(link)
  const body = JSON.stringify({ token: hash.slice(1) })
  const session = await fetch(`${origin}/api/session`, { method: 'POST', body })
  const cookie = (session.headers.get('set-cookie') ?? '').split(';')[0]
  return (await fetch(`${origin}/api${pathname}/head`, { headers: { cookie } })).text()
}

test('a process that hangs is ended, another is started, and the run goes on', async () => {
  const head = startHead(root, 'hung', [...SETTINGS, 'run.deadlines.silenceSeconds=6'])
  await until('an iteration', () => eventsOf('hung', ['IterationStarted']).length > 1, 240_000)
  const pid = victim(root, 'hung', 'environment', head)
  assert.ok(pid !== null)
  process.kill(pid, 'SIGSTOP')
  assert.is(await head.status, 0, head.output())
  assert.match(head.output(), /environment said nothing for 6 s and was ended; it is started again/)
  checkInvariants(root, 'hung')
})

test('a broker that dies in the first second is waited for, before and after the run has begun', async () => {
  const head = startHead(root, 'cold', [...SETTINGS, 'run.iterations=1'])
  let struck = 0
  /** Its file is written when it starts, and names one that has ended until then. */
  const strike = (isTime: () => boolean) => () => {
    const pid = victim(root, 'cold', 'broker', head) ?? 0
    if (pid < 2 || pid === struck || !isAlive(pid) || !isTime()) return false
    struck = pid
    return process.kill(pid, 'SIGKILL')
  }
  await until(
    'a broker',
    strike(() => true),
    240_000,
  )
  await until(
    'the run began',
    strike(() => eventsOf('cold', ['RunStarted']).length > 0),
    240_000,
  )
  assert.is(await head.status, 0, head.output())
  assert.is(eventsOf('cold', ['RunCompleted']).length, 1)
})

test('a run whose time is over ends with an iteration that is measured, and its replay is the same', async () => {
  const head = startHead(root, 'timed', [
    ...SETTINGS,
    'run.iterations=1000',
    'run.evaluateEvery=1000',
    'run.minutes=0.01',
  ])
  assert.is(await head.status, 0, head.output())
  const started = eventsOf('timed', ['IterationStarted'])
  const last = started.at(-1)!.data
  assert.is(last.last, true)
  assert.ok(started.slice(0, -1).every(({ data }) => data.last === undefined))
  const measured = eventsOf('timed', ['EvaluationCompleted']).map(({ data }) => data.iteration)
  assert.equal([...new Set(measured)], [0, last.iteration])
  assert.is(eventsOf('timed', ['RunCompleted'])[0].data.iterations, last.iteration)
  assert.match(head.output(), new RegExp(`is complete: ${last.iteration} iterations`))
  checkInvariants(root, 'timed', last.iteration)
  const log = openLogReader(runFolder('timed', root).log)
  assert.is(replay(log).difference, null)
  log.close()
})

test('a run that is complete is not begun again: nothing is appended, and a fork is named', async () => {
  const before = eventsOf('cold').length
  const again = startHead(root, 'cold')
  assert.is(await again.status, 0, again.output())
  assert.match(again.output(), /run cold is complete: 1 iterations/)
  const [, at] = /rl -- fork cold --at (\d+)/.exec(again.output()) ?? []
  assert.is(eventsOf('cold').length, before)
  const folders = [runFolder('cold', root), runFolder('longer', root)] as const
  assert.is(forkRun(...folders, { at: Number(at), set: ['run.iterations=2'] }).run, 'longer')
})

test('Ctrl-C pauses a run in good order, and it goes on where its log ends', async () => {
  const told = join(root, 'told')
  const notify = [`ui.notify=echo "$RL_EVENT of $RL_RUN" >> '${told}'`, 'ui.actions=false']
  // It lasts longer than the page takes to answer on a busy machine.
  const settings = [...SETTINGS, 'run.iterations=12']
  const first = startHead(root, 'paused', [...settings, ...notify])
  await until('an iteration', () => eventsOf('paused', ['IterationStarted']).length > 1, 240_000)
  const [, link] = /^ {2}look +(\S+)$/m.exec(first.output()) ?? []
  let page = ''
  await until('the page knows that it runs', async () => {
    page = await headOnPage(link)
    return page.includes('"state":"running"')
  }).catch((error: Error) => assert.unreachable(`${error.message}: ${page}`))
  first.process.kill('SIGINT')
  assert.is(await first.status, 130, first.output())
  const after = await headOnPage(link).catch((error: Error) => error.message)
  assert.is(after, 'fetch failed', 'the pages end with the head')
  assert.match(first.output(), /go on: +npm start -- --role head --run paused/)
  // Who leaves is not silent.
  const [pause] = eventsOf('paused', ['RunPaused'])
  const stalls = eventsOf('paused', ['StallDetected']).filter(({ position }) => position > pause.position)
  assert.equal(stalls, [])
  // The same command goes on, whether it repeats its settings or not.
  const second = startHead(root, 'paused', settings, {}, ['--no-ui'])
  assert.is(await second.status, 0, second.output())
  assert.not.match(second.output(), /^ {2}look +http/m)
  assert.match(second.output(), /^goes on: the head was started again/m)
  assert.not.match(second.output(), /^paused: /m, 'the pause of before was told then')
  // A busy machine may stall a process. A pause that somebody made himself is not told.
  const heard = readFileSync(told, 'utf8').replaceAll('StallDetected of paused\n', '')
  assert.is(heard, 'RunCompleted of paused\n', 'who presses Ctrl-C is not told of it')
  checkInvariants(root, 'paused', 12)
})

test('a second head on a run is refused, and a config cannot change', async () => {
  // It goes on for longer than the second takes to start.
  const first = startHead(root, 'twice', [...SETTINGS, 'run.iterations=1000'])
  await until('started', () => eventsOf('twice', ['RunStarted']).length === 1, 240_000)
  const second = startHead(root, 'twice')
  assert.is(await second.status, 1)
  assert.match(second.output(), /another|in use|locked/i)
  first.process.kill('SIGINT')
  await first.status
  const changed = startHead(root, 'twice', ['run.iterations=9'])
  assert.is(await changed.status, 1)
  assert.match(changed.output(), /config never changes/)
})

for (const run of ['a.b', 'a*', 'a>b', 'a b'])
  test(`the run id '${run}' is refused`, async () => {
    const head = startHead(root, run, SETTINGS)
    assert.is(await head.status, 1)
    assert.match(head.output(), /run id/)
  })

test.run()
