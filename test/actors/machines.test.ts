import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { startDecider } from '../../src/actors/decider/decider.ts'
import type { JudgeRollouts, RewriteTask, Train } from '../../src/actors/decider/jobs.ts'
import { decidersOf } from '../../src/actors/deciders.ts'
import type { EventData, EventType, LoggedEvent } from '../../src/events/catalogue.ts'
import { CATALOGUE } from '../../src/events/catalogue.ts'
import { facts, type Loop, playLoop, shuffled, smallConfig } from './loop.ts'

/** What may be set in config, and which of it changes the flow. */
const SETTINGS: Readonly<Record<string, Record<string, Record<string, unknown>>>> = {
  'as it is': {},
  'reward model off': { rewardModel: { mode: 'off' }, learning: { reward: 'outcome' } },
  'reward model fixed': { rewardModel: { mode: 'fixed' } },
  'judging by group': { rewardModel: { judging: 'group' } },
  'adaptation off': { adaptation: { enabled: false } },
  'policy fixed': { policy: { training: { enabled: false } } },
  'evaluation judged': { evaluation: { splits: ['in-domain', 'ood'], tasks: 2, rollouts: 2, judge: true } },
  'evaluation off': { evaluation: { splits: [] } },
  'rollouts fail': { simulation: { steps: 3, failureShare: 0.3 } },
  'rollouts fail, judging by group': {
    simulation: { steps: 3, failureShare: 0.3 },
    rewardModel: { judging: 'group' },
  },
  'accepted tasks are added': { adaptation: { accepted: 'add', rule: 'mixed', low: 0, high: 1 } },
  bayes: { adaptation: { evidence: 'bayes', confidence: 0.6, rule: 'inclusive' } },
}

function of<T extends EventType>(log: readonly LoggedEvent[], type: T): EventData<T>[] {
  return log.filter((event) => event.type === type).map(({ data }) => data as EventData<T>)
}

function assertWhole({ log, states }: Loop, iterations = 3): void {
  assert.is(log.at(-1)?.type, 'RunCompleted')
  assert.equal([...new Set(Object.values(states))], ['finished'])
  for (let version = 0; version <= iterations; version++) {
    assert.is(of(log, 'PolicyUpdated').filter((update) => update.version === version).length, 1)
    assert.is(of(log, 'RewardModelUpdated').filter((update) => update.version === version).length, 1)
  }
}

for (const [name, changes] of Object.entries(SETTINGS)) {
  const config = smallConfig(changes)

  test(`${name}: the run goes to its end, every event fits its schema`, () => {
    const loop = playLoop({ config })
    assertWhole(loop)
    for (const { type, data } of loop.log) CATALOGUE[type].schema.parse(data)
  })

  test(`${name}: any order of arrival leads to the same facts`, () => {
    const expected = facts(playLoop({ config }).log)
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        assert.equal(facts(playLoop({ config, order: shuffled(seed) }).log), expected)
      }),
      { numRuns: 12 },
    )
  })

  test(`${name}: restarts at any point lead to the same facts`, () => {
    const expected = facts(playLoop({ config }).log)
    fc.assert(
      fc.property(
        fc.integer(),
        fc.uniqueArray(fc.integer({ min: 1, max: 380 }), { maxLength: 6 }),
        (seed, points) => {
          const restarted = playLoop({ config, order: shuffled(seed), restartAt: new Set(points) })
          assert.equal(facts(restarted.log), expected)
        },
      ),
      { numRuns: 8 },
    )
  })
}

test('with staleness an iteration begins while the one before is trained on, and no rollout is further behind', () => {
  const config = smallConfig({ run: { iterations: 6, evaluateEvery: 3, maxStaleness: 1 } })
  let overlaps = 0
  for (let seed = 0; seed < 20; seed++) {
    const loop = playLoop({ config, order: shuffled(seed), restartAt: new Set([seed * 20]) })
    assertWhole(loop, 6)
    for (const { purpose, iteration, policyVersion } of of(loop.log, 'RolloutRequested'))
      if (purpose !== 'evaluation') assert.ok(iteration - 1 - policyVersion <= 1)
    for (const { metrics } of of(loop.log, 'IterationCompleted')) overlaps += metrics.staleness
    const groups = new Set<string>()
    for (const { groups: planned, iteration } of of(loop.log, 'IterationPlanned'))
      for (const { slot } of planned) {
        assert.not(groups.has(`${iteration}/${slot}`))
        groups.add(`${iteration}/${slot}`)
      }
  }
  assert.ok(overlaps > 0, 'no rollout was ever played by an older policy')
})

