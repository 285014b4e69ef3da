/** A run that is paused and resumed by commands does the same as one that is not. The learner is simulated, everything else is real. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import type { ControlAnswer } from '../src/actors/head/control.ts'
import { controlHead } from '../src/actors/head/control-head.ts'
import type { LiveRun } from '../src/actors/head/liveness.ts'
import { runFolder } from '../src/broker/connection.ts'
import { pause } from '../src/clock.ts'
import { digestOf } from '../src/events/digest.ts'
import { eventsBelow } from './support/logged.ts'
import { startHead, startProcess } from './support/processes.ts'
import { temporaryFolder, until } from './support/run.ts'
import { checkInvariants, SETTINGS } from './support/simulated-run.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
/** Longer than several heartbeats, so that all in hand has ended. */
const PAUSE_MS = 3_000

async function rl(...words: readonly string[]): Promise<{ status: number | null; output: string }> {
  const { status, output } = startProcess(['src/rl.ts', ...words], { RL_RUNS: root })
  return { status: await status, output: output() }
}

test('a run that is paused stands still, is told of, and goes on as if it had never stood', async () => {
  const straight = startHead(root, 'straight', SETTINGS)
  assert.is(await straight.status, 0, straight.output())

  const head = startHead(root, 'held', SETTINGS)
  await until('an iteration', () => eventsOf('held', ['IterationStarted']).length > 1, 240_000)
  const folder = runFolder('held', root)
  const { position } = await controlHead(folder, 'pause', 'lunch')
  const again = await rl('pause', 'held', '--json')
  const { changed, reason } = JSON.parse(again.output) as ControlAnswer
  assert.equal([changed, reason], [false, 'paused by a person: lunch'], again.output)

  await pause(PAUSE_MS)
  const still = eventsOf('held').length
  assert.match(
    (await rl('status', 'held')).output,
    /^run held: paused \(paused by a person: lunch\) since 2\d{3}-/,
  )
  assert.match((await rl('runs')).output, /^held +paused/m)
  const { live } = JSON.parse((await rl('status', 'held', '--json')).output) as { live: LiveRun }
  const waits = live.actors.flatMap((actor) => (actor.worker.startsWith('head/') ? actor.waits : []))
  assert.equal(waits, [], 'nothing is late')
  await pause(1_000)
  const paused = eventsOf('held')
  assert.is(paused.length, still, 'nothing happens any more')
  const begun = paused.filter((event) => event.type === 'IterationStarted' && event.position > position)
  assert.ok(begun.length <= 1, 'at most the iteration whose cause was in the log begins')
  assert.is(paused.at(-1)?.type === 'RunCompleted', false)

  const resumed = await rl('resume', 'held', '--reason', 'back')
  assert.is(resumed.status, 0, resumed.output)
  assert.match(resumed.output, /^run held goes on after position \d+\n$/)
  assert.is(await head.status, 0, head.output())
  assert.match(head.output(), /^paused by a person: lunch; npm run -s rl -- resume held goes on/m)
  assert.match(head.output(), /^resumed by a person: back/m)
  // A busy machine delays a heartbeat now and then. No other wait is late.
  const stalls = eventsOf('held', ['StallDetected']).filter(({ data }) => !/^heartbeat/.test(data.waitingFor))
  assert.equal([...stalls, ...eventsOf('held', ['ActorFailed', 'RolloutFailed', 'WorkFailed'])], [])
  checkInvariants(root, 'held')
  assert.is(digestOf(eventsOf('held')), digestOf(eventsOf('straight')))
  const over = await rl('resume', 'held')
  assert.is(over.status, 1)
  assert.match(over.output, /'held' is complete/)
  assert.is((await rl('replay', 'held')).status, 0)
})

test('Ctrl-C ends a paused run, whose head then goes on by the start command alone', async () => {
  const first = startHead(root, 'ended', SETTINGS)
  await until('an iteration', () => eventsOf('ended', ['IterationStarted']).length > 1, 240_000)
  await controlHead(runFolder('ended', root), 'pause')
  first.process.kill('SIGINT')
  assert.is(await first.status, 130, first.output())
  const stopped = await rl('resume', 'ended')
  assert.is(stopped.status, 1)
  assert.match(stopped.output, /npm start -- --role head --run ended/)
  assert.match((await rl('runs')).output, /^ended +stopped/m)
  const second = startHead(root, 'ended')
  assert.is(await second.status, 0, second.output())
  checkInvariants(root, 'ended')
})

test.run()
