import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { uuidv7 } from 'uuidv7'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { loadConfig, loggable } from '../../src/config.ts'
import { RlError } from '../../src/errors.ts'
import { CATALOGUE, type EventData, type LoggedEvent } from '../../src/events/catalogue.ts'
import { encodeEnvelope } from '../../src/events/codec.ts'
import { openLog } from '../../src/events/log.ts'
import { type LogReader, openLogReader } from '../../src/events/log-reader.ts'
import { verifyLog } from '../../src/events/verify.ts'
import { openChildStream } from '../../src/replay/child-stream.ts'
import { compareJudges } from '../../src/replay/compare-judges.ts'
import { creditAndVotes, drawSteps, openWhatIf, type StepCredit } from '../../src/replay/whatif.ts'
import { ofType } from '../../src/replay/why.ts'
import { temporaryFolder } from '../support/run.ts'
import { runStarted } from '../support/toy.ts'
import { unpackFixture } from './fixture.ts'
import { giveWeights } from './weights.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const parent = unpackFixture(root)
let log: LogReader

test.before(async () => {
  await giveWeights(parent, [
    ['policy', 1],
    ['reward-model', 0],
    ['reward-model', 1],
  ])
  log = openLogReader(parent.log)
})
test.after(() => log.close())

function longest(): LoggedEvent<'TrajectoryCompleted'> {
  return ofType(log, 'TrajectoryCompleted')
    .filter(({ data }) => data.purpose === 'train')
    .sort((a, b) => b.data.steps - a.data.steps)[0]
}

function sha256(path: string): string {
  return createHash('sha256').update(readFileSync(path)).digest('hex')
}

test('a version whose weights are gone is named, and is not waited for', async () => {
  const whatIf = await openWhatIf(log)
  const { rollout } = longest().data
  const gone = whatIf.creditOf({ rollout, step: 0 }, { policyVersion: 0, n: 1 })
  assert.is(await gone.catch(({ code }) => code), 'model.elsewhere')
  await whatIf.close()
})

test('a step is gone on from with and without it, in a child stream, and the parent stays as it was', async () => {
  const before = sha256(parent.log)
  const child = runFolder('child', root)
  const { data, id } = longest()
  const step = Math.floor(data.steps / 2)
  const whatIf = await openWhatIf(log)
  const stream = openChildStream(log, child)
  const options = { policyVersion: 1, n: 3, onContinuation: stream.add }
  const credit = await whatIf.creditOf({ rollout: data.rollout, step }, options)
  assert.is(credit.action, data.actions[step])
  assert.equal([credit.kept.n, credit.open.n], [3, 3])
  assert.is(credit.credit.value, credit.kept.value - credit.open.value)
  assert.ok(credit.credit.low < credit.credit.value && credit.credit.value < credit.credit.high)
  assert.ok(credit.vote !== null && Math.abs(credit.vote) <= 1)
  assert.is(stream.added(), 6)
  assert.equal(await whatIf.creditOf({ rollout: data.rollout, step }, options), credit, 'the same again')
  assert.is(stream.added(), 6)
  stream.close()
  await whatIf.close()

  const kept = openLogReader(child.log)
  assert.ok(verifyLog(kept).ok)
  const added = [...kept.events({ from: log.head().position + 2 })]
  assert.is(added.length, 6)
  for (const event of added) {
    if (event.type !== 'TrajectoryCompleted') throw new Error(event.type)
    const own = event.data.rollout.includes('/kept/') ? step + 1 : step
    assert.is(event.cause, id)
    assert.ok(event.data.rollout.startsWith(`${data.rollout}/from-${step}/policy-1/`))
    assert.equal(event.data.actions.slice(0, own), data.actions.slice(0, own))
    assert.equal(event.data.observations.slice(0, own + 1), data.observations.slice(0, own + 1))
    assert.is(event.data.segments[0]?.firstStep, own)
  }
  kept.close()
  assert.is(sha256(parent.log), before)
})

test('a continuation that is too long for an event rests in a blob, as it does in a run', () => {
  const { data, id } = longest()
  const folder = runFolder('long', root)
  const stream = openChildStream(log, folder)
  const observations = data.observations.map((text) => text.padEnd(200_000, '.'))
  stream.add({ trajectory: { ...data, rollout: `${data.rollout}/long`, observations }, cause: id })
  assert.is(stream.added(), 1)
  stream.close()
  const kept = openLogReader(folder.log)
  const event = kept.byKey(`Rollout/${data.rollout}/long`)
  assert.ok(event?.type === 'TrajectoryCompleted')
  assert.equal(event.data.observations, observations)
  assert.ok(verifyLog(kept).ok)
  kept.close()
})

