/** Rollouts for training by host: how old they were when they were trained on, what they weighed, and what was left out. */

import type { EventData } from '../events/catalogue.ts'
import { readFloat32, readInt32 } from '../events/columns.ts'
import type { Projection } from './projection.ts'
import { defineTable } from './table.ts'

const workerTable = defineTable('host_workers', ['worker'], { worker: '', place: '', host: '' })

/** Rollouts that no update has taken yet, of open iterations. */
const openTable = defineTable('host_rollouts', ['iteration', 'rollout'], {
  iteration: 0,
  rollout: '',
  place: '',
  version: 0,
})

/** A place is a host, or a container on it: hosts may share a name. */
const hostTable = defineTable('hosts', ['place'], {
  place: '',
  host: '',
  /** Rollouts that were played to their end, and those without an outcome. */
  rollouts: 0,
  failed: 0,
  /** Rollouts that updates were made of. */
  trained: 0,
  /** Sums over the trained tokens of updates that weigh them, before any limit. */
  tokens: 0,
  weight_sum: 0,
  weight_squares: 0,
  weight_most: 0,
  /** Number of tokens whose weight was above the limit. */
  weights_cut: 0,
})

/** Trained rollouts by their age: policy versions between their policy and the one that learned from them. */
const ageTable = defineTable('host_ages', ['place', 'age'], { place: '', age: 0, rollouts: 0 })

type Weights = NonNullable<EventData<'PolicyUpdated'>['weights']>

export const hosts: Projection = {
  name: 'hosts',
  version: 1,
  tables: [workerTable, openTable, hostTable, ageTable],
  interests: ['ActorStarted', 'TrajectoryCompleted', 'RolloutFailed', 'PolicyUpdated', 'IterationCompleted'],
  fold(open) {
    const workers = open(workerTable)
    const rollouts = open(openTable)
    const table = open(hostTable)
    const ages = open(ageTable)

    /** Older logs do not tell where a process was. */
    function hostOf(actor: string) {
      const { place, host } = workers.find(actor) ?? { place: '', host: 'unknown' }
      const row = table.row(place)
      row.host = host
      return row
    }

    function enterUpdate({ iteration, parentVersion, trainedOn, weights }: EventData<'PolicyUpdated'>): void {
      const weigh = weights && weigher(weights)
      for (const [index, rollout] of trainedOn.entries()) {
        const played = rollouts.find(iteration, rollout)
        if (!played) continue
        const row = table.row(played.place)
        row.trained++
        ages.row(played.place, (parentVersion ?? 0) - played.version).rollouts++
        weigh?.(index, row)
        rollouts.remove(iteration, rollout)
      }
    }

    return function applyHosts({ type, data, actor }) {
      switch (type) {
        case 'ActorStarted': {
          if (data.role !== 'environment') return
          const row = workers.row(data.worker)
          row.place = placeOf(data.process) ?? data.host
          row.host = data.host
          return
        }
        case 'TrajectoryCompleted': {
          if (data.purpose === 'evaluation') return
          const host = hostOf(actor)
          host.rollouts++
          const row = rollouts.row(data.iteration, data.rollout)
          row.place = host.place
          row.version = data.policyVersion
          return
        }
        case 'RolloutFailed':
          if (data.purpose !== 'evaluation') hostOf(actor).failed++
          return
        case 'PolicyUpdated':
          enterUpdate(data)
          return
        case 'IterationCompleted':
          rollouts.removeAll(data.iteration)
      }
    }
  },
}

/** Returns a function that adds the weights of one rollout to the row of its host. */
function weigher(weights: Weights): (index: number, row: (typeof hostTable)['fresh']) => void {
  const [tokens, cut] = [readInt32(weights.tokensI32), readInt32(weights.cutI32)]
  const [sums, squares] = [readFloat32(weights.sumF32), readFloat32(weights.squaresF32)]
  const most = readFloat32(weights.mostF32)
  return function weigh(index, row) {
    row.tokens += tokens[index] ?? 0
    row.weight_sum += sums[index] ?? 0
    row.weight_squares += squares[index] ?? 0
    row.weight_most = Math.max(row.weight_most, most[index] ?? 0)
    row.weights_cut += cut[index] ?? 0
  }
}

/** The identity of a process begins with its place. */
function placeOf(process: string | undefined): string | undefined {
  return /^[0-9a-f]{16}(?=-)/.exec(process ?? '')?.[0]
}
