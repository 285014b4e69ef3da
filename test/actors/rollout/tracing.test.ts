/** Play on recorded traces: the recorded action takes the place of another choice, up to a bound. */
import * as fc from 'fast-check'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { playedRollout } from '../../../src/actors/policy/rewarded-rollout.ts'
import type { ActReply, ActRequest } from '../../../src/actors/rollout/act.ts'
import { createPlayer } from '../../../src/actors/rollout/player.ts'
import { openTracing } from '../../../src/actors/rollout/tracing.ts'
import type { Environment, ImmediateEpisode, Task } from '../../../src/environments/port.ts'
import type { EventData } from '../../../src/events/catalogue.ts'
import { wrongIn } from '../../../src/events/codec.ts'
import { float32Column, int32Column, readInt32 } from '../../../src/events/columns.ts'

const TASK: Task = { id: 't', environment: 'path', kind: 'k', goal: 'g', recipe: {} }
const REQUEST: EventData<'RolloutRequested'> = {
  ...{ rollout: '1/t/0', iteration: 1, purpose: 'train', split: 'train', slot: 't', task: 't' },
  ...{ index: 0, policyVersion: 0, seed: [1, 2], maxSteps: 9, patches: 1 },
}

/** A path of four steps: `left` at each leads to its end, and is a success without a `right` on the way. */
function path(taken: readonly string[]): ImmediateEpisode {
  const done = taken.length === 4
  return {
    task: TASK,
    steps: taken.length,
    turn: {
      ...{ observation: `after ${taken.join(' ')}`, admissible: ['left', 'right'] },
      ...{ done, ended: done ? 'goal' : null },
    },
    step: (action) => path([...taken, action]),
    outcome: () => (taken.includes('right') ? 0 : 1),
  }
}

const environment: Environment = { tasks: async () => [TASK], reset: async () => path([]) }

/** A policy of one token a step, which writes on in its segment. */
async function play(choices: readonly string[], trace: readonly string[], patches: number) {
  const asked: ActRequest[] = []
  const act = async ([request]: readonly ActRequest[]): Promise<ActReply[]> => {
    if (!request) return []
    asked.push({ ...request, actions: [...request.actions] })
    const length = 2 + request.actions.length * 2 - request.packedTokens
    return [
      {
        ...{ fits: true, action: choices[request.actions.length] ?? 'left', invalid: null, continues: true },
        tokens: {
          promptLength: length - 1,
          tokensI32: int32Column(new Int32Array(length)),
          maskU8: Uint8Array.from({ length }, (_, i) => (i === length - 1 ? 1 : 0)),
          logprobsF32: float32Column(new Float32Array(length)),
        },
        usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 1 },
      },
    ]
  }
  const player = createPlayer({ environment, act, actDeadlineMs: 10_000 })
  const { trajectory } = await player.playOut(REQUEST, TASK, undefined, openTracing(trace, patches))
  assert.is(wrongIn({ type: 'TrajectoryCompleted', data: trajectory }), null)
  return { trajectory, asked }
}

const LEFT = ['left', 'left', 'left', 'left']

test('whatever is chosen, what is taken is the trace, and every departure is told', () => {
  const word = fc.constantFrom('left', 'right', 'up')
  const words = fc.array(word, { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(words, words, fc.nat(3), (trace, choices, patches) => {
      const tracing = openTracing(trace, patches)
      const taken: string[] = []
      for (const chosen of choices) {
        if (tracing.isLost()) break
        taken.push(tracing.follow(taken.length, chosen))
      }
      const followed = Math.min(taken.length, trace.length)
      assert.equal(taken.slice(0, followed), trace.slice(0, followed))
      assert.equal(taken.slice(followed), choices.slice(followed, taken.length))
      const { steps, left } = tracing.told()
      assert.is(steps, trace.length)
      assert.equal(
        left,
        taken.flatMap((action, step) =>
          action === choices[step] ? [] : [{ step, chosen: choices[step] ?? '' }],
        ),
      )
      assert.ok(left.length <= patches + 1)
      const value = tracing.value(taken.length)
      if (left.length === 0) assert.is(value, null)
      else assert.ok(value !== null && value >= 0 && value < 1)
    }),
  )
})

test('a policy that stays on the trace is told by the environment how it ended', async () => {
  const { trajectory } = await play(LEFT, LEFT, 0)
  assert.equal(trajectory.outcome, { kind: 'scored', value: 1, success: true })
  assert.equal(trajectory.trace, { steps: 4, left: [] })
  assert.is(trajectory.segments.length, 1)
  assert.equal(playedRollout(trajectory, 't', [], new Set())?.traced, [1, 1, 1, 1])
})

test('the recorded action is taken in the place of another, and what follows reads it in a segment of its own', async () => {
  const { trajectory, asked } = await play(['left', 'right', 'left', 'left'], LEFT, 1)
  assert.equal(trajectory.actions, LEFT)
  assert.equal(trajectory.trace, { steps: 4, left: [{ step: 1, chosen: 'right' }] })
  // The path was walked to its end, but not by the policy alone.
  assert.equal(
    [trajectory.outcome, trajectory.ended],
    [{ kind: 'scored', value: 0.75, success: false }, 'goal'],
  )
  assert.equal(
    asked.map(({ actions, packedTokens }) => [actions.join(' '), packedTokens]),
    [
      ['', 0],
      ['left', 2],
      ['left left', 0],
      ['left left left', 6],
    ],
  )
  assert.equal(
    trajectory.segments.map(({ firstStep, stepStartI32 }) => [firstStep, readInt32(stepStartI32).length]),
    [
      [0, 2],
      [2, 2],
    ],
  )
  assert.equal(playedRollout(trajectory, 't', [], new Set())?.traced, [1, -1, 1, 1])
})

test('with one departure more than the bound the rollout ends, worth the steps that it kept', async () => {
  const { trajectory } = await play(['right', 'left', 'right', 'left'], LEFT, 1)
  assert.equal([trajectory.steps, trajectory.ended], [3, 'gave-up'])
  assert.equal(trajectory.outcome, { kind: 'scored', value: 0.25, success: false })
  assert.equal(
    trajectory.trace?.left.map(({ step }) => step),
    [0, 2],
  )
})

test('beyond the trace the policy goes on by itself', async () => {
  const { trajectory } = await play(['left', 'left', 'left', 'right'], LEFT.slice(0, 3), 0)
  assert.equal([trajectory.actions.at(-1), trajectory.steps], ['right', 4])
  assert.equal(trajectory.outcome, { kind: 'scored', value: 0, success: false })
  assert.equal(playedRollout(trajectory, 't', [], new Set())?.traced, [1, 1, 1, 0])
})

test('a recorded action that cannot be taken is a fault of the task, and is named', async () => {
  await play(LEFT, ['left', 'up'], 3).then(
    () => assert.unreachable(),
    ({ code, message }) => {
      assert.is(code, 'rollout.env')
      assert.match(
        message,
        /task 't' failed at '.*': its trace takes 'up' at step 1, which is not admissible/,
      )
    },
  )
})

test.run()