test('an episode that does not come back as recorded is refused with the first difference', async () => {
  const { data } = longest()
  const key = `Rollout/${data.rollout}`
  const seen = [...data.observations]
  seen[2] = `${seen[2].slice(0, 5)}?${seen[2].slice(5)}`
  const other = log.byKey(key) as LoggedEvent<'TrajectoryCompleted'>
  const changed: LogReader = {
    ...log,
    byKey: (name) =>
      name === key ? { ...other, data: { ...other.data, observations: seen } } : log.byKey(name),
  }
  const whatIf = await openWhatIf(changed)
  const codeOf = async (rollout: string, step: number) => {
    try {
      await whatIf.creditOf({ rollout, step }, { policyVersion: 1, n: 1 })
      return null
    } catch (error) {
      if (!(error instanceof RlError)) throw error
      return `${error.code}: ${error.message}`
    }
  }
  assert.match(
    (await codeOf(data.rollout, 3)) ?? '',
    /^whatif\.other-state: .* observation 2 differs at character 5/,
  )
  assert.match((await codeOf(data.rollout, data.steps)) ?? '', /^whatif\.no-step/)
  assert.match((await codeOf('1/train-99999/0', 0)) ?? '', /^whatif\.unknown/)
  await whatIf.close()
})

test('steps are drawn evenly by seed, and credit is correlated with votes', () => {
  assert.equal(drawSteps(log, 5, 1), drawSteps(log, 5, 1))
  assert.not.equal(drawSteps(log, 5, 1), drawSteps(log, 5, 2))
  assert.is(drawSteps(log, 1e6, 1).length, ofType(log, 'StepScored').length)
  const share = (value: number) => ({ value, low: 0, high: 1, n: 8 })
  const credits = [0.5, 0, -0.5, 0.25, 0].map(
    (value, i): StepCredit => ({
      rollout: 'r',
      step: i,
      action: 'look',
      succeeded: true,
      kept: share(0.5),
      open: share(0.5),
      credit: share(value),
      vote: i === 4 ? null : 2 * value,
    }),
  )
  assert.is(creditAndVotes(credits)?.n, 4)
  assert.ok((creditAndVotes(credits)?.value ?? 0) > 0.999)
  assert.is(creditAndVotes(credits.slice(1, 2)), null)
})

test('two versions of the reward model are compared on the same steps, a version with itself never flips', async () => {
  const options = { rollouts: 3, seed: 1 }
  const same = await compareJudges(log, { a: 0, b: 0, ...options })
  assert.is(same.flipped.length, 0)
  assert.is(same.rollouts, 3)
  const { matrix, steps, flipped, flips, right, process, outcome } = await compareJudges(log, {
    a: 0,
    b: 1,
    ...options,
  })
  assert.is(steps, same.steps)
  assert.is(
    matrix.flat().reduce((sum, count) => sum + count, 0),
    steps,
  )
  assert.ok(flipped.length > 0, 'weights that have nothing in common do not agree')
  assert.is(flips.value, flipped.length / steps)
  assert.is(flipped.length, steps - matrix[0][0] - matrix[1][1] - matrix[2][2])
  assert.ok(right)
  for (const figure of [process, outcome])
    assert.ok(figure && figure.a >= 0 && figure.a <= 1 && figure.a !== figure.b)
  assert.equal(same.process, { a: process!.a, b: process!.a }, 'the same judge says the same again')
  const error = await compareJudges(log, { a: 0, b: 77, ...options }).catch((error: unknown) => error)
  assert.is((error as RlError).code, 'compare-judges.no-version')
})

test("the setting's own estimate is the same in all versions, so they are not compared", async () => {
  const path = join(temporaryFolder(), 'events.db')
  const made = openLog(path, { run: 'a', minFreeBytes: 0 })
  const config = loggable(loadConfig({ set: ['rewardModel.provider=environment'] }))
  const data = { ...(runStarted.data as EventData<'RunStarted'>), config }
  const envelope = {
    id: uuidv7(),
    type: 'RunStarted',
    v: CATALOGUE.RunStarted.v,
    run: 'a',
    actor: 'head',
    cause: null,
    data,
  }
  made.append([made.check(encodeEnvelope({ ...envelope, time: 1_000 } as never))])
  made.close()
  const estimate = openLogReader(path)
  const error = await compareJudges(estimate, { a: 0, b: 1, rollouts: 1, seed: 1 }).catch(
    (error: unknown) => error,
  )
  estimate.close()
  assert.is((error as RlError).code, 'compare-judges.no-weights')
})

test('held-out rollouts are compared though the run did not judge them', async () => {
  const evaluated = ofType(log, 'TrajectoryCompleted').filter(({ data }) => data.purpose === 'evaluation')
  const judged = ofType(log, 'TrajectoryJudged').filter(({ data }) => data.purpose === 'evaluation')
  assert.ok(evaluated.length > 0 && judged.length === 0)
  const found = await compareJudges(log, { a: 0, b: 1, rollouts: 4, seed: 1, heldOut: true })
  assert.is(found.rollouts, 4)
  const held = new Set(evaluated.map(({ data }) => data.rollout))
  assert.ok(found.flipped.length > 0 && found.flipped.every(({ rollout }) => held.has(rollout)))
  assert.is(found.right?.a.n, found.steps, 'each step is measured')
})

test.run()
