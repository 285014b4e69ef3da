/** Answers of the pages of versions of the models. */

export type ModelRole = 'policy' | 'reward-model'

export type VersionRow = {
  readonly role: ModelRole
  readonly version: number
  readonly position: number
  readonly samples: number
  readonly stopped: string | null
  readonly kl: number | null
  readonly loss: number | null
  /** Servers that took it, and version that answers since. Null if it was not published. */
  readonly published: { readonly took: number; readonly of: number; readonly serving: number } | null
  readonly isRetired: boolean
}

export type VersionsPage = { readonly rows: readonly VersionRow[] }

type Replica = {
  readonly url: string
  readonly state: 'done' | 'refused' | 'timed-out'
  readonly error: string | null
}

/** A version as its servers know it. */
export type Served = {
  readonly position: number
  readonly name: string
  readonly replicas: readonly Replica[]
  /** Version that answers since. Null if the version was taken away. */
  readonly serving: number | null
}

export type TrainedGroup = {
  readonly iteration: number
  readonly slot: string
  readonly task: string | null
  /** Indices of the rollouts, or names of unit tests. */
  readonly members: readonly string[]
  readonly successes: number
  readonly played: number
}

export type VersionPage = {
  readonly role: ModelRole
  readonly version: number
  readonly parentVersion: number | null
  readonly iteration: number
  readonly samples: number
  readonly stopped: string | null
  readonly position: number
  readonly actor: string
  /** The transition that asked for the update, or null. */
  readonly decidedBy: string | null
  readonly checkpoint: { readonly sha256: string; readonly path: string; readonly run: string } | null
  readonly metrics: Readonly<Record<string, number>>
  readonly trainedOn: readonly TrainedGroup[]
  readonly evaluations: readonly {
    readonly split: string
    readonly position: number
    readonly share: {
      readonly value: number
      readonly low: number
      readonly high: number
      readonly n: number
    }
    readonly failed: number
    readonly meanSteps: number
  }[]
  readonly published: Served | null
  readonly retired: Served | null
  /** Iterations that began with it. */
  readonly usedBy: readonly number[]
  /** A user's own rules that decided then. Empty if all rules were those of the code. */
  readonly rules: readonly {
    readonly kind: string
    readonly name: string
    readonly version: number
    readonly digest: string
  }[]
  /** Last version of this role. */
  readonly last: number
}
