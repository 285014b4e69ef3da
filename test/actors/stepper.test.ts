/** A decider's chart is stepped through as XState steps through it. */
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { type AnyStateMachine, not, setup } from 'xstate'
import type { Decider, Output } from '../../src/actors/decider/decider.ts'
import { type Engine, startActor, startEngine } from '../../src/actors/decider/engine.ts'
import { decide, emitEvent, fold } from '../../src/actors/decider/fold.ts'
import { openStepper } from '../../src/actors/decider/stepper.ts'
import { decidersOf } from '../../src/actors/deciders.ts'
import { type Config, loggedConfig, parseConfig } from '../../src/config.ts'
import type { LoggedEvent } from '../../src/events/catalogue.ts'
import { openLogReader } from '../../src/events/log-reader.ts'
import { rng, seedOf } from '../../src/random.ts'
import { unpackFixture } from '../replay/fixture.ts'
import { temporaryFolder } from '../support/run.ts'
import { playLoop, smallConfig } from './loop.ts'

const CONFIGS: readonly Config[] = [
  smallConfig(),
  smallConfig({ rewardModel: { provider: 'simulated', judging: 'group' } }),
  smallConfig({ rewardModel: { mode: 'off' }, learning: { reward: 'outcome' } }),
  smallConfig({ run: { iterations: 4, evaluateEvery: 2, maxStaleness: 1 } }),
  smallConfig({
    environment: {
      ...{ name: 'simulated', tasks: 12, tasksPerIteration: 2, rolloutsPerTask: 4, minGroupSize: 2 },
      refill: 3,
    },
  }),
]

type Start = typeof startEngine

/** What a machine gives and where it stands after each event. It starts anew from its place after each `every` events. */
function taken({ machine, interests }: Decider, events: readonly LoggedEvent[], start: Start, every: number) {
  const outputs: Output[] = []
  const emit = (output: Output) => void outputs.push(output)
  const states: unknown[] = []
  let engine: Engine = start(machine, null, emit)
  for (const [index, event] of events.entries()) {
    if (interests.has(event.type)) engine.send(event)
    states.push([engine.place().value, outputs.length])
    if (index % every === every - 1) engine = start(machine, engine.place(), emit)
  }
  return { outputs, states, context: engine.context() }
}

function assertSame(config: Config, events: readonly LoggedEvent[], every: number): void {
  const [ours, theirs] = [decidersOf(config), decidersOf(config)]
  for (const [index, decider] of ours.entries()) {
    const expected = taken(theirs[index] as Decider, events, startActor, every)
    assert.equal(taken(decider, events, startEngine, every), expected, decider.role)
  }
}

test('every decider gives the same outputs and stands in the same state as under XState', () => {
  fc.assert(
    fc.property(
      fc.nat({ max: CONFIGS.length - 1 }),
      fc.nat(),
      fc.integer({ min: 1, max: 400 }),
      (which, seed, every) => {
        const config = CONFIGS[which] as Config
        assertSame(config, playLoop({ config, order: rng(seedOf(seed, 'order')) }).log, every)
      },
    ),
    { numRuns: 12, examples: CONFIGS.map((_, which): [number, number, number] => [which, which, 400]) },
  )
})

test('the same on a committed log, with a person who pauses, resumes and fails the run', () => {
  const reader = openLogReader(unpackFixture(temporaryFolder()).log)
  const events = [...reader.events()]
  reader.close()
  const config = loggedConfig((events[0] as LoggedEvent<'RunStarted'>).data.config)
  const at = events.findIndex(({ type }) => type === 'TrajectoryCompleted') + 3
  const byPerson = (['RunPaused', 'RunResumed', 'RunFailed', 'RunResumed'] as const).map(
    (type) => ({ ...events[at], type, data: { reason: 'a person' } }) as unknown as LoggedEvent,
  )
  assertSame(config, events, 1_000)
  assertSame(config, [...events.slice(0, at), ...byPerson, ...events.slice(at)], 1_000)
})

test('all charts of deciders are plain', () => {
  for (const { role, machine } of decidersOf(parseConfig({}))) {
    const { value, context } = startActor(machine, null, () => {}).place()
    assert.ok(openStepper(machine, { value, context }), role)
  }
})

const parts = setup({
  types: { context: {} as Record<string, unknown>, events: {} as LoggedEvent, emitted: {} as Output },
  guards: { never: () => false, always: not('never') },
  actions: {
    note: fold('RunStarted', () => {}),
    bare: () => {},
    fail: decide(() => [emitEvent('RunFailed', { reason: 'an end' })]),
  },
})
const RICHER: Readonly<Record<string, AnyStateMachine>> = {
  'an action on entry': parts.createMachine({ initial: 'a', states: { a: { entry: 'fail' } } }),
  'parallel states': parts.createMachine({ type: 'parallel', states: { a: {}, b: {} } }),
  'a guard that is no name': parts.createMachine({
    initial: 'a',
    states: { a: { on: { RunStarted: { guard: () => true, actions: 'note' } } } },
  }),
  'an action that is no rule': parts.createMachine({
    initial: 'a',
    states: { a: { on: { RunStarted: { actions: 'bare' } } } },
  }),
  'any event': parts.createMachine({ initial: 'a', states: { a: { on: { '*': { actions: 'note' } } } } }),
  'an end inside': parts.createMachine({
    initial: 'a',
    states: { a: { initial: 'b', states: { b: { type: 'final' } } } },
  }),
  'a guard made of another': parts.createMachine({
    initial: 'a',
    states: { a: { on: { RunStarted: { guard: 'always', actions: 'note' } } } },
  }),
  'an action at its start': parts.createMachine({
    initial: 'a',
    states: { a: { initial: { target: 'b', actions: 'note' }, states: { b: {} } } },
  }),
}

for (const [what, machine] of Object.entries(RICHER))
  test(`XState takes the steps of a chart with ${what}`, () => {
    const { value, context } = startActor(machine, null, () => {}).place()
    assert.is(openStepper(machine, { value, context }), null)
  })

test.run()
