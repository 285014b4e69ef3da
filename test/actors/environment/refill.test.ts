/** Further tasks are played until enough groups are mixed, whatever the order of arrival. */
import fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { enterPlan, enterRollout, openBook, rolloutsOver } from '../../../src/actors/decider/books.ts'
import { startDecider } from '../../../src/actors/decider/decider.ts'
import type { EnvironmentContext } from '../../../src/actors/environment/context.ts'
import { environmentDecider } from '../../../src/actors/environment/machine.ts'
import type { EventData, EventType, LoggedEvent } from '../../../src/events/catalogue.ts'
import { facts, playLoop, shuffled, smallConfig } from '../loop.ts'

const dataOf = <T extends EventType>(log: readonly LoggedEvent[], type: T) =>
  log.flatMap((event) => (event.type === type ? [event.data as EventData<T>] : []))

const configWith = (refill: number | undefined, more: object = {}) =>
  smallConfig({
    environment: {
      ...{ name: 'simulated', tasks: 12, tasksPerIteration: 2, rolloutsPerTask: 4, minGroupSize: 2 },
      ...(refill === undefined ? {} : { refill }),
      ...more,
    },
    adaptation: { enabled: false },
  })

/** Slots of an iteration whose rollouts both succeed and fail, among those that were asked for. */
function playedOf(log: readonly LoggedEvent[], iteration: number) {
  const requested = dataOf(log, 'RolloutRequested').filter(
    (one) => one.iteration === iteration && one.purpose === 'train',
  )
  const slots = [...new Set(requested.map(({ slot }) => slot))]
  const mixed = slots.filter((slot) => {
    const wins = dataOf(log, 'TrajectoryCompleted').flatMap((one) =>
      one.iteration === iteration && one.slot === slot && one.outcome.kind === 'scored'
        ? [one.outcome.success]
        : [],
    )
    return new Set(wins).size === 2
  })
  return { slots, mixed }
}

test('groups are drawn from the reserve until as many are mixed as an iteration has tasks, or none is left', () => {
  const { log, states } = playLoop({ config: configWith(3) })
  assert.match(states.head, /finished/)
  let drawn = 0
  for (const { iteration, groups } of dataOf(log, 'IterationPlanned')) {
    assert.is(groups.length, 6)
    const { slots, mixed } = playedOf(log, iteration)
    assert.ok(mixed.length === 2 || slots.length === 6, `${slots.length} played, ${mixed.length} mixed`)
    drawn += slots.length - 2
  }
  assert.ok(drawn > 0, 'some group was drawn')
  const plain = playLoop({ config: configWith(undefined) }).log
  const firsts = (events: readonly LoggedEvent[]) =>
    dataOf(events, 'IterationPlanned')[0]?.groups.filter(({ reserve }) => !reserve)
  assert.equal(firsts(log), firsts(plain), 'the first tasks are those of a run without a reserve')
})

for (const [name, more] of Object.entries({ alone: {}, 'with branches': { branching: 'random' } }))
  test(`the order of arrival and restarts change nothing, ${name}`, () => {
    const config = configWith(2, more)
    const plain = facts(playLoop({ config }).log)
    for (let seed = 1; seed <= 4; seed++) {
      const { log } = playLoop({ config, order: shuffled(seed), restartAt: new Set([30 + seed, 60, 90]) })
      assert.equal(facts(log), plain)
    }
  })

test('lost rollouts make no group mixed, and what is left of the reserve is free for the next iteration', () => {
  const config = configWith(2)
  const { log, states } = playLoop({ config, fails: ({ index }) => index > 0 })
  assert.match(states.head, /finished/)
  for (const { iteration } of dataOf(log, 'IterationPlanned'))
    assert.is(playedOf(log, iteration).slots.length, 4, 'the bound holds')
  const running = startDecider(environmentDecider(config))
  for (const event of playLoop({ config }).log) running.handle(event)
  const { slots, books } = running.context() as EnvironmentContext
  assert.is(books.size, 0)
  assert.ok([...slots.values()].every(({ busy }) => busy === null))
})

test('a round draws what is missing: never more than the reserve, and the same in any order', () => {
  const outcomes = fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 6, maxLength: 6 })
  fc.assert(
    fc.property(outcomes, (wins) => {
      const roundsOf = (turn: <T>(all: readonly T[]) => readonly T[]) => {
        const book = openBook({ iteration: 1, policyVersion: 0, rewardModelVersion: 0 })
        const groups = wins.map((_, i) => ({ slot: `${i}`, task: `t${i}`, purpose: 'train' as const }))
        const planned = groups.map((group, i) => (i < 2 ? group : { ...group, reserve: true as const }))
        enterPlan(book, { iteration: 1, groups: planned, rolloutsPerTask: 2 })
        let open = ['0', '1']
        const rounds: (readonly string[])[] = []
        while (open.length > 0) {
          const ends = turn(open.flatMap((slot) => [0, 1].map((index) => ({ slot, index }))))
          open = ends.flatMap(({ slot, index }) => {
            const success = wins[Number(slot)]?.[index] === true
            const outcome = { kind: 'scored', value: success ? 1 : 0, success }
            const rollout = { rollout: `1/${slot}/${index}`, slot, index, steps: 1, outcome }
            return enterRollout(book, rollout as EventData<'TrajectoryCompleted'>).map((one) => one.slot)
          })
          rounds.push(open)
        }
        assert.ok(rolloutsOver(book))
        return { rounds, played: [...book.groups.keys()] }
      }
      const forward = roundsOf((all) => all)
      const backward = roundsOf((all) => [...all].reverse())
      assert.equal(backward, forward)
      const mixed = forward.played.filter((slot) => wins[Number(slot)]?.[0] !== wins[Number(slot)]?.[1])
      assert.ok(mixed.length >= 2 || forward.played.length === 6)
      assert.ok(forward.played.length <= 2 || mixed.length <= 2)
    }),
  )
})

test.run()