test('without a barrier rollouts are asked for as versions come, and never more than staleness allows', () => {
  for (const maxStaleness of [1, 2]) {
    const config = smallConfig({
      run: { iterations: 6, evaluateEvery: 3, maxStaleness, barrier: false },
      environment: {
        ...{ name: 'simulated', tasks: 6 * (maxStaleness + 1), tasksPerIteration: 3 },
        ...{ rolloutsPerTask: 4, minGroupSize: 2 },
      },
    })
    const { tasksPerIteration, rolloutsPerTask } = config.environment
    const batch = tasksPerIteration * rolloutsPerTask
    let early = 0
    for (let seed = 0; seed < 20; seed++) {
      const loop = playLoop({ config, order: shuffled(seed), restartAt: new Set([seed * 20]) })
      assertWhole(loop, 6)
      let version = 0
      let asked = 0
      const open = new Set<string>()
      for (const { type, data } of loop.log) {
        if (type === 'PolicyUpdated') version = data.version
        if (type === 'IterationStarted' && open.size > 0) early++
        if (type === 'TrajectoryCompleted' || type === 'RolloutFailed') open.delete(data.rollout)
        if (type !== 'RolloutRequested' || data.purpose === 'evaluation') continue
        open.add(data.rollout)
        assert.ok(data.iteration - 1 - data.policyVersion <= maxStaleness)
        // Candidates are played beside.
        if (data.purpose === 'train') asked++
        assert.ok(asked <= (version + maxStaleness + 1) * batch, `${asked} rollouts at version ${version}`)
      }
    }
    assert.ok(early > 0, 'an iteration begins while rollouts of another are played')
  }
})

test('with staleness too it is decided on the candidate that was played, and on its own parent', () => {
  const config = smallConfig({ run: { iterations: 6, evaluateEvery: 6, maxStaleness: 1 } })
  let decided = 0
  for (let seed = 0; seed < 32; seed++) {
    const { log } = playLoop({ config, order: shuffled(seed) })
    const played = new Map<string, string>()
    const active = new Map<string, string>()
    for (const { type, data } of log) {
      if (type === 'TaskAdded') active.set(data.slot, data.task.id)
      if (type === 'IterationPlanned')
        for (const { slot, task, purpose } of data.groups)
          if (purpose === 'candidate') played.set(`${data.iteration}/${slot}`, task)
      if ((type !== 'TaskAccepted' && type !== 'TaskRejected') || data.task === null) continue
      decided++
      assert.is(data.task, played.get(`${data.iteration}/${data.slot}`), `seed ${seed}`)
      assert.is(data.parent, active.get(data.slot), `seed ${seed}`)
      if (type === 'TaskAccepted') active.set(data.slot, data.task)
    }
  }
  assert.ok(decided > 100)
})

test('a candidate rides along in the next iteration, in the place of its parent, and is learned from only if accepted', () => {
  const config = smallConfig({
    run: { iterations: 8, evaluateEvery: 8 },
    environment: { name: 'simulated', tasks: 6, tasksPerIteration: 4, rolloutsPerTask: 4, minGroupSize: 2 },
  })
  const { log, jobs } = playLoop({ config })
  const plans = new Map(of(log, 'IterationPlanned').map((plan) => [plan.iteration, plan.groups]))
  const active = new Map(
    of(log, 'TaskAdded')
      .filter(({ split }) => split === 'train')
      .map(({ slot, task }) => [slot, task.id]),
  )
  const proposals = of(log, 'TaskProposed')
  assert.ok(proposals.length > 5)
  for (const { slot, iteration, task } of proposals) {
    const [group] = plans.get(iteration + 1)!.filter((planned) => planned.slot === slot)
    assert.equal(group, { slot, task: task.id, purpose: 'candidate' })
  }
  const trained = jobs.filter(({ kind, done }) => kind === 'train' && done.startsWith('PolicyUpdated'))
  for (const [iteration, groups] of plans) {
    for (const { slot, task, purpose } of groups) {
      if (purpose === 'train') assert.is(task, active.get(slot))
    }
    const decided = log.filter(
      (event): event is LoggedEvent<'TaskAccepted' | 'TaskRejected'> =>
        (event.type === 'TaskAccepted' || event.type === 'TaskRejected') &&
        event.data.iteration === iteration,
    )
    assert.is(decided.length, groups.filter(({ purpose }) => purpose === 'candidate').length)
    const input = trained.find((job) => (job.input as Train).iteration === iteration)!.input as Train
    for (const { type, data } of decided) {
      const learned = input.groups.some(({ slot }) => slot === data.slot)
      assert.is(learned, type === 'TaskAccepted')
      if (type === 'TaskAccepted') active.set(data.slot, data.task)
    }
  }
})

