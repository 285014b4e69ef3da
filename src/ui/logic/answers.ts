/** Shapes of the answers of the page server. Positions are those of the log, times are ms since 1970. */

/** A share with limits of its 95 % interval. `n` counts the units of the interval. */
type Share = {
  readonly value: number
  readonly low: number
  readonly high: number
  readonly n: number
}

export type Fault = { readonly code: string; readonly message: string; readonly hint: string | null }

type RunState =
  | 'never started'
  | 'running'
  | 'paused'
  | 'stopped'
  | 'killed'
  | 'failed'
  | 'completed'
  | 'unreadable'

/** A row of the list of runs. */
export type RunRow = {
  readonly run: string
  readonly state: RunState
  readonly reason: string | null
  readonly environment: string | null
  readonly lambda: number | null
  readonly seed: number | null
  readonly iteration: number | null
  readonly iterations: number | null
  readonly events: number
  readonly startedAt: number | null
  readonly lastEventAt: number | null
  readonly parent: { readonly run: string; readonly position: number } | null
  readonly stalls: number
  readonly accepted: number
  /** Success on the first held-out split by iteration, or in training if there is none. */
  readonly curve: readonly number[]
  readonly curveOf: string | null
}

/** The parts that every page of a run shows around its own content. */
export type RunHead = {
  readonly run: string
  readonly state: RunState
  readonly reason: string | null
  /** Last position of the log. */
  readonly position: number
  /** The position that is shown. */
  readonly at: number
  readonly time: number | null
  readonly type: string | null
  /** Iteration that began last, at the shown position. */
  readonly iteration: number | null
  readonly iterations: number
  readonly simulated: boolean
  /** Positions of the ends of iterations, of the whole log. */
  readonly ends: readonly { readonly iteration: number; readonly position: number }[]
  /** Positions that stand out. */
  readonly marks: readonly { readonly position: number; readonly type: string }[]
  /** Number of events in equal parts of the log. */
  readonly density: readonly number[]
  readonly parent: { readonly run: string; readonly position: number } | null
}

export type SuccessPoint = {
  readonly iteration: number
  readonly policyVersion: number
  /** `train`, `candidate`, or the name of a held-out split. */
  readonly series: string
  readonly tasks: number
  readonly rollouts: number
  readonly failed: number
  /** By task: rollouts of a task are no independent draws. */
  readonly share: Share
  /** Wilson's interval by rollouts, as the commands show it. */
  readonly byRollout: Share
}

export type JudgePoint = {
  readonly iteration: number
  readonly steps: number
  readonly judgements: number
  readonly unreadable: number
  readonly meanVerdict: number
  /** Balanced accuracy of single verdicts. Null if one label does not occur. */
  readonly process: number | null
  readonly outcome: number | null
}

export type UpdatePoint = {
  readonly version: number
  readonly samples: number
  readonly stopped: string | null
  readonly metrics: Readonly<Record<string, number>>
}

export type TimePoint = {
  readonly iteration: number
  readonly seconds: number | null
  readonly rollouts: number
  readonly tokens: number
  readonly stepsScored: number
  readonly timing: Readonly<Record<string, number>>
}

export type GrowthPoint = {
  readonly iteration: number
  readonly proposed: number
  readonly refused: number
  readonly accepted: number
  readonly rejected: number
  readonly acceptedSoFar: number
}

/** One thing that the run does or waits for. */
export type Doing = { readonly what: string; readonly done: number | null; readonly of: number | null }

export type Notable = {
  readonly position: number
  readonly time: number
  readonly type: string
  readonly text: string
}

export type Overview = {
  /** Last iteration whose figures are shown. */
  readonly closed: number
  /** False while figures are still folded. */
  readonly complete: boolean
  readonly verdict: { readonly kind: 'better' | 'worse' | 'open'; readonly text: string }
  readonly success: readonly SuccessPoint[]
  readonly judge: readonly JudgePoint[]
  readonly growth: {
    readonly rows: readonly GrowthPoint[]
    readonly slope: number | null
    readonly intercept: number | null
    readonly r2: number | null
  }
  readonly policyUpdates: readonly UpdatePoint[]
  readonly rewardUpdates: readonly UpdatePoint[]
  readonly times: readonly TimePoint[]
  readonly now: readonly Doing[]
  readonly notable: readonly Notable[]
}

export type Cell = {
  readonly rollout: string
  readonly state: 'open' | 'played' | 'failed'
  readonly success: boolean | null
  readonly value: number | null
  readonly steps: number | null
  readonly verdict: number | null
  readonly policyVersion: number | null
  readonly trained: boolean
  readonly ended: string | null
  readonly error: string | null
}

export type GroupRow = {
  readonly slot: string
  readonly task: string
  readonly goal: string | null
  readonly purpose: 'train' | 'candidate' | 'evaluation'
  readonly split: string
  readonly share: Share
  readonly cells: readonly Cell[]
  /** Fate of the task, e.g. accepted, or a harder candidate. */
  readonly decision: string | null
}

/** Work of one kind, with its first and its last event. */
export type Lane = {
  readonly name: string
  readonly from: number
  readonly to: number
  readonly count: number
}

export type IterationPage = {
  readonly iteration: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly position: number | null
  readonly policyVersion: number | null
  readonly rewardModelVersion: number | null
  readonly rolloutsPerTask: number
  readonly groups: readonly GroupRow[]
  readonly lanes: readonly Lane[]
  readonly update: UpdatePoint | null
  readonly rewardUpdate: UpdatePoint | null
}

type Vote = { readonly score: number; readonly critique: string; readonly reasoning: string | null }

export type StepRow = {
  readonly step: number
  readonly action: string
  readonly reasoning: string | null
  readonly before: string
  readonly after: string
  readonly votes: readonly Vote[]
  readonly probability: number | null
  readonly progress: number | null
  /** The judge's share of the reward, the reward's parts, and the advantage in the group. Null if it has none. */
  readonly score: number | null
  readonly reward: number | null
  readonly advantage: number | null
  readonly position: number | null
  /** Sampled tokens of the step. */
  readonly tokens: readonly TokenRow[]
}

export type TokenRow = {
  readonly id: number
  readonly logprob: number
  /** Number of tokens that were allowed here. Null if all were. */
  readonly allowed: number | null
}

export type TrajectoryPage = {
  readonly rollout: string
  readonly iteration: number
  readonly purpose: string
  readonly split: string
  readonly slot: string
  readonly task: string
  readonly goal: string | null
  readonly policyVersion: number
  readonly outcome:
    | { readonly kind: 'scored'; readonly value: number; readonly success: boolean }
    | { readonly kind: 'abstained'; readonly reason: string }
  readonly ended: string
  readonly position: number
  readonly trainedBy: number | null
  readonly unused: string | null
  readonly rule: string | null
  readonly steps: readonly StepRow[]
  readonly last: string
  readonly group: readonly Cell[]
  readonly tests: readonly { readonly verdict: string; readonly passed: boolean }[] | null
}

export type EventRow = {
  readonly position: number
  readonly time: number
  readonly type: string
  readonly actor: string
  readonly text: string
}

export type EventsPage = {
  readonly rows: readonly EventRow[]
  readonly first: number
  readonly last: number
  /** Position to read on from, or null at the end. */
  readonly next: number | null
  readonly previous: number | null
}

export type EventPage = {
  readonly position: number
  readonly event: Readonly<Record<string, unknown>>
  readonly summary: string
  readonly cause: EventRow | null
  readonly led: readonly EventRow[]
}
