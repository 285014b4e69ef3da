/** Origin and fate of every task, also of rejected ones. */
import type { EventData } from '../events/catalogue.ts'
import type { Projection } from './projection.ts'
import { defineTable, type SqlValue } from './table.ts'

/** Keyed by the position of the event that brought the task. So refused rewrites, which have no task, have a row too. */
const lineageTable = defineTable('lineage', ['slot', 'iteration'], {
  slot: '',
  /** Iteration that proposed the task. 0 for the first task of a slot. */
  iteration: 0,
  task: null as SqlValue,
  parent: null as SqlValue,
  split: 'train',
  kind: null as SqlValue,
  goal: null as SqlValue,
  direction: null as SqlValue,
  /** `active` (also if replaced later), `candidate`, `accepted`, `rejected` or `refused`. */
  status: '',
  reason: null as SqlValue,
  critique: null as SqlValue,
  rewriter: null as SqlValue,
  prompt_sha256: null as SqlValue,
  parent_successes: null as SqlValue,
  parent_n: null as SqlValue,
  successes: null as SqlValue,
  n: null as SqlValue,
  decided_iteration: null as SqlValue,
  /** Positions of the proposal and of the decision. */
  proposed_at: 0,
  decided_at: null as SqlValue,
})

/** By slot: iteration of the proposal that waits for a decision. */
const candidateTable = defineTable('lineage_candidates', ['slot'], { slot: '', iteration: 0 })

type Decision = EventData<'TaskAccepted'> | EventData<'TaskRejected'>

export const lineage: Projection = {
  name: 'lineage',
  version: 1,
  tables: [lineageTable, candidateTable],
  interests: ['TaskAdded', 'TaskProposed', 'TaskAccepted', 'TaskRejected'],
  fold(open) {
    const table = open(lineageTable)
    const candidates = open(candidateTable)

    function decide(data: Decision, status: 'accepted' | 'rejected', position: number): void {
      const candidate = candidates.find(data.slot)
      if (!candidate) return
      const row = table.row(data.slot, candidate.iteration)
      row.status = status
      row.reason = data.reason
      row.successes = data.accuracy.successes
      row.n = data.accuracy.n
      row.decided_iteration = data.iteration
      row.decided_at = position
      candidates.remove(data.slot)
    }

    return function applyLineage({ type, data, position }) {
      if (type === 'TaskAdded') {
        const row = table.row(data.slot, 0)
        row.task = data.task.id
        row.split = data.split
        row.kind = data.task.kind
        row.goal = data.task.goal
        row.status = 'active'
        row.proposed_at = position
      } else if (type === 'TaskProposed') {
        const row = table.row(data.slot, data.iteration)
        row.task = data.task.id
        row.parent = data.parent
        row.kind = data.task.kind
        row.goal = data.task.goal
        row.direction = data.direction
        row.status = 'candidate'
        row.critique = data.critique
        row.rewriter = `${data.rewriter.kind}: ${data.rewriter.name}`
        row.prompt_sha256 = data.rewriter.promptSha256
        row.parent_successes = data.parentAccuracy.successes
        row.parent_n = data.parentAccuracy.n
        row.proposed_at = position
        candidates.row(data.slot).iteration = data.iteration
      } else if (type === 'TaskAccepted') decide(data, 'accepted', position)
      else if (type === 'TaskRejected') {
        if (data.task !== null) return decide(data, 'rejected', position)
        const row = table.row(data.slot, data.iteration)
        row.parent = data.parent
        row.direction = data.direction
        row.status = 'refused'
        row.reason = data.reason
        row.parent_successes = data.parentAccuracy.successes
        row.parent_n = data.parentAccuracy.n
        row.proposed_at = position
        row.decided_iteration = data.iteration
        row.decided_at = position
      }
    }
  },
}