test('a rollout that fails leaves its group; a group with too few left is not learned from', () => {
  const config = smallConfig()
  const { log, jobs } = playLoop({
    config,
    fails: ({ purpose, iteration, index }) => purpose === 'train' && iteration === 1 && index > 0,
  })
  const [first] = of(log, 'PolicyUpdated').filter(({ version }) => version === 1)
  assert.is(first.stopped, 'no group is whole enough to learn from')
  assert.equal(first.trainedOn, [])
  assert.not(jobs.some(({ done }) => done === 'PolicyUpdated/1'))
  const [completed] = of(log, 'IterationCompleted').filter(({ iteration }) => iteration === 1)
  assert.is(completed.accuracy.n, 3)
  assert.is(completed.metrics.failedRollouts, 9)
})

test('a task whose groups fail again and again is set aside', () => {
  const config = smallConfig({
    run: { iterations: 12, evaluateEvery: 12 },
    environment: {
      name: 'simulated',
      tasks: 4,
      tasksPerIteration: 3,
      rolloutsPerTask: 4,
      minGroupSize: 2,
      quarantineAfter: 2,
    },
    adaptation: { enabled: false },
  })
  const poisoned = 'train-00002'
  const { log } = playLoop({ config, fails: ({ slot }) => slot === poisoned })
  const plays = of(log, 'IterationPlanned').filter(({ groups }) =>
    groups.some(({ slot }) => slot === poisoned),
  )
  assert.is(plays.length, 2)
  assert.is(log.at(-1)?.type, 'RunCompleted')
})

const resumed = { type: 'RunResumed', data: { reason: 'a person said so' } } as const

test('an iteration without any outcome stops the run, and a resumed run goes on', () => {
  const config = smallConfig()
  const fails = ({ iteration }: { readonly iteration: number }) => iteration === 2
  const stopped = playLoop({ config, fails })
  assert.is(stopped.states.head, 'open.failed')
  const [failure] = of(stopped.log, 'RunFailed')
  assert.is(failure.iteration, 2)
  assert.match(failure.reason, /none of the \d+ rollouts of iteration 2/)
  const goesOn = playLoop({ config, fails, interventions: [{ at: 'rest', event: resumed }] })
  assertWhole(goesOn)
  assert.is(of(goesOn.log, 'RunFailed').length, 1)
  assert.is(of(goesOn.log, 'PolicyUpdated').find(({ version }) => version === 2)?.samples, 0)
})

test('a paused run begins no iteration until it is resumed, wherever it was paused', () => {
  const config = smallConfig()
  const expected = facts(playLoop({ config }).log)
  const paused = { type: 'RunPaused', data: { reason: 'the disk is nearly full' } } as const
  for (const at of [2, 10, 60, 150, 300]) {
    const stands = playLoop({ config, interventions: [{ at, event: paused }] })
    assert.is(stands.states.head, 'open.paused')
    assert.is.not(stands.log.at(-1)?.type, 'RunCompleted')
    const { log } = playLoop({
      config,
      interventions: [
        { at, event: paused },
        { at: 'rest', event: resumed },
      ],
    })
    assert.equal(facts(log.filter(({ type }) => type !== 'RunPaused' && type !== 'RunResumed')), expected)
  }
})

