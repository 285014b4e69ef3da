/** Small deciders and workers over the real events: iterations of a few rollouts, with nothing to learn. */

import { type AnyStateMachine, setup } from 'xstate'
import type { Decider, Output } from '../../src/actors/decider/decider.ts'
import { ask, askFor, emitEvent } from '../../src/actors/decider/fold.ts'
import type { Train } from '../../src/actors/decider/jobs.ts'
import { ROLLOUT_WORK } from '../../src/actors/runtime/work.ts'
import type { Worker } from '../../src/actors/runtime/worker.ts'
import type { EventData, EventType, LoggedEvent, NewEvent } from '../../src/events/catalogue.ts'
import type { Role } from '../../src/events/envelope.ts'

export type ToyPlan = { readonly iterations: number; readonly rollouts: number }

type Rules<Context> = {
  [T in EventType]?: (context: Context, data: EventData<T>) => readonly Output[] | undefined
}

/** A decider with one state and a rule for each type of event. */
export function toyDecider<Context extends object>(
  role: Role,
  initial: () => Context,
  rules: Rules<Context>,
): Decider {
  const types = Object.keys(rules) as EventType[]
  const on = Object.fromEntries(
    types.map((type) => [
      type,
      {
        actions: ask(
          type,
          (context, data) =>
            (rules[type] as (context: object, data: unknown) => readonly Output[] | undefined)(
              context,
              data,
            ) ?? [],
        ),
      },
    ]),
  )
  const machine = setup({
    types: { context: {} as Record<string, unknown>, events: {} as LoggedEvent },
  }).createMachine({
    context: initial as () => Record<string, unknown>,
    initial: 'working',
    states: { working: { on } },
  } as never) as unknown as AnyStateMachine
  return { role, machine, interests: new Set(types), decides: {}, version: 1 }
}

export function toyHead({ iterations, rollouts }: ToyPlan): Decider {
  const begin = (iteration: number) =>
    emitEvent('IterationStarted', { iteration, policyVersion: iteration - 1, rewardModelVersion: 0 })
  const count = (context: { over: Record<number, number> }, { iteration }: { iteration: number }) => {
    context.over[iteration] = (context.over[iteration] ?? 0) + 1
    if (context.over[iteration] !== rollouts) return []
    return [
      emitEvent('IterationCompleted', { iteration, accuracy: { successes: 0, n: rollouts }, metrics: {} }),
    ]
  }
  return toyDecider('head', () => ({ over: {} as Record<number, number> }), {
    RunStarted: () => [begin(1)],
    TrajectoryCompleted: count,
    RolloutFailed: count,
    PolicyUpdated: (_, { version }) =>
      version < iterations ? [begin(version + 1)] : [emitEvent('RunCompleted', { iterations, metrics: {} })],
  })
}

export function toyEnvironment({ rollouts }: ToyPlan): Decider {
  return toyDecider('environment', () => ({}), {
    IterationStarted: (_, { iteration, policyVersion }) =>
      Array.from({ length: rollouts }, (_, index) =>
        emitEvent('RolloutRequested', {
          rollout: `${iteration}/slot/${index}`,
          iteration,
          purpose: 'train',
          split: 'train',
          slot: 'slot',
          task: 'task',
          index,
          policyVersion,
          seed: [iteration, index],
          maxSteps: 3,
        }),
      ),
  })
}

/** A version that is learned from nothing. */
export function toyTrain(version: number): Train {
  return { iteration: version, version, parentVersion: version - 1, groups: [], seed: [version, 1] }
}

export function toyPolicy(): Decider {
  return toyDecider('policy', () => ({}), {
    IterationCompleted: (_, { iteration }) => [
      askFor('train', `PolicyUpdated/${iteration}`, toyTrain(iteration), 30),
    ],
  })
}

export const idleWorker: Worker = {
  jobs: {},
}

export function policyUpdated(version: number): NewEvent {
  const data: EventData<'PolicyUpdated'> = {
    iteration: version,
    version,
    parentVersion: version - 1,
    checkpoint: null,
    trainedOn: [],
    samples: 0,
    metrics: {},
    stopped: null,
  }
  return { type: 'PolicyUpdated', data }
}

export const policyWorker: Worker = {
  jobs: { train: async ({ version }) => [policyUpdated(version)] },
}

export function trajectory(request: EventData<'RolloutRequested'>): NewEvent {
  const { maxSteps: _, ...rest } = request
  return {
    type: 'TrajectoryCompleted',
    data: {
      ...rest,
      outcome: { kind: 'scored', value: 0, success: false },
      ended: 'step-limit',
      steps: 1,
      observations: ['a room', 'the same room'],
      actions: ['look'],
      invalid: {},
      trainable: false,
      segments: [],
      usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 },
    },
  }
}

/** Plays a rollout in `play` (default: at once). */
export function environmentWorker(
  play: (rollout: string, signal: AbortSignal) => Promise<void> = async () => {},
  { deadlineMs = 30_000, concurrency = 4 }: { deadlineMs?: number; concurrency?: number } = {},
): Worker {
  return {
    jobs: {
      async play(request, { signal }) {
        await play(request.rollout, signal)
        return [trajectory(request)]
      },
    },
    queues: [
      {
        kind: ROLLOUT_WORK,
        concurrency,
        jobOf: (event) => ({
          kind: 'play',
          done: ROLLOUT_WORK.done(event),
          input: event.data as EventData<'RolloutRequested'>,
          deadlineMs,
        }),
        exhausted(event, attempts, error) {
          const { rollout, iteration, purpose, slot, task } = event.data as EventData<'RolloutRequested'>
          return [
            {
              type: 'RolloutFailed',
              data: { rollout, iteration, purpose, slot, task, cause: 'infra', error, attempts },
            },
          ]
        },
      },
    ],
  }
}

export const runStarted: NewEvent = {
  type: 'RunStarted',
  data: { config: {}, configDigest: '0'.repeat(64), codeVersion: 'toy', seed: 1, parent: null },
}
