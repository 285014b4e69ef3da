/** A run in which half of the tasks have guessed outcomes, trained with the filter `trend`, replayed and scored again. */
import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { eventsBelow } from './support/logged.ts'
import { startHead, startProcess } from './support/processes.ts'
import { assertReplayed } from './support/replayed.ts'
import { temporaryFolder } from './support/run.ts'

const root = temporaryFolder()
const eventsOf = eventsBelow(root)
const file = join(root, 'guessed-nim.ts')
copyFileSync('test/environments/nim.ts', join(root, 'nim.ts'))
// Nobody knows for sure how the games of every other task ended.
writeFileSync(
  file,
  `import { setting as nim } from './nim.ts'
const guessed = (episode) => ({
  ...episode,
  turn: { ...episode.turn, unsure: episode.turn.done && Number(episode.task.id.split('-')[2]) % 2 === 1 },
  step: async (action) => guessed(await episode.step(action)),
})
export const setting = {
  ...nim,
  open(config, section) {
    const environment = nim.open(config, section)
    return { ...environment, reset: async (task, options) => guessed(await environment.reset(task, options)) }
  },
}
`,
)

const SETTINGS = [
  ...[
    `environment.module=${file}`,
    'environment.nim.most=9',
    'environment.tasks=8',
    'environment.maxSteps=8',
  ],
  ...['environment.tasksPerIteration=8', 'environment.rolloutsPerTask=4', 'environment.minGroupSize=2'],
  ...['policy.contextTokens=128', 'policy.coldStart.demonstrations=32', 'policy.coldStart.updates=10'],
  ...['rewardModel.mode=off', 'learning.reward=outcome', 'learning.mixedOutcomes=false'],
  ...['adaptation.enabled=false', 'evaluation.splits=[]', 'run.iterations=3'],
]

async function rescored(run: string): Promise<string> {
  const command = startProcess(['src/rl.ts', 'rescore', run, '--rules', 'all'], { RL_RUNS: root })
  assert.is(await command.status, 0, command.output())
  return command.output()
}

test('the first group of a guessed task is left out, sure tasks train, and the log replays', async () => {
  const head = startHead(root, 'trend', [...SETTINGS, 'learning.filter=trend'])
  assert.is(await head.status, 0, head.output())
  const played = eventsOf('trend', ['TrajectoryCompleted']).map(({ data }) => data)
  const isGuessed = (task: string) => Number(task.split('-')[2]) % 2 === 1
  for (const { task, outcome } of played)
    assert.is(outcome.kind === 'scored' && outcome.unsure === true, isGuessed(task), task)
  const guessed = new Set(played.map(({ task }) => task).filter(isGuessed)).size
  assert.ok(guessed > 0 && guessed < 8)
  const updates = eventsOf('trend', ['PolicyUpdated']).filter(({ data }) => data.version > 0)
  assert.equal(
    updates.map(({ data }) => data.metrics['tasksLeftOut.shortCurve'] ?? 0),
    [guessed, 0, 0],
  )
  for (const { data } of updates) assert.ok((data.metrics.tasksTrained ?? 0) >= 8 - guessed)
  assertReplayed(root, 'trend')
  assert.match(await rescored('trend'), /trend \* +groupFilter +0\.0 %/)
})

test('a run without the filter tells what it would have changed', async () => {
  const head = startHead(root, 'plain', SETTINGS)
  assert.is(await head.status, 0, head.output())
  const [, changed] = /trend +groupFilter +([\d.]+) %/.exec(await rescored('plain')) ?? []
  assert.ok(Number(changed) > 0, changed)
})

test.run()