test('the judge is asked once a trajectory, or once a group, and a job ends with the last verdict', () => {
  const single = playLoop({ config: smallConfig() })
  const judged = single.jobs.filter(({ kind }) => kind === 'judge')
  assert.is(judged.length, of(single.log, 'TrajectoryJudged').length)
  const grouped = playLoop({ config: smallConfig({ rewardModel: { judging: 'group' } }) })
  const groups = grouped.jobs.filter(({ kind }) => kind === 'judge')
  assert.is(groups.length, of(grouped.log, 'IterationPlanned').flatMap(({ groups }) => groups).length)
  for (const job of groups) assert.is((job.input as JudgeRollouts).rollouts.length, 4)
})

test('what the judge found fault with in failed rollouts reaches the rewriter, the commonest first', () => {
  const { jobs } = playLoop({ config: smallConfig() })
  const rewrites = jobs.filter(({ kind }) => kind === 'rewrite').map(({ input }) => input as RewriteTask)
  const easier = rewrites.find(({ direction }) => direction === 'easier')!
  assert.match(easier.critique, /^\d+x simulated: /)
  assert.ok(easier.taken.includes(easier.parent))
})

test('what a decider absorbs is what its machine would have done', () => {
  for (const changes of [{}, { rewardModel: { judging: 'group' } }, SETTINGS['evaluation judged']]) {
    const { log } = playLoop({ config: smallConfig(changes), order: shuffled(7) })
    for (const decider of decidersOf(smallConfig(changes))) {
      if (!decider.absorb) continue
      const [short, long] = [decider, { ...decider, absorb: undefined }].map(startDecider)
      for (const event of log) {
        assert.equal(short.handle(event), long.handle(event))
        assert.equal([short.state(), short.context()], [long.state(), long.context()])
      }
    }
  }
})

test('evaluation uses the same seeds every time', () => {
  const { log } = playLoop({ config: smallConfig() })
  const seeds = new Map<string, string>()
  for (const { purpose, slot, index, seed } of of(log, 'RolloutRequested')) {
    if (purpose !== 'evaluation') continue
    const name = `${slot}/${index}`
    assert.is(seeds.get(name) ?? String(seed), String(seed))
    seeds.set(name, String(seed))
  }
  assert.is(seeds.size, 2)
})

test('the simulated learner learns, and adaptation keeps tasks within reach', () => {
  const config = smallConfig({
    run: { iterations: 40, evaluateEvery: 40 },
    environment: { name: 'simulated', tasks: 40, tasksPerIteration: 8, rolloutsPerTask: 8 },
    evaluation: { splits: ['in-domain'], tasks: 64 },
    simulation: { steps: 3, learningRate: 0.06 },
  })
  const { log } = playLoop({ config })
  const [before, after] = of(log, 'EvaluationCompleted').map(
    ({ rollouts }) => rollouts.successes / rollouts.n,
  )
  assert.ok(after > before + 0.15, `${before} -> ${after}`)
  assert.ok(of(log, 'TaskAccepted').length > 10)
})

test('accepted tasks that are added are played in slots of their own, and their parents are played on', () => {
  const config = smallConfig({
    run: { iterations: 12, evaluateEvery: 12 },
    environment: { name: 'simulated', tasks: 6, tasksPerIteration: 6, rolloutsPerTask: 8 },
    adaptation: { accepted: 'add', rule: 'mixed', low: 0.2, high: 0.8, candidates: 'within' },
  })
  const { log } = playLoop({ config })
  const plans = of(log, 'IterationPlanned')
  const trained = plans.flatMap(({ iteration, groups }) =>
    groups.filter(({ purpose }) => purpose === 'train').map((group) => ({ ...group, iteration })),
  )
  const accepted = of(log, 'TaskAccepted')
  assert.ok(accepted.length > 2)
  const played = (wanted: string, task: string) =>
    trained.some((group) => group.slot === wanted && group.task === task)
  assert.ok(accepted.some(({ slot, iteration, task }) => played(`${slot}+${iteration}`, task)))
  for (const { slot, iteration, task } of accepted) {
    assert.not.ok(played(slot, task), 'the parent keeps its slot')
    const later = trained.filter((group) => group.iteration > iteration && group.slot === slot)
    for (const group of later) assert.is(group.task, trained.find((one) => one.slot === slot)!.task)
  }
  for (const { groups } of plans) assert.is(new Set(groups.map(({ slot }) => slot)).size, groups.length)
})

test.run()
