/** Answer of the page that shows all rollouts of one task. */
import type { Cell } from './answers.ts'

type MemberStep = {
  readonly action: string
  /** Sum of the verdicts. Null if the step was not judged. */
  readonly verdict: number | null
  readonly probability: number | null
  readonly reward: number | null
  readonly advantage: number | null
}

export type Member = {
  readonly cell: Cell
  /** Sum over its steps. Null if it has none. */
  readonly reward: number | null
  readonly advantage: number | null
  /** Empty if it has not ended, or has failed. */
  readonly steps: readonly MemberStep[]
}

export type GroupPage = {
  readonly iteration: number
  readonly slot: string
  readonly task: string
  readonly purpose: string
  readonly split: string
  readonly goal: string | null
  /** Observation before the first step. */
  readonly begin: string | null
  readonly members: readonly Member[]
  /** First step at which not all act the same, or null. */
  readonly parting: number | null
  readonly rule: string | null
  /** Why the group is not learned from, or null. */
  readonly unused: string | null
  /** Whether its programs were run against tests. */
  readonly programs: boolean
  /** Fate of the task, or null. */
  readonly decision: string | null
}
