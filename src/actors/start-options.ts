import type { JoinFile } from '../broker/joins.ts'
import type { Role } from '../events/envelope.ts'

/** Options of a role's start, as the command line gives them. */
export type StartOptions = {
  readonly role: Role
  /** YAML file of the run's configuration. */
  readonly config: string
  /** Whether the command names that file, and not only the default does. */
  readonly configGiven: boolean
  /** `key=value` words that change it. */
  readonly set: readonly string[]
  readonly run: string | null
  /** Roles for which a head starts processes. */
  readonly roles: readonly Role[]
  /** URL of a server. Null if the head starts its own. */
  readonly nats: string | null
  /** Address at which the head's own server waits for other hosts. Null: it listens on loopback. */
  readonly cluster: string | null
  /** `HOST:PORT` at which that server tells its figures. Null: on loopback, if other hosts reach it. */
  readonly monitor: string | null
  /** The file that lets this host join a run elsewhere. */
  readonly join: JoinFile | null
  /** Follows the log of a head elsewhere, and goes on if that head ends. */
  readonly standby: boolean
  /** Joins a run whose head has other code. */
  readonly anyCode: boolean
  readonly worker: boolean
  /**
   * True for a process that only does requested work (`executing` of the setting): a further worker of the environment.
   */
  readonly executor: boolean
  /** Seconds in which a process that is told to end (SIGTERM) finishes its work. */
  readonly graceSeconds: number
  readonly dryRun: boolean
  /** Takes up a run whose log names modules that somebody else brought. */
  readonly trust: boolean
  /** Whether the head opens pages of its run. */
  readonly ui: boolean
}
