/** The events that the benchmarks send. Each has its own natural key, as real ones have. */

import type { NewEvent } from '../../../src/events/catalogue.ts'
import { float32Column, int32Column } from '../../../src/events/columns.ts'
import { pack } from '../../../src/events/msgpack.ts'

export type Size = '200b' | '4kb'

/** A StepScored of 200 bytes of data, or a TrajectoryCompleted of 4 kB of data. */
export function makeEvent(size: Size, sender: string, n: number): NewEvent {
  return size === '200b' ? stepScored(sender, n) : trajectory(sender, n)
}

function stepScored(sender: string, n: number): NewEvent {
  return {
    type: 'StepScored',
    data: {
      rollout: `${sender}/${String(n).padStart(8, '0')}`,
      iteration: 1,
      step: 1,
      task: 'task',
      rewardModelVersion: 1,
      judgements: [
        {
          critique: 'opened the wrong drawer and closed it again',
          score: 1,
          tokensI32: new Uint8Array(0),
          logprobsF32: new Uint8Array(0),
        },
      ],
      probability: 0.75,
      progress: null,
    },
  }
}

const TEXTS = Array.from(
  { length: 21 },
  (_, step) => `You arrive at countertop ${step}. On it you see a mug, a plate, a bowl, an egg and a tomato.`,
)
const TOKENS = int32Column(Array.from({ length: 187 }, (_, t) => t))
const LOGPROBS = float32Column(new Float32Array(187).fill(-1))
const MASK = new Uint8Array(187).fill(1)

function trajectory(sender: string, n: number): NewEvent {
  return {
    type: 'TrajectoryCompleted',
    data: {
      rollout: `${sender}/${String(n).padStart(8, '0')}`,
      iteration: 1,
      purpose: 'train',
      split: 'train',
      slot: 'train-00001',
      task: 'task-00001',
      index: n,
      policyVersion: 1,
      seed: [1, n],
      outcome: { kind: 'scored', value: 1, success: true },
      ended: 'goal',
      steps: 20,
      observations: TEXTS,
      actions: TEXTS.slice(1).map((_, step) => `go to ${step}`),
      invalid: {},
      trainable: true,
      segments: [
        {
          firstStep: 0,
          tokensI32: TOKENS,
          maskU8: MASK,
          logprobsF32: LOGPROBS,
          stepStartI32: TOKENS.subarray(0, 80),
        },
      ],
      usage: { promptTokens: 1, cachedTokens: 1, completionTokens: 1 },
    },
  }
}

export function dataBytes(event: NewEvent): number {
  return pack(event.data).byteLength
}
