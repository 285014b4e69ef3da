/** A judge that cannot be reached is nobody's verdict: neither the policy nor the judge learns from it. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { lastAttempt } from '../../src/actors/last-attempt.ts'
import { policyAdvantages } from '../../src/actors/policy/policy-advantages.ts'
import { parseConfig } from '../../src/config.ts'
import type { EventData } from '../../src/events/catalogue.ts'
import { judgeAdvantages } from '../../src/learning/judge-advantage.ts'

const task = 'open the door'
const rollouts = ['a', 'b', 'c', 'lost']

function verdict(rollout: string, score: -1 | 1) {
  return { rollout, step: 0, probability: null, progress: null, judgements: [{ score }] } as const
}

function unjudged(): EventData<'StepScored'>[] {
  const input = { rollouts: [{ rollout: 'lost', steps: 1 }], iteration: 1, task, rewardModelVersion: 0 }
  const events = lastAttempt(parseConfig({}).adaptation)({ kind: 'judge', input } as never, 3, 'no key') ?? []
  return events.map(({ data }) => data as EventData<'StepScored'>)
}

test('a judgement that failed for good holds no verdict', () => {
  const [scored, ...others] = unjudged()
  assert.is(others.length, 0)
  assert.equal([scored.rollout, scored.judgements, scored.probability], ['lost', [], null])
})

for (const reward of ['integrated', 'reward-model'])
  test(`with the reward '${reward}' the policy learns from the others as if it had not been played`, () => {
    const settings = parseConfig({ learning: { reward } })
    const trajectories = rollouts.map((rollout, i) => ({
      rollout,
      outcome: { kind: 'scored', value: i % 2, success: i % 2 === 1 } as const,
      steps: 1,
      actions: ['look'],
      ended: 'gave-up' as const,
      usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
    }))
    const scored = [verdict('a', 1), verdict('b', -1), verdict('c', 1)]
    const learn = (ids: readonly string[]) =>
      policyAdvantages([{ task, rollouts: ids }], trajectories, [...scored, ...unjudged()], settings)
    assert.equal([...learn(rollouts).trained.byRollout], [...learn(['a', 'b', 'c']).trained.byRollout])
  })

test('the judge learns from its other judgements as if the lost one had not been asked for', () => {
  const judged = (id: string, verdicts: readonly (-1 | 0 | 1)[]) => ({
    id,
    task,
    outcome: 1 as const,
    verdicts: [verdicts],
    scores: [verdicts[0] ?? 0],
  })
  const known = [judged('a', [1]), judged('b', [-1]), judged('c', [1])]
  const options = {
    lambda: 1,
    invalidReward: -2,
    normalisation: 'within-task',
    balanceVerdicts: false,
  } as const
  const lost = judged(
    'lost',
    unjudged()[0].judgements.map(({ score }) => score),
  )
  const with_ = judgeAdvantages([...known, lost], options).byRollout
  const without = judgeAdvantages(known, options).byRollout
  for (const { id } of known) assert.equal(with_.get(id), without.get(id))
})

test.run()
