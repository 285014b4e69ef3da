/** Shapes of the answers of the page server. Positions are those of the log, times are ms since 1970. */

/** A share with limits of its 95 % interval. `n` counts the units of the interval. */
type Share = {
  readonly value: number
  readonly low: number
  readonly high: number
  readonly n: number
}

export type Fault = {
  readonly code: string
  readonly message: string
  readonly hint: string | null
  /** The nearest to what was asked for: another path, or other parts of the query. */
  readonly near?: Near
}

export type Near = {
  readonly path?: string
  readonly at?: string | null
  readonly sel?: string
  readonly type?: string
}

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
  /** Null if the run's time decides. */
  readonly iterations: number | null
  /** Whether the page may act on the run. */
  readonly actions: boolean
  readonly simulated: boolean
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
  /** Whether its programs were run against tests. */
  readonly programs: boolean
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
  /** Whether the verdict contradicts true progress. Null if either is not known. */
  readonly isMisjudged: boolean | null
  /** The judge's share of the reward, the reward's parts, and the advantage in the group. Null if it has none. */
  readonly score: number | null
  readonly reward: number | null
  readonly advantage: number | null
  readonly position: number | null
  /** Tokens of the step, up to the last one that was sampled. */
  readonly tokens: readonly TokenRow[]
}

export type TokenRow = {
  readonly id: number
  /** Null if the tokenizer of the policy cannot be read. */
  readonly text: string | null
  /** Null if it was not sampled. */
  readonly logprob: number | null
  /** Number of tokens that were allowed here. Null if all were. */
  readonly allowed: number | null
}

/** A screen of a rollout, in pixels. Its file is a blob of the run. */
export type Frame = {
  readonly sha256: string
  readonly bytes: number
  readonly width: number
  readonly height: number
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
    | {
        readonly kind: 'scored'
        readonly value: number
        readonly success: boolean
        readonly reason?: string
      }
    | { readonly kind: 'abstained'; readonly reason: string }
  readonly ended: string
  readonly position: number
  readonly trainedBy: number | null
  readonly unused: string | null
  readonly rule: string | null
  readonly steps: readonly StepRow[]
  readonly last: string
  readonly group: readonly Cell[]
  /** Store that holds the tokens, if they were not fetched to this disk. */
  readonly tokensIn: string | null
  /** Screens before each action and after the last. Empty if none were recorded. */
  readonly frames: readonly Frame[]
  /** Whether the calls of an agent were recorded. */
  readonly chats: boolean
  readonly tests: readonly { readonly verdict: string; readonly passed: boolean }[] | null
}

export type EventRow = {
  readonly position: number
  readonly time: number
  readonly type: string
  readonly actor: string
  readonly text: string
  /** Of quiet events in a row: how many they are, and the last one's position. */
  readonly count?: number
  readonly until?: number
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
  /** Natural key. */
  readonly key: string | null
  /** Its cause, the cause of that, and so on. */
  readonly causes: readonly EventRow[]
  readonly led: readonly EventRow[]
  /** Why the events after it cannot be read. */
  readonly unread: string | null
}

/** An `rl` command that a page asked for. */
export type Job = {
  readonly id: number
  readonly run: string
  /** The command as a person types it. */
  readonly command: string
  readonly state: 'waits' | 'runs' | 'done' | 'failed'
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** Output of the command, as JSON. Null until it is done. */
  readonly result: unknown
  readonly error: string | null
}

/** A change that an event made in a context. Null stands for a value that is not there. */
export type Change = {
  readonly path: string
  readonly before: string | null
  readonly after: string | null
}

/** A decider at a position, and what the event there changed in it. */
export type DeciderAt = {
  readonly role: string
  readonly state: string
  /** State before the event. */
  readonly before: string | null
  /** Position of the event since which it is in this state. Null if that is not known yet. */
  readonly since: number | null
  readonly reads: boolean
  readonly changes: readonly Change[]
  /** Number of all changes: `changes` lists the first ones. */
  readonly changed: number
  /** Its context, of the asked decider alone. */
  readonly context: unknown
}

