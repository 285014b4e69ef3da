/** The coding setting through the whole loop: processes, broker, log and sandbox are real; programs and tests come from scripts. */
import '../../../test/support/packages.ts'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { rowOf } from '../../../src/ablation/row.ts'
import { runFolder } from '../../../src/broker/connection.ts'
import { digestOf } from '../../../src/events/digest.ts'
import { openLogReader } from '../../../src/events/log-reader.ts'
import { bestOfNAccuracy, codingMetrics } from '../../../src/learning/unit-tests.ts'
import { replay } from '../../../src/replay/replay.ts'
import { eventsBelow } from '../../../test/support/logged.ts'
import { startHead } from '../../../test/support/processes.ts'
import { temporaryFolder, until } from '../../../test/support/run.ts'
import { openProvider } from './sandboxes.ts'

const SETTINGS = [
  'environment.name=coding',
  'policy.provider=simulated',
  'policy.acting=free',
  'rewardModel.provider=simulated',
  'rewardModel.judging=group',
  'rewardModel.samples=6',
  'learning.reward=integrated',
  'environment.tasks=8',
  'environment.tasksPerIteration=3',
  'environment.rolloutsPerTask=4',
  'evaluation.splits=[in-domain]',
  'evaluation.tasks=2',
  'evaluation.rollouts=3',
  'evaluation.judge=true',
  'run.iterations=2',
  'run.evaluateEvery=2',
  'run.heartbeatSeconds=0.5',
]

const root = temporaryFolder()
const eventsOf = eventsBelow(root)

const provider = await openProvider('bwrap')
await provider?.close()

test('programs are run on the tests of their tasks and on written ones; a killed run ends with the same events', async () => {
  if (!provider) return
  const head = startHead(root, 'whole', SETTINGS)
  assert.is(await head.status, 0, head.output())

  const tested = new Map(eventsOf('whole', ['ProgramTested']).map(({ data }) => [data.rollout, data]))
  const played = eventsOf('whole', ['TrajectoryCompleted'])
  assert.ok(played.length >= 2 * 12 + 2 * 6)
  for (const { data } of played) {
    const own = tested.get(data.rollout)
    assert.ok(own && own.verdicts.length === own.passedU8.length)
    const share = own.passedU8.reduce((sum, pass) => sum + pass, 0) / own.passedU8.length
    assert.equal(data.outcome, { kind: 'scored', value: share, success: share === 1 })
  }
  assert.ok(played.some(({ data }) => data.outcome.kind === 'scored' && data.outcome.success))

  const written = eventsOf('whole', ['UnitTestWritten'])
  const groups = new Set(played.map(({ data }) => `${data.iteration}/${data.slot}`))
  assert.is(written.length, 6 * groups.size)
  const scored = eventsOf('whole', ['StepScored'])
  assert.is(scored.length, played.length)
  const success = new Map(
    played.map(({ data }) => [data.rollout, data.outcome.kind === 'scored' && data.outcome.success]),
  )
  const ownTask = (iteration: number, task: string) => {
    const votes = scored.filter(({ data }) => data.iteration === iteration && data.task === task)
    return {
      dataset: votes.map(({ data }) => [success.get(data.rollout) === true]),
      generated: votes.map(({ data }) => data.judgements.map(({ score }) => score === 1)),
      valid: votes[0].data.judgements.map(({ score }) => score !== 0),
    }
  }
  for (const { data } of written) {
    assert.is(data.test === null, data.invalid !== null)
    const votes = scored.filter((one) => one.data.iteration === data.iteration && one.data.task === data.task)
    for (const { data: vote } of votes) assert.is(vote.judgements[data.index].score === 0, data.test === null)
  }
  for (const { data } of eventsOf('whole', ['RewardModelUpdated'])) {
    if (data.version === 0) continue
    const tasks = [
      ...new Set(
        played
          .filter(({ data: one }) => one.iteration === data.iteration && one.purpose === 'train')
          .map(({ data: one }) => one.task),
      ),
    ]
    const accepted = eventsOf('whole', ['TaskAccepted']).filter(
      (one) => one.data.iteration === data.iteration,
    )
    const { code, unitTest } = codingMetrics(
      [...tasks, ...accepted.map((one) => one.data.task)].map((task) => ownTask(data.iteration, task)),
    )
    assert.is(data.metrics.code, code)
    assert.is(data.metrics.unitTest ?? null, unitTest)
  }

  const log = openLogReader(runFolder('whole', root).log)
  try {
    const replayed = replay(log)
    assert.is(replayed.difference, null)
    assert.ok(replayed.completed)
    const evaluated = new Set(
      played
        .filter(({ data }) => data.purpose === 'evaluation' && data.iteration === 2)
        .map(({ data }) => data.task),
    )
    const tasks = [...evaluated].map((task) => ownTask(2, task))
    const { code: plain, unitTest, counts } = codingMetrics(tasks)
    const figures = { plain, bestOfN: bestOfNAccuracy(tasks), unitTest, unitTestTasks: counts.unitTestTasks }
    assert.equal(rowOf(log, 'outcome+tests', 1)?.writtenTests, [
      { split: 'in-domain', tasks: tasks.length, ...figures },
    ])
  } finally {
    log.close()
  }

  const first = startHead(root, 'killed', SETTINGS)
  await until('programs were tested', () => eventsOf('killed', ['ProgramTested']).length > 8, 240_000)
  first.process.kill('SIGKILL')
  await first.status
  const again = startHead(root, 'killed')
  assert.is(await again.status, 0, again.output())
  const digest = (run: string) => digestOf(eventsOf(run).filter(({ type }) => type !== 'RunStarted'))
  assert.is(digest('killed'), digest('whole'))
})

test.run()
