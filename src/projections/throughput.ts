/** Time and tokens of an iteration, from the events' times, usage and measured timings. */
import type { EventData, EventType } from '../events/catalogue.ts'
import type { Projection } from './projection.ts'
import { defineTable } from './table.ts'

const throughputTable = defineTable('throughput', ['iteration'], {
  iteration: 0,
  started_ms: 0,
  completed_ms: 0,
  /** Times of the first and the last end of a rollout. */
  first_rollout_ms: 0,
  last_rollout_ms: 0,
  rollouts: 0,
  failed: 0,
  steps: 0,
  prompt_tokens: 0,
  cached_tokens: 0,
  completion_tokens: 0,
  steps_scored: 0,
})

/** Sums of all figures of the events' `timing`. A figure's name holds its meaning and unit. */
const timingTable = defineTable('throughput_timing', ['iteration', 'event', 'figure'], {
  iteration: 0,
  event: '',
  figure: '',
  sum: 0,
  n: 0,
})

const INTERESTS = [
  'IterationStarted',
  'IterationCompleted',
  'TrajectoryCompleted',
  'RolloutFailed',
  'StepScored',
  'PolicyUpdated',
  'RewardModelUpdated',
  'EvaluationCompleted',
] as const

export const throughput: Projection = {
  name: 'throughput',
  version: 1,
  tables: [throughputTable, timingTable],
  interests: INTERESTS,
  fold(open) {
    const table = open(throughputTable)
    const timings = open(timingTable)

    function addTiming(
      iteration: number,
      event: EventType,
      timing: EventData<'TrajectoryCompleted'>['timing'],
    ): void {
      for (const figure in timing) {
        const value = timing[figure]
        if (typeof value !== 'number') continue
        const row = timings.row(iteration, event, figure)
        row.sum += value
        row.n++
      }
    }

    return function applyThroughput({ type, data, time }) {
      switch (type) {
        case 'StepScored':
          table.row(data.iteration).steps_scored++
          if (data.timing) addTiming(data.iteration, type, data.timing)
          return
        case 'TrajectoryCompleted': {
          const row = table.row(data.iteration)
          row.rollouts++
          row.steps += data.steps
          row.prompt_tokens += data.usage.promptTokens
          row.cached_tokens += data.usage.cachedTokens
          row.completion_tokens += data.usage.completionTokens
          if (row.first_rollout_ms === 0) row.first_rollout_ms = time
          row.last_rollout_ms = time
          if (data.timing) addTiming(data.iteration, type, data.timing)
          return
        }
        case 'RolloutFailed':
          table.row(data.iteration).failed++
          return
        case 'IterationStarted':
          table.row(data.iteration).started_ms = time
          return
        case 'IterationCompleted':
          table.row(data.iteration).completed_ms = time
          return
        case 'PolicyUpdated':
        case 'RewardModelUpdated':
        case 'EvaluationCompleted':
          if (data.timing) addTiming(data.iteration, type, data.timing)
      }
    }
  },
}
