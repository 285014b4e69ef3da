/** A learned judge that estimates what remains: its start, its figures in the log, its gate, and the same run again by replay. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../src/broker/connection.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { trustOf } from '../src/learning/judge-trust.ts'
import { replay } from '../src/replay/replay.ts'
import { eventsBelow } from './support/logged.ts'
import { ALL_PARTS, startHead, startProcess } from './support/processes.ts'
import { temporaryFolder } from './support/run.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const JUDGE = [
  ...['rewardModel.form=estimate', 'learning.reward=outlook', 'learning.advantage=separate'],
  ...['learning.lambda=1', 'learning.mixedOutcomes=false', 'adaptation.enabled=false'],
  ...['rewardModel.coldStart.expertRollouts=24', 'rewardModel.coldStart.ownRollouts=12'],
]
const SMALL = [
  ...['policy.coldStart.demonstrations=32', 'policy.coldStart.updates=10', 'run.iterations=2'],
  ...['run.evaluateEvery=2', 'environment.tasks=6', 'environment.tasksPerIteration=3'],
  ...['environment.rolloutsPerTask=3', 'environment.minGroupSize=2'],
  ...['environment.maxSteps=8', 'evaluation.splits=[in-domain]', 'evaluation.tasks=2'],
]

test('the judge estimates a run, learns from it, and is trusted as far as the log says', async () => {
  const run = 'estimating'
  const head = startHead(root, run, [...JUDGE, ...SMALL])
  assert.is(await head.status, 0, head.output())
  assert.match(head.output(), /reward model ready: .*fallCorrelation/s)

  const scored = eventsOf(run, ['StepScored']).map(({ data }) => data)
  assert.ok(scored.length > 20)
  const judged = eventsOf(run, ['RewardModelUpdated']).map(({ data }) => data)
  assert.equal(
    judged.map(({ version, checkpoint }) => [version, checkpoint !== null]),
    [
      [0, true],
      [1, true],
      [2, true],
    ],
  )
  const updates = eventsOf(run, ['PolicyUpdated']).map(({ data }) => data)
  for (const { iteration, estimate, fall, judgements } of scored) {
    assert.ok(estimate && estimate.remaining >= 0 && Math.abs(estimate.fall) <= 2)
    assert.type(fall, 'number')
    assert.is(judgements[0]?.tokensI32.byteLength, 8)
    assert.is(judgements[0]?.score, estimate.fall > 0.5 ? 1 : -1)
    // The first iteration goes by the start, each later one by the rollouts of the one before.
    const before = iteration === 1 ? judged[0] : updates.find((update) => update.iteration === iteration - 1)
    assert.is(estimate.trust, trustOf(before?.metrics.fallCorrelation ?? null))
  }
  for (const { version, metrics } of updates.slice(1))
    assert.is(metrics.judgeTrust, scored.find(({ iteration }) => iteration === version)?.estimate?.trust)

  const log = openLogReader(runFolder(run, root).log)
  try {
    const { difference } = replay(log)
    assert.is(difference, null, JSON.stringify(difference))
  } finally {
    log.close()
  }
  const status = startProcess(['src/rl.ts', 'status', run], { RL_RUNS: root })
  assert.is(await status.status, 0, status.output())
  assert.match(
    status.output(),
    /the judge had a share of \d\.\d\d of lambda in iteration 2; its falls correlate/,
  )
})

async function dryRun(...set: readonly string[]) {
  const words = set.flatMap((key) => ['--set', key])
  const started = startProcess(['src/main.ts', '--role', 'head', '--dry-run', ...ALL_PARTS, ...words], {
    RL_RUNS: root,
  })
  return { status: await started.status, output: started.output() }
}

test('a fixed judge of this form stays as it is, and its trust is measured all the same', async () => {
  const run = 'fixed'
  const head = startHead(root, run, [...JUDGE, ...SMALL, 'rewardModel.mode=fixed'])
  assert.is(await head.status, 0, head.output())
  const judged = eventsOf(run, ['RewardModelUpdated']).map(({ data }) => data)
  assert.equal(
    judged.map(({ checkpoint }) => checkpoint !== null),
    [true, false, false],
  )
  const updates = eventsOf(run, ['PolicyUpdated']).map(({ data }) => data)
  assert.ok(updates.slice(1).every(({ metrics }) => metrics.fallCorrelation !== undefined))
})

test('a setting that tells no estimate is refused by its name before anything starts', async () => {
  const nim = readFileSync('test/environments/nim.ts', 'utf8')
  writeFileSync(join(root, 'nim.ts'), nim)
  const refused = await dryRun(
    `environment.module=${join(root, 'nim.ts')}`,
    'rewardModel.form=estimate',
    'adaptation.enabled=false',
    'policy.coldStart.demonstrations=24',
  )
  assert.is(refused.status, 1)
  assert.match(refused.output, /rewardModel\.form: the setting 'nim' has no remaining/)
})

for (const [set, wrong] of [
  [
    ['rewardModel.form=estimate', 'rewardModel.provider=environment'],
    /rewardModel\.form: 'estimate' is for local/,
  ],
  [
    ['rewardModel.form=estimate', 'rewardModel.model=./folder'],
    /rewardModel\.model: there is no folder .*folder with a model/,
  ],
  [['rewardModel.coldStart.ownRollouts=5'], /ownRollouts: is read by judges that estimate alone/],
] as const)
  test(`refused before anything starts: ${set.join(' ')}`, async () => {
    const { status, output } = await dryRun(...set)
    assert.is(status, 1, output)
    assert.match(output, wrong)
  })

test.run()
