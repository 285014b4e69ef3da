/** The marks of steps that a trajectory has, and what rules read of them. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { playedRollout } from '../../../src/actors/policy/rewarded-rollout.ts'
import type { ActReply } from '../../../src/actors/rollout/act.ts'
import { createPlayer } from '../../../src/actors/rollout/player.ts'
import type { Environment, ImmediateEpisode, Task, Turn } from '../../../src/environments/port.ts'
import type { EventData } from '../../../src/events/catalogue.ts'

const TASK: Task = { id: 't', environment: 'marked', kind: 'k', goal: 'g', recipe: {} }
const REQUEST: EventData<'RolloutRequested'> = {
  ...{ rollout: '1/t/0', iteration: 1, purpose: 'train', split: 'train', slot: 't', task: 't' },
  ...{ index: 0, policyVersion: 0, seed: [1, 2], maxSteps: 3 },
}
const NEEDS = new Set(['noops', 'invalid', 'errors', 'durationsMs'] as const)

function episode(steps: number, turns: readonly Partial<Turn>[]): ImmediateEpisode {
  const done = steps === turns.length - 1
  return {
    task: TASK,
    steps,
    turn: {
      ...{ observation: `turn ${steps}`, admissible: ['go'], done, ended: done ? 'gave-up' : null },
      ...turns[steps],
    },
    step: () => episode(steps + 1, turns),
    outcome: () => 0,
  }
}

const marked = (turns: readonly Partial<Turn>[]): Environment => ({
  tasks: async () => [TASK],
  reset: async () => episode(0, turns),
})

const answer = (invalid: string | null): ActReply => ({
  ...{ fits: true, action: 'go', invalid, tokens: null, continues: false, promptSha256: undefined },
  usage: { promptTokens: 0, cachedTokens: 0, completionTokens: 0 },
})

async function play(turns: readonly Partial<Turn>[], invalid: readonly (string | null)[]) {
  let asked = 0
  const act = async () => [answer(invalid[asked++] ?? null)]
  return createPlayer({ environment: marked(turns), act, actDeadlineMs: 10_000 }).play(REQUEST, TASK)
}

test('what a step came to is marked, and rules read it', async () => {
  const turns = [{}, { failed: true }, { failed: false, void: true }, { observation: 'Nothing happens.' }]
  const trajectory = await play(turns, ['not a command', null, null])
  assert.equal([...(trajectory.invalidU8 ?? [])], [1, 1, 0])
  assert.equal([...(trajectory.errorsU8 ?? [])], [1, 0, 0])
  const stepMs = trajectory.timing?.stepMs
  assert.ok(Array.isArray(stepMs) && stepMs.length === 3)
  const played = playedRollout(trajectory, 't', [], NEEDS)
  assert.equal(
    [played?.invalid, played?.errors, played?.noops],
    [
      [1, 1, 0],
      [1, 0, 0],
      [0, 0, 1],
    ],
  )
  assert.is(played?.durationsMs?.length, 3)
  assert.equal(playedRollout(trajectory, 't', [], new Set())?.invalid, null)
})

test('without a mark there is no column, and an older log that counted such answers lacks their places', async () => {
  const trajectory = await play([{}, {}], [null])
  assert.is(trajectory.invalidU8, undefined)
  assert.is(trajectory.errorsU8, undefined)
  const read = (more: object) => playedRollout({ ...trajectory, ...more }, 't', [], NEEDS)
  assert.equal([read({})?.invalid, read({})?.errors], [[0], [0]])
  assert.is(read({ invalid: { 'not a command': 1 } })?.invalid, null)
  assert.is(read({ timing: { durationMs: 1 } })?.durationsMs, null)
})

test.run()
