import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { describe } from '../../src/actors/decider/chart.ts'
import { decidingAction, startDecider } from '../../src/actors/decider/decider.ts'
import { decidersOf } from '../../src/actors/deciders.ts'
import { keyOf } from '../../src/events/catalogue.ts'
import { ruleOf } from '../../src/replay/rule.ts'
import { playLoop, smallConfig } from '../actors/loop.ts'

const CONFIGS = {
  'as it is': {},
  'reward model off': { rewardModel: { mode: 'off' }, learning: { reward: 'outcome' } },
  'reward model fixed, by group': { rewardModel: { mode: 'fixed', judging: 'group' } },
  'policy fixed, failures': {
    policy: { training: { enabled: false } },
    simulation: { steps: 3, failureShare: 0.4 },
  },
  'tasks in reserve': {
    environment: {
      ...{ name: 'simulated', tasks: 12, tasksPerIteration: 2, rolloutsPerTask: 4, minGroupSize: 2 },
      refill: 3,
    },
  },
  'within reach only': { rewardModel: { accuracyRange: [0.49, 0.51] } },
}

for (const [name, changes] of Object.entries(CONFIGS))
  test(`${name}: the chart alone names the transition that was taken for a decision or a request`, () => {
    const config = smallConfig({ run: { iterations: 6, evaluateEvery: 2 }, ...changes })
    const { log } = playLoop({ config })
    const byKey = new Map(log.map((event) => [keyOf(event), event]))
    const seen = new Set<string>()
    for (const decider of decidersOf(config)) {
      const running = startDecider(decider)
      let taken: string[] = []
      running.inspect((step) => {
        if (step.type === '@xstate.microstep') taken.push(...step._transitions.map(describe))
      })
      for (const event of log) {
        taken = []
        for (const output of running.handle(event)) {
          if (output.type === 'job' && output.job.kind === 'judge') continue
          const key = output.type === 'event' ? keyOf(output.event) : output.job.done
          const found = byKey.get(key)
          if (!found || decidingAction(decider, found) === null) continue
          const rules = ruleOf(found)?.split(' or ') ?? []
          assert.ok(
            rules.some((rule) => taken.includes(rule)),
            `${key}: ${rules} is none of ${taken}`,
          )
          seen.add(found.type)
        }
      }
    }
    assert.ok(seen.size >= 7, [...seen].join())
  })

test('what nobody decided has no rule', () => {
  const { log } = playLoop({ config: smallConfig() })
  for (const event of log)
    if (event.type === 'StepScored' || event.type === 'TrajectoryCompleted') assert.is(ruleOf(event), null)
})

test.run()