export type StatesPage = {
  readonly position: number
  /** Share of the log for which states are built. */
  readonly built: number
  /** Null until the position is built. */
  readonly deciders: readonly DeciderAt[] | null
}

/** Events in equal parts of the log, and what stands out in it. */
export type DensityPage = {
  /** Last position of the log. */
  readonly position: number
  readonly built: number
  /** Positions of a part. */
  readonly width: number
  readonly types: readonly string[]
  /** Number of events by part, for each type. */
  readonly counts: readonly (readonly number[])[]
  readonly ends: readonly { readonly iteration: number; readonly position: number }[]
  readonly marks: readonly Mark[]
}

type Mark = {
  readonly position: number
  readonly kind: 'fork' | 'stall' | 'failure' | 'turn' | 'note'
  readonly text: string
  /** A run that left this one here. */
  readonly run: string | null
}

/** Something that the run waits for, in seconds at the shown moment. */
export type WaitRow = {
  readonly owner: string
  readonly waitingFor: string
  readonly from: string
  readonly seconds: number
  readonly of: number
}

/** A process as the head heard of it last. */
export type ActorRow = {
  readonly worker: string
  readonly role: string
  readonly host: string
  readonly pid: number
  readonly state: string
  readonly decider: boolean
  readonly position: number | null
  readonly silentMs: number
  readonly stalled: boolean
  readonly rssMb: number
  readonly startedAt: number
  readonly counters: Readonly<Record<string, number>>
  readonly waits: readonly WaitRow[]
}

type QueueRow = {
  readonly name: string
  /** Work that nobody took, work in hand, and work that was handed out more than once. */
  readonly pending: number
  readonly inHand: number
  readonly again: number
}

type MachineState = {
  readonly path: string
  readonly description: string
  readonly initial: boolean
  readonly final: boolean
  readonly inner: boolean
}

export type MachineChart = {
  readonly role: string
  readonly description: string
  readonly states: readonly MachineState[]
  readonly arrows: readonly { readonly from: string; readonly to: string; readonly on: string }[]
  /** State at the shown position. Null until it is built. */
  readonly state: string | null
  readonly since: { readonly position: number; readonly seconds: number | null } | null
}

/** Rollouts for training of a host, up to the last iteration that is folded. */
type HostRolloutsRow = {
  readonly host: string
  /** Hosts may share a name. */
  readonly place: string
  readonly rollouts: number
  readonly failed: number
  readonly trained: number
  /** Rollouts of completed iterations that no update was made of. */
  readonly dropped: number
  /** Number of trained rollouts by their age in policy versions. */
  readonly ages: Readonly<Record<string, number>>
  readonly meanAge: number | null
  /** Importance weights of the trained tokens. Null if no update weighed them. */
  readonly weights: {
    readonly mean: number
    readonly most: number
    /** Shares of the tokens: the effective sample size, and those above the limit. */
    readonly effectiveShare: number
    readonly cutShare: number
  } | null
}

export type ActorsPage = {
  readonly position: number
  readonly built: number
  /** Why no state can be told, or null. */
  readonly unread: string | null
  readonly machines: readonly MachineChart[]
  /** Null until the position is built. */
  readonly waits: readonly WaitRow[] | null
  /** Null in the past, and if no head answers. `whyNot` says why. */
  readonly live: {
    readonly actors: readonly ActorRow[]
    readonly openWork: number
    readonly position: number
    readonly deadLetters: number
    readonly brokerRestarts: number
  } | null
  readonly whyNot: string | null
  /** Null if they are not recorded. */
  readonly queues: readonly QueueRow[] | null
  /** The hosts that lost the most, 200 at most. Null in the past, and until figures are folded. */
  readonly hosts: readonly HostRolloutsRow[] | null
  readonly started: readonly EventRow[]
  readonly troubles: readonly EventRow[]
}
