import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startDecider } from '../../src/actors/decider/decider.ts'
import { decidersOf } from '../../src/actors/deciders.ts'
import { runFolder } from '../../src/broker/connection.ts'
import { loggedConfig } from '../../src/config.ts'
import { RlError } from '../../src/errors.ts'
import { openLog } from '../../src/events/log.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { startsOf } from '../../src/events/starts.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { forkRun } from '../../src/replay/fork.ts'
import { smallConfig } from '../actors/loop.ts'
import { temporaryFolder } from '../support/run.ts'
import { copyRun, unpackFixture } from './fixture.ts'
import { recordLoop } from './record.ts'

function codeOf(action: () => unknown): string | null {
  try {
    action()
    return null
  } catch (error) {
    return error instanceof RlError ? error.code : String(error)
  }
}

test('a fork shares its parent, is small, has a config of its own, and leaves the parent as it was', () => {
  const root = temporaryFolder()
  const parent = unpackFixture(root)
  const before = createHash('sha256').update(readFileSync(parent.log)).digest('hex')
  const reader = openLogReader(parent.log)
  const at = reader.positionOf('key', 'IterationCompleted/1') ?? 0
  const child = runFolder('child', root)
  forkRun(parent, child, { at, set: ['run.iterations=5', 'environment.tasksPerIteration=3'] })
  assert.ok(statSync(child.log).size < 12_000, `${statSync(child.log).size} bytes`)
  const fork = openLogReader(child.log)
  assert.is(fork.head().position, at + 1)
  const { first, last } = startsOf(fork)
  assert.equal(last.data.parent, { run: 'run', position: at })
  assert.is(loggedConfig(first.data.config).run.iterations, 2)
  assert.is(loggedConfig(last.data.config).run.iterations, 5)
  assert.ok(verifyLog(fork).ok)
  assert.is(fork.byKey('PolicyUpdated/1')?.run, 'run')
  assert.is(fork.byKey('PolicyUpdated/2'), null)

  const deciders = decidersOf(loggedConfig(first.data.config)).map(startDecider)
  const outputs = [...fork.events()].flatMap((event) =>
    deciders.flatMap((decider) => [...decider.handle(event)]),
  )
  const last2 = outputs.flatMap((output) => (output.type === 'event' ? [output.event.type] : [])).at(-1)
  assert.is(last2, 'IterationStarted', 'the next iteration begins')
  fork.close()

  const written = openLog(child.log, { run: 'child', minFreeBytes: 0 })
  assert.is(written.head().position, at + 1)
  assert.ok(verifyLog(written).ok, 'also on ordinary pages')
  written.close()
  reader.close()
  assert.is(createHash('sha256').update(readFileSync(parent.log)).digest('hex'), before)
})

test('after its fork a run is decided by the new config, with the state that it had', () => {
  const root = temporaryFolder()
  const parent = unpackFixture(root)
  const log = openLogReader(parent.log)
  const at = log.positionOf('key', 'IterationCompleted/1') ?? 0
  const started = log.byKey('IterationStarted/2')
  const child = runFolder('wider', root)
  forkRun(parent, child, { at, set: ['environment.tasksPerIteration=3'] })
  const fork = openLogReader(child.log)
  const environment = decidersOf(loggedConfig(startsOf(fork).first.data.config))
    .filter(({ role }) => role === 'environment')
    .map(startDecider)[0]
  for (const event of fork.events()) environment.handle(event)
  assert.ok(started)
  const [planned] = environment.handle(started)
  assert.is(planned.type === 'event' && planned.event.type, 'IterationPlanned')
  if (planned.type === 'event' && planned.event.type === 'IterationPlanned')
    assert.is(planned.event.data.groups.filter(({ purpose }) => purpose === 'train').length, 3)
  fork.close()
  log.close()
})

test('a fork of a run that three brokers keep has one head', () => {
  const root = temporaryFolder()
  const log = recordLoop(root, 'three', smallConfig({ run: { iterations: 3, replicas: 3 } }))
  const at = log.positionOf('key', 'IterationCompleted/1') ?? 0
  log.close()
  const parent = runFolder('three', root)
  const { config: forked } = forkRun(parent, runFolder('one', root), { at, set: ['run.iterations=5'] })
  assert.is(forked.run.replicas, 1)
})

test('a config of an older version is read without the keys that have gone since', () => {
  const log = openLogReader(unpackFixture(temporaryFolder()).log)
  const { config } = startsOf(log).first.data
  const policy = { ...(config.policy as object), longGone: { a: 1 } }
  assert.equal(loggedConfig({ ...config, policy, gone: 2 }), loggedConfig(config))
  assert.is(
    codeOf(() => loggedConfig({ ...config, policy: 3 })),
    'config.invalid',
  )
  log.close()
})

test('a fork is refused where the end is decided, beyond the log, on a run id in use, and with a bad config', () => {
  const root = temporaryFolder()
  const parent = unpackFixture(root)
  const log = openLogReader(parent.log)
  const { position } = log.head()
  log.close()
  const fork = (run: string, at: number, set: string[] = []) =>
    codeOf(() => forkRun(parent, runFolder(run, root), { at, set }))
  assert.is(fork('a', position), 'fork.too-late')
  assert.is(fork('a', 0), 'replay.too-early')
  assert.is(fork('a', 100, ['run.iteration=3']), 'config.unknown-key')
  assert.is(fork('a', 100), null)
  assert.is(fork('a', 100), 'log.exists')
})

test('a fork may leave evaluation splits out and take them up again, and is refused one without tasks', () => {
  const root = temporaryFolder()
  recordLoop(root, 'narrow', smallConfig({ run: { iterations: 2, evaluateEvery: 2 } })).close()
  const fork = (parent: string, run: string, at: number, splits: string) =>
    codeOf(() =>
      forkRun(runFolder(parent, root), runFolder(run, root), { at, set: [`evaluation.splits=[${splits}]`] }),
    )
  assert.is(fork('narrow', 'wider', 50, 'in-domain,ood'), 'fork.new-split')
  assert.is(fork('narrow', 'without', 50, ''), null)
  assert.is(fork('without', 'again', 51, 'in-domain'), null)
})

test('a run whose end has lost its cause is over all the same, where it was decided', () => {
  const root = temporaryFolder()
  const parent = unpackFixture(root)
  const lost = copyRun(parent, runFolder('lost', root), {
    change: (event) => (event.type === 'RunCompleted' ? { ...event, cause: null } : event),
  })
  const log = openLogReader(parent.log)
  const decided = log.positionOf('id', log.byKey('RunCompleted')?.cause ?? '') ?? 0
  log.close()
  const fork = (run: string, at: number) => codeOf(() => forkRun(lost, runFolder(run, root), { at, set: [] }))
  assert.ok(decided > 0)
  assert.is(fork('late', decided), 'fork.too-late')
  assert.is(fork('early', decided - 1), null)
})

test('what keeps a log from being made is not told as one that is there', () => {
  const root = temporaryFolder()
  const child = runFolder('child', root)
  mkdirSync(`${child.log}-journal`, { recursive: true })
  const code = codeOf(() => forkRun(unpackFixture(root), child, { at: 100, set: [] }))
  assert.is(code, 'log.disk-full')
})

test.run()
