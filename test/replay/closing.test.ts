/** Commands that open a run's environment end it again: its sandboxes, browsers and desktops would keep their process for ever. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { configDigest, loadConfig, loggable, loggedConfig } from '../../src/config.ts'
import { openSetting } from '../../src/environments/open.ts'
import { loadSetting } from '../../src/environments/settings.ts'
import { remeasure } from '../../src/evaluation/acceptances.ts'
import { evaluate } from '../../src/evaluation/evaluate.ts'
import { CATALOGUE, type EventData, type NewEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { openLog } from '../../src/events/log.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { startsOf } from '../../src/events/starts.ts'
import { seedOf } from '../../src/random.ts'
import { compareJudges } from '../../src/replay/compare-judges.ts'
import { openWhatIf } from '../../src/replay/whatif.ts'
import { temporaryFolder } from '../support/run.ts'
import { runStarted } from '../support/toy.ts'

const root = temporaryFolder()
const counted = globalThis as { opened?: number; closed?: number }

/** Nim, whose environment counts how often it is opened and closed. */
const MODULE = `
import { setting as nim } from ${JSON.stringify(resolve('test/environments/nim.ts'))}
export const setting = {
  ...nim,
  async open(...given) {
    globalThis.opened = (globalThis.opened ?? 0) + 1
    const close = async () => void (globalThis.closed = (globalThis.closed ?? 0) + 1)
    return { ...(await nim.open(...given)), close }
  },
}
`

/** A run of one rollout, of one step so far, by the expert. */
async function recordRun(run: string): Promise<string> {
  const file = join(root, 'counting.ts')
  writeFileSync(file, MODULE)
  await loadSetting({ name: 'nim', module: file })
  const config = loadConfig({
    set: [
      `environment.module=${file}`,
      'policy.provider=simulated',
      'rewardModel.mode=off',
      'learning.reward=outcome',
    ],
    env: {},
  })
  const { environment } = await openSetting(config)
  const [task] = await environment.tasks('train')
  const seed = [1, 2] as const
  const request: EventData<'RolloutRequested'> = {
    ...{ rollout: '1/train-00000/0', iteration: 1, purpose: 'train', split: 'train', slot: 'train-00000' },
    ...{ task: task.id, index: 0, policyVersion: 0, seed, maxSteps: 8 },
  }
  const start = await environment.reset(task, { seed: seedOf(seed, 'reset'), maxSteps: 8 })
  const after = await start.step('take 1')
  const { maxSteps: _, ...named } = request
  const trajectory: EventData<'TrajectoryCompleted'> = {
    ...named,
    ...{ outcome: { kind: 'scored', value: 0, success: false }, ended: 'gave-up', steps: 1 },
    ...{ observations: [start.turn.observation, after.turn.observation], actions: ['take 1'] },
    ...{ invalid: {}, trainable: false, segments: [] },
    usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
  }
  await environment.close?.()
  const started = {
    ...(runStarted.data as EventData<'RunStarted'>),
    config: loggable(config),
    configDigest: configDigest(config),
  }
  const events: NewEvent[] = [
    { type: 'RunStarted', data: started },
    { type: 'TaskAdded', data: { slot: 'train-00000', split: 'train', index: 0, total: 1, task } },
    { type: 'RolloutRequested', data: request },
    { type: 'TrajectoryCompleted', data: trajectory },
    {
      type: 'PolicyUpdated',
      data: {
        ...{ iteration: 0, version: 0, parentVersion: null, trainedOn: [], samples: 0, metrics: {} },
        ...{ checkpoint: { sha256: '0'.repeat(64), path: 'checkpoints/gone' }, stopped: null, timing: {} },
      },
    },
    {
      type: 'TaskAccepted',
      data: {
        ...{ iteration: 1, slot: 'train-00000', task: task.id, parent: task.id, direction: 'harder' },
        ...{ accuracy: { successes: 0, n: 1 }, parentAccuracy: { successes: 1, n: 1 } },
        ...{ thresholds: { low: 0.2, high: 0.8 }, reason: 'within the thresholds' },
      },
    },
  ]
  const folder = runFolder(run, root)
  mkdirSync(folder.folder, { recursive: true })
  const log = openLog(folder.log, { run, minFreeBytes: 0, synchronous: 'NORMAL' })
  for (const [index, { type, data }] of events.entries()) {
    const id = `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`
    const { v } = CATALOGUE[type]
    log.append([
      log.check(encodeEnvelope({ id, type, v, run, actor: 'head', time: index, cause: null, data })),
    ])
  }
  log.close()
  return folder.log
}

test('what went on from a step closes its environment, and so does a comparison of judges that is refused', async () => {
  const log = openLogReader(await recordRun('nim'))
  try {
    counted.opened = counted.closed = 0
    const whatIf = await openWhatIf(log)
    const { kept, open } = await whatIf.creditOf(
      { rollout: '1/train-00000/0', step: 0 },
      { policyVersion: 0, n: 2 },
    )
    assert.equal([kept.n, open.n], [2, 2])
    await whatIf.close()
    assert.equal([counted.opened, counted.closed], [1, 1])
    const refused = await compareJudges(log, { a: 0, b: 1, rollouts: 1, seed: 1 }).catch((error) => error)
    assert.is(refused.code, 'compare-judges.no-version')
    assert.equal([counted.opened, counted.closed], [2, 2])
  } finally {
    log.close()
  }
})

test('where the model cannot be opened, an evaluation and a second measurement close their environments', async () => {
  const log = openLogReader(await recordRun('measured'))
  const config = loggedConfig(startsOf(log).last.data.config)
  const { signal } = new AbortController()
  try {
    counted.opened = counted.closed = 0
    const model = join(root, 'none')
    await evaluate({ model, split: 'in-domain', config, signal }).then(
      () => assert.unreachable(),
      () => {},
    )
    assert.equal([counted.opened, counted.closed], [1, 1])
    await remeasure(log, { rollouts: 1, signal }).then(
      () => assert.unreachable(),
      () => {},
    )
    assert.equal([counted.opened, counted.closed], [2, 2])
  } finally {
    log.close()
  }
})

test.run()
