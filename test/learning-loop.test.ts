/** The loop with models that learn, small: the same figures after an interruption, and by an evaluation that stands alone. */
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../src/broker/connection.ts'
import { loggedConfig } from '../src/config.ts'
import { policyFolder, remeasure } from '../src/evaluation/acceptances.ts'
import { evaluate } from '../src/evaluation/evaluate.ts'
import type { LoggedEvent } from '../src/events/catalogue.ts'
import { digestOf } from '../src/events/digest.ts'
import { openLogReader } from '../src/events/log-reader.ts'
import { startsOf } from '../src/events/starts.ts'
import { positionsBelow } from './support/logged.ts'
import { startHead } from './support/processes.ts'
import { temporaryFolder, until } from './support/run.ts'

const root = temporaryFolder()
/** All fail at everything: rewards are those of the judge, and every group is learned from. */
const SETTINGS = [
  'run.iterations=2',
  'run.evaluateEvery=2',
  'environment.tasks=6',
  'environment.tasksPerIteration=3',
  'environment.rolloutsPerTask=4',
  'environment.maxSteps=5',
  'policy.coldStart.demonstrations=16',
  'policy.coldStart.updates=8',
  'rewardModel.samples=1',
  'rewardModel.accuracyRange=[0, 1]',
  'rewardModel.coldStart.rollouts=10',
  'rewardModel.coldStart.updates=2',
  'learning.mixedOutcomes=false',
  'adaptation.candidates=within',
  'evaluation.splits=[in-domain]',
  'evaluation.tasks=4',
]

function logOf(run: string) {
  return openLogReader(runFolder(run, root).log)
}

/** What the log names is missing or damaged: the run does not go on, the file is named, and nothing is changed. */
async function losesNothing(run: string): Promise<void> {
  const folder = runFolder(run, root)
  const newest = (role: string) => {
    const checkpoints = join(folder.folder, 'checkpoints', role)
    return join(checkpoints, readdirSync(checkpoints).sort().at(-1) ?? '')
  }
  const before = positionsBelow(root)(run)
  for (const [file, damage] of [
    [join(newest('policy'), 'optimizer.safetensors'), rmSync],
    [join(newest('reward-model'), 'optimizer.safetensors'), flip],
    [join(newest('policy'), 'tokenizer.json'), flip],
    [join(newest('policy'), 'model.safetensors'), rmSync],
    [join(newest('reward-model'), 'model.safetensors'), flip],
    [folder.log, rmSync],
  ] as const) {
    cpSync(file, join(root, 'kept'), { preserveTimestamps: true })
    damage(file)
    const refused = startHead(root, run)
    assert.is(await refused.status, 1, refused.output())
    assert.ok(refused.output().includes(file), refused.output())
    cpSync(join(root, 'kept'), file, { preserveTimestamps: true })
    assert.is(positionsBelow(root)(run), before)
  }
}

function flip(file: string): void {
  const bytes = readFileSync(file)
  bytes[bytes.length >> 1] ^= 1
  writeFileSync(file, bytes)
}

test('an interrupted run that is gone on with ends with the same models and figures', async () => {
  const whole = startHead(root, 'whole', SETTINGS)
  assert.is(await whole.status, 0, whole.output())

  const first = startHead(root, 'parts', SETTINGS)
  await until('the first iteration', () => /^iteration 1\/2/m.test(first.output()), 400_000)
  first.process.kill('SIGINT')
  assert.is(await first.status, 130, first.output())
  await losesNothing('parts')
  const second = startHead(root, 'parts')
  assert.is(await second.status, 0, second.output())

  const [one, other] = [logOf('whole'), logOf('parts')]
  const said = (log: typeof one) => [...log.events()].filter(({ type }: LoggedEvent) => type !== 'RunStarted')
  const trained = said(one).filter(({ type, data }) =>
    type.endsWith('ModelUpdated') || type === 'PolicyUpdated'
      ? 'checkpoint' in data && data.checkpoint !== null
      : false,
  )
  assert.is(trained.length, 6, 'both models learn in both iterations')
  assert.is(digestOf(said(other)), digestOf(said(one)))
  one.close()
  other.close()
})

test('evaluated alone, the last policy has the figures of its run', async () => {
  const log = logOf('whole')
  const config = loggedConfig(startsOf(log).last.data.config)
  const [last] = [...log.events({ types: ['EvaluationCompleted'] })].slice(-1)
  assert.is(last.type, 'EvaluationCompleted')
  if (last.type !== 'EvaluationCompleted') return
  const { signal } = new AbortController()
  const model = policyFolder(log, 'last')
  const alone = await evaluate({ model, split: 'in-domain', config, signal })
  assert.is(alone.rollouts, last.data.rollouts.n)
  assert.is(alone.success.value, last.data.rollouts.successes / last.data.rollouts.n)
  assert.is(alone.steps, last.data.meanSteps)

  const twice = { ...config, evaluation: { ...config.evaluation, rollouts: 2, tasks: 2 } }
  const { tasks, rollouts, passAtK } = await evaluate({ model, split: 'in-domain', config: twice, signal })
  assert.equal([tasks, rollouts, passAtK.map(({ k }) => k)], [2, 4, [1, 2]])
  log.close()
})

test('every acceptance is measured again, parent and candidate alike', async () => {
  const log = logOf('whole')
  const accepted = [...log.events({ types: ['TaskAccepted'] })].length
  const measured = await remeasure(log, { rollouts: 2, signal: new AbortController().signal })
  assert.is(measured.length, accepted)
  for (const { accuracy, parentAccuracy } of measured)
    assert.equal([accuracy[1].n, parentAccuracy[1].n], [2, 2])
  log.close()
})

test.run()
