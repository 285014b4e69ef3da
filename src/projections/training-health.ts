/** Signs of healthy or unhealthy training, one figure a row: KL, entropy, clip share, gradient norm, flat groups, length bonus. */
import type { EventData } from '../events/catalogue.ts'
import type { Projection } from './projection.ts'
import { defineTable, type SqlValue } from './table.ts'

const updateTable = defineTable('model_updates', ['role', 'version'], {
  role: '',
  version: 0,
  parent_version: null as SqlValue,
  rollouts: 0,
  samples: 0,
  checkpoint: null as SqlValue,
  stopped: null as SqlValue,
  position: 0,
})

const healthTable = defineTable('training_health', ['role', 'version', 'metric'], {
  role: '',
  version: 0,
  metric: '',
  value: 0,
})

export const trainingHealth: Projection = {
  name: 'training-health',
  version: 1,
  tables: [updateTable, healthTable],
  interests: ['PolicyUpdated', 'RewardModelUpdated'],
  fold(open) {
    const updates = open(updateTable)
    const health = open(healthTable)

    function enter(role: string, data: EventData<'PolicyUpdated'>, position: number): void {
      const row = updates.row(role, data.version)
      row.parent_version = data.parentVersion
      row.rollouts = data.trainedOn.length
      row.samples = data.samples
      row.checkpoint = data.checkpoint?.sha256 ?? null
      row.stopped = data.stopped
      row.position = position
      for (const [metric, value] of Object.entries(data.metrics))
        health.row(role, data.version, metric).value = value
    }

    return function applyTrainingHealth({ type, data, position }) {
      if (type === 'PolicyUpdated') enter('policy', data, position)
      else if (type === 'RewardModelUpdated') enter('reward-model', data, position)
    }
  },
}
