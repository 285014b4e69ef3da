import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { runFolder } from '../../src/broker/connection.ts'
import { RlError } from '../../src/errors.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { askPolicy } from '../../src/replay/ask.ts'
import { ofType } from '../../src/replay/why.ts'
import { temporaryFolder } from '../support/run.ts'
import { copyRun, unpackFixture } from './fixture.ts'
import { giveWeights } from './weights.ts'

const root = temporaryFolder()
process.env.RL_RUNS = root
const source = unpackFixture(root)
await giveWeights(source, [
  ['policy', 0],
  ['policy', 1],
])
const log = openLogReader(source.log)
const { rollout, actions, policyVersion } = ofType(log, 'TrajectoryCompleted').find(
  ({ data }) => data.purpose === 'train' && data.steps > 2,
)!.data
test.after(() => log.close())

test('a policy that chooses tells the probability of each choice, and they are one in all', async () => {
  const answer = await askPolicy(log, { rollout, step: 2 })
  assert.is(answer.policyVersion, policyVersion)
  assert.is(answer.draws, null)
  assert.ok(answer.choices.length > 1)
  const sum = answer.choices.reduce((total, { probability }) => total + probability, 0)
  assert.ok(Math.abs(sum - 1) < 1e-3, `${sum}`)
  assert.equal(
    answer.choices.filter(({ recorded }) => recorded).map(({ action }) => action),
    [actions[2]],
  )
  const likely = answer.choices.map(({ probability }) => probability)
  assert.equal(
    likely,
    [...likely].sort((a, b) => b - a),
  )
  assert.ok(answer.entropy > 0 && answer.entropy <= Math.log(answer.choices.length) + 1e-6)
  assert.equal(await askPolicy(log, { rollout, step: 2 }), answer, 'the same again')
  const other = await askPolicy(log, { rollout, step: 2 }, { policyVersion: policyVersion === 1 ? 0 : 1 })
  assert.not.equal(other.choices, answer.choices)
})

test('what is not there is refused by name', async () => {
  const codeOf = async (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      (error: unknown) => (error instanceof RlError ? error.code : String(error)),
    )
  assert.is(await codeOf(askPolicy(log, { rollout: '1/nowhere/0', step: 0 })), 'whatif.unknown')
  assert.is(await codeOf(askPolicy(log, { rollout, step: 999 })), 'whatif.no-step')
})

test('a policy that tells no probabilities is refused, or its answers are counted', async () => {
  const scripted = copyRun(source, runFolder('scripted'), {
    change(event) {
      if (event.type !== 'RunStarted') return event
      const { config } = event.data
      const policy = { ...(config.policy as object), provider: 'simulated' }
      return { ...event, data: { ...event.data, config: { ...config, policy } } }
    },
  })
  const own = openLogReader(scripted.log)
  try {
    await askPolicy(own, { rollout, step: 1 })
    assert.unreachable()
  } catch (error) {
    assert.is((error as RlError).code, 'ask.no-choices')
  }
  const { choices, draws } = await askPolicy(own, { rollout, step: 1 }, { draws: 12 })
  assert.is(draws, 12)
  assert.is(
    choices.reduce((sum, { count }) => sum + (count ?? 0), 0),
    12,
  )
  own.close()
})

test.run()
