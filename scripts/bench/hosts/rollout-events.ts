/** The twelve events of a rollout, in the two appends in which a host sends them: the trajectory, then a verdict for each step. */
import type { NewEvent } from '../../../src/events/catalogue.ts'

export const EVENTS_A_ROLLOUT = 12
const STEPS = EVENTS_A_ROLLOUT - 1
const NONE = new Uint8Array(0)
const OBSERVATIONS = Array.from({ length: STEPS + 1 }, (_, step) => `you see a drawer and a shelf: ${step}`)
const ACTIONS = Array.from({ length: STEPS }, (_, step) => `open drawer ${step}`)

export function rolloutEvents(rollout: string): readonly (readonly NewEvent[])[] {
  const trajectory: NewEvent = {
    type: 'TrajectoryCompleted',
    data: {
      rollout,
      iteration: 1,
      purpose: 'train',
      split: 'train',
      slot: 'train-00001',
      task: 'task-00001',
      index: 0,
      policyVersion: 1,
      seed: [1, 2],
      outcome: { kind: 'scored', value: 1, success: true },
      ended: 'goal',
      steps: STEPS,
      observations: OBSERVATIONS,
      actions: ACTIONS,
      invalid: {},
      trainable: true,
      segments: [],
      usage: { promptTokens: 1, cachedTokens: 1, completionTokens: 1 },
    },
  }
  const verdicts = ACTIONS.map(
    (_, step): NewEvent => ({
      type: 'StepScored',
      data: {
        rollout,
        iteration: 1,
        step,
        task: 'task-00001',
        rewardModelVersion: 1,
        judgements: [
          {
            critique: 'opened the wrong drawer and closed it again',
            score: 1,
            tokensI32: NONE,
            logprobsF32: NONE,
          },
        ],
        probability: 0.75,
        progress: null,
      },
    }),
  )
  return [[trajectory], verdicts]
}
