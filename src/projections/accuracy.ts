/** Policy accuracy: successes among the rollouts that have an outcome, by iteration, purpose, split and task. */
import type { Projection } from './projection.ts'
import { defineTable } from './table.ts'

const accuracyTable = defineTable('accuracy', ['iteration', 'purpose', 'split', 'task'], {
  iteration: 0,
  purpose: '',
  split: '',
  task: '',
  slot: '',
  policy_version: 0,
  /** Number of rollouts with an outcome. */
  n: 0,
  successes: 0,
  /** Number of rollouts without an outcome. */
  failed: 0,
  abstained: 0,
  /** Steps of the rollouts with an outcome, summed. */
  steps: 0,
})

const requestedTable = defineTable('accuracy_requested', ['rollout'], {
  rollout: '',
  split: '',
  policy_version: 0,
})

export const accuracy: Projection = {
  name: 'accuracy',
  version: 1,
  tables: [accuracyTable, requestedTable],
  interests: ['RolloutRequested', 'TrajectoryCompleted', 'RolloutFailed'],
  fold(open) {
    const table = open(accuracyTable)
    const requested = open(requestedTable)
    return function applyAccuracy({ type, data }) {
      if (type === 'RolloutRequested') {
        const row = requested.row(data.rollout)
        row.split = data.split
        row.policy_version = data.policyVersion
      } else if (type === 'TrajectoryCompleted') {
        const row = table.row(data.iteration, data.purpose, data.split, data.task)
        row.slot = data.slot
        row.policy_version = data.policyVersion
        if (data.outcome.kind === 'scored') {
          row.n++
          row.steps += data.steps
          if (data.outcome.success) row.successes++
        } else row.abstained++
        requested.remove(data.rollout)
      } else if (type === 'RolloutFailed') {
        const request = requested.find(data.rollout)
        const row = table.row(data.iteration, data.purpose, request?.split ?? 'train', data.task)
        row.slot = data.slot
        row.policy_version = request?.policy_version ?? row.policy_version
        row.failed++
        requested.remove(data.rollout)
      }
    }
  },
}
