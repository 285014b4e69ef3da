/** An environment whose episodes are sessions elsewhere. */
import type { Seed } from '../../random.ts'
import type { Environment, Task } from '../port.ts'
import { type SessionEpisode, startSession } from './episode.ts'
import { createLeases } from './leases.ts'
import type { Rewards } from './rewards.ts'
import type { Session } from './session.ts'

/** A holder that has been idle for so long may lose its session to one that waits. */
const IDLE_MS = 30_000
const WAIT_MS = 600_000

export type SessionEnvironment = Environment & {
  /** Number of sessions that are held now. */
  readonly sessions: () => number
}

export type SessionEnvironmentOptions = {
  readonly tasks: (split: string) => Promise<readonly Task[]>
  readonly open: (task: Task, seed: Seed) => Promise<Session>
  /** Most sessions at a time. */
  readonly sessions: number
  readonly rewards: Rewards
  readonly deterministic: boolean
  /** Ends what the sessions share, e.g. a server of ours. */
  readonly close?: () => Promise<void>
}

export function sessionEnvironment(options: SessionEnvironmentOptions): SessionEnvironment {
  const { tasks, open, sessions, rewards, deterministic } = options
  const leases = createLeases<Session>({
    size: sessions,
    // What was taken must be reached again by the same actions.
    idleMs: deterministic ? IDLE_MS : Number.POSITIVE_INFINITY,
    waitMs: WAIT_MS,
    named: 'sessions',
    code: 'rollout.infra',
  })
  return {
    tasks,
    deterministic,
    sessions: leases.held,
    reset: (task, { seed, maxSteps }) =>
      startSession(task, { leases, open: () => open(task, seed), rewards, maxSteps, deterministic }),
    release: (episode) => (episode as SessionEpisode).abandon(),
    async close() {
      await leases.close()
      await options.close?.()
    },
  }
}
