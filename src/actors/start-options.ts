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
  /** URL of a server, or null for one of the head's own. */
  readonly nats: string | null
  readonly worker: boolean
  /** A process that only does what others ask for (`executing` of the setting): a further worker of the environment. */
  readonly executor: boolean
  readonly dryRun: boolean
  /** Takes up a run whose log names modules that somebody else brought. */
  readonly trust: boolean
}
