/** NATS subjects of a run: `rl.v1.<run>.<family>.<what>`. */
import { RlError } from '../errors.ts'
import { RUN_ID } from './envelope.ts'
import type { Author } from './users.ts'

/** Returns the run id itself, or throws. A dot, `*`, `>` or space in it would reach other runs' subjects and folders. */
export function checkRunId(run: string): string {
  if (!RUN_ID.test(run))
    throw new RlError(`the run id ${JSON.stringify(run)} is not allowed`, {
      code: 'run.bad-id',
      hint: 'use 1 to 32 small letters, digits and dashes, beginning with a letter or digit',
    })
  return run
}

export type Subjects = {
  /** Facts: `evt('PolicyUpdated')`. `evt('*')` is all of them. */
  readonly evt: (type: string) => string
  /** Request/reply that is not a fact, e.g. `call('policy.act')`. */
  readonly call: (name: string) => string
  /** Appends of a user. The broker reserves a subject for each user. The head's own is `log.append`. */
  readonly append: (user: Author) => string
  /** The log service. `append.*` covers all users except the head. */
  readonly log: (name: 'append' | 'append.*' | 'read' | 'head' | 'has') => string
  /** Records of a replicated log: the head's alone. */
  readonly records: string
  readonly blob: (name: 'get' | 'put' | 'put.*') => string
  /** Blobs of a user, as with `append`. So many uploads of one user block no other. */
  readonly put: (user: Author) => string
  /** Work that a role's decider shares among its workers, and work of executors. */
  readonly work: (name: string) => string
  /** Results that executors share, by key. */
  readonly kept: (key: string) => string
  /** Lossy telemetry of the head, never logged. */
  readonly tap: (name: 'head' | '>') => string
  /** Lossy telemetry of a user. The broker reserves a subject for each user. `*` is all of them. */
  readonly tapOf: (name: 'heartbeat' | 'fault', user: Author | '*') => string
}

/**
 * Returns the subjects of a run.
 * @throws RlError `run.bad-id`
 * @example subjectsOf('run-1').evt('PolicyUpdated') // 'rl.v1.run-1.evt.PolicyUpdated'
 */
export function subjectsOf(run: string): Subjects {
  const root = `rl.v1.${checkRunId(run)}`
  return {
    evt: (type) => `${root}.evt.${type}`,
    call: (name) => `${root}.call.${name}`,
    append: (user) => (user === 'head' ? `${root}.log.append` : `${root}.log.append.${user}`),
    log: (name) => `${root}.log.${name}`,
    records: `${root}.records`,
    blob: (name) => `${root}.blob.${name}`,
    put: (user) => (user === 'head' ? `${root}.blob.put` : `${root}.blob.put.${user}`),
    work: (name) => `${root}.work.${name}`,
    kept: (key) => `${root}.kept.${key}`,
    tap: (name) => `${root}.tap.${name}`,
    tapOf: (name, user) => `${root}.tap.${name}.${user}`,
  }
}

/** Returns whether roles, and not the head, answer requests on this subject. */
export function isCall(subject: string): boolean {
  return /^rl\.v1\.[a-z0-9-]+\.call\./.test(subject)
}

/** Returns whether a pattern covers a subject. JetStream delivers messages to any subject that the asker names, so each reader checks. */
export function covers(pattern: string, subject: string): boolean {
  if (pattern === subject) return true
  const wild = pattern.search(/[*>]/)
  if (wild < 0 || !subject.startsWith(pattern.slice(0, wild))) return false
  if (pattern[wild] === '>') return subject.length > wild
  const end = subject.indexOf('.', wild)
  if (end < 0) return wild === pattern.length - 1 && subject.length > wild
  return end > wild && pattern[wild + 1] === '.' && covers(pattern.slice(wild + 2), subject.slice(end + 1))
}

/** Name of the header with the epoch of the sending head (decimal). Events and answers of the log have it. */
export const EPOCH_HEADER = 'Rl-Epoch'

/** Name of the header with an event's position in the log (decimal). */
export const POSITION_HEADER = 'Rl-Position'

/** Header of work that another worker has in hand already. Only its result counts, not that it failed. */
export const COPY_HEADER = 'Rl-Copy'
