/** A run on recorded traces: the policy is put back where it leaves them, learns from it, and the log replays. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { eventsBelow } from './support/logged.ts'
import { startHead, startProcess } from './support/processes.ts'
import { assertReplayed } from './support/replayed.ts'
import { temporaryFolder } from './support/run.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const SETTINGS = [
  ...['run.iterations=2', 'evaluation.splits=[]', 'adaptation.enabled=false', 'rewardModel.mode=off'],
  ...['environment.tasks=4', 'environment.tasksPerIteration=2', 'environment.rolloutsPerTask=4'],
  ...['environment.minGroupSize=2', 'environment.maxSteps=20'],
  ...['policy.coldStart.demonstrations=40', 'policy.coldStart.updates=8', 'policy.training.updates=1'],
  ...['learning.reward=traced', 'learning.lambda=1', 'learning.mixedOutcomes=graded'],
  ...['learning.advantage=step-index', 'learning.options.step-index.gamma=0.5'],
]
const TRACES = ['environment.traces.file=data/outside/alfworld.jsonl', 'environment.traces.patches=2']

test('two iterations follow the traces, with the recorded action where the policy leaves them', async () => {
  const head = startHead(root, 'traced', [...SETTINGS, ...TRACES])
  assert.is(await head.status, 0, head.output())
  const traces = new Map(
    eventsOf('traced', ['TaskAdded']).map(({ data }) => [data.task.id, data.trace] as const),
  )
  assert.ok([...traces.values()].every((trace) => trace !== undefined && trace.length > 0))
  const asked = eventsOf('traced', ['RolloutRequested'])
  assert.ok(asked.length === 16 && asked.every(({ data }) => data.patches === 2))
  const played = eventsOf('traced', ['TrajectoryCompleted'])
  assert.is(played.length, 16)
  let left = 0
  for (const { data } of played) {
    const { task, actions, trace, outcome, ended } = data
    const recorded = traces.get(task) ?? []
    assert.equal([...actions.slice(0, recorded.length)], recorded.slice(0, actions.length))
    assert.is(trace?.steps, recorded.length)
    const departures = trace?.left.length ?? 0
    left += departures
    assert.ok(trace?.left.every(({ step, chosen }) => chosen !== recorded[step]))
    assert.ok(departures <= 3)
    if (departures === 3 && actions.length < recorded.length) assert.is(ended, 'gave-up')
    if (departures > 0 && outcome.kind === 'scored')
      assert.is(outcome.value, (Math.min(actions.length, recorded.length) - departures) / recorded.length)
  }
  assert.ok(left > 0)
  assert.ok(eventsOf('traced', ['PolicyUpdated']).some(({ data }) => data.trainedOn.length > 0))
  assertReplayed(root, 'traced')
  const [{ data }] = played.filter((one) => (one.data.trace?.left.length ?? 0) > 0)
  const why = startProcess(
    ['src/rl.ts', 'why', 'traced', 'step', `${data.rollout}#${data.trace?.left[0].step}`],
    {
      RL_RUNS: root,
    },
  )
  assert.is(await why.status, 0, why.output())
  assert.ok(why.output().includes(`the policy chose: ${data.trace?.left[0].chosen}`), why.output())
})

test('a file whose tasks are not those of the run ends it by name', async () => {
  const file = join(root, 'others.jsonl')
  writeFileSync(file, '{"task":"nobody","actions":["go"]}\n')
  const head = startHead(root, 'others', [...SETTINGS, `environment.traces.file=${file}`])
  assert.is.not(await head.status, 0)
  assert.match(head.output(), /environment\.traces: none of its 1 tasks is one of the run/)
})

test('a judge beside traces is refused', async () => {
  const head = startHead(root, 'judged', [...SETTINGS, ...TRACES, 'rewardModel.mode=fixed'])
  assert.is.not(await head.status, 0)
  assert.match(head.output(), /environment\.traces: a judge would read the recorded action/)
})

test.run()
