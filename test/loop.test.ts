/** The whole system as a user starts it: processes, broker, log. The learner is simulated, everything else is real. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { digestOf } from '../src/events/digest.ts'
import { rng, seedOf } from '../src/random.ts'
import { eventsBelow, positionsBelow } from './support/logged.ts'
import { startHead } from './support/processes.ts'
import { temporaryFolder, until } from './support/run.ts'
import { checkInvariants, SETTINGS, victim } from './support/simulated-run.ts'

const KILLS = 20

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const newestPosition = positionsBelow(root)

function isComplete(run: string): boolean {
  return eventsOf(run, ['RunCompleted']).length === 1
}

function kill(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}

test('a run completes, and one whose processes are killed all the time ends with the same events', async () => {
  const undisturbed = startHead(root, 'undisturbed', SETTINGS)
  assert.is(await undisturbed.status, 0, undisturbed.output())
  checkInvariants(root, 'undisturbed')

  let head = startHead(root, 'killed', SETTINGS)
  const random = rng(seedOf(5, 'kills'))
  const kinds = ['policy', 'reward-model', 'environment', 'adapter', 'broker', 'head']
  let kills = 0
  for (let turn = 0; kills < KILLS && !isComplete('killed'); turn++) {
    const before = newestPosition('killed')
    const after = before + 1 + random.below(25)
    await until(
      `past position ${after}`,
      () => newestPosition('killed') >= after || isComplete('killed'),
      120_000,
    )
    const kind = kinds[turn % kinds.length]
    const pid = victim(root, 'killed', kind, head)
    if (isComplete('killed') || pid === null || !kill(pid)) continue
    kills++
    if (kind !== 'head') continue
    await head.status
    head = startHead(root, 'killed')
  }
  assert.is(await head.status, 0, head.output())
  assert.ok(kills >= KILLS, `${kills} kills before the run was over`)
  checkInvariants(root, 'killed')
  const same = (run: string) => eventsOf(run).filter(({ type }) => type !== 'RunStarted')
  assert.is(digestOf(same('killed')), digestOf(same('undisturbed')))
})

test.run()
