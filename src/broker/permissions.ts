/**
 * The subjects that each user of a run's broker may publish and hear: see docs/events.md. Only the head
 * publishes facts and answers for the log.
 */
import { ROLES, type Role } from '../events/envelope.ts'
import { ackSubjects, getSubject, nextSubject } from '../events/nats/api.ts'
import { subjectsOf } from '../events/subjects.ts'
import { callInboxOf, inboxPrefixOf, roleOf, type User } from '../events/users.ts'

/**
 * A role answers the calls that begin with its name, and `call.status.<role>`. It gets the subjects of
 * answers by name. With `allow_responses` it could answer any reply subject that a message names. That would
 * be leave to publish anywhere, since everybody can call himself.
 */
export type Permissions = {
  readonly publish: readonly string[]
  readonly subscribe: readonly string[]
}

/** Returns null for the head, which may do all. */
export function permissionsOf(run: string, user: User): Permissions | null {
  if (user === 'head') return null
  const subjects = subjectsOf(run)
  const inboxes = [`${inboxPrefixOf(user)}.>`, `${callInboxOf(user)}.>`]
  if (user === 'operator') {
    const calls = ['head.control', 'head.move'].map(subjects.call)
    return { publish: calls, subscribe: inboxes }
  }
  const facts = [subjects.evt('>'), subjects.tap('>'), ...inboxes]
  const readers = [
    subjects.log('read'),
    subjects.log('has'),
    subjects.log('head'),
    subjects.blob('get'),
    subjects.call('actors'),
    ...ROLES.map((role) => subjects.call(`status.${role}`)),
    // Tells a role whose head is away that the run is over, and another broker who may join.
    getSubject(`KV_rl-${run}-fence`),
  ]
  const role = roleOf(user)
  if (role === null || user === 'tool') return { publish: readers, subscribe: facts }
  return {
    publish: [
      ...readers,
      subjects.append(user),
      subjects.put(user),
      // All workers of 0.2 put their blobs there.
      subjects.blob('put'),
      subjects.tapOf('heartbeat', user),
      subjects.tapOf('fault', user),
      // The calls of the head are not among them: no role pauses a run.
      ...ROLES.filter((other) => other !== 'head').map((other) => subjects.call(`${other}.>`)),
      '_CALL.>',
      ...(user === role ? [subjects.work(role)] : []),
      ...queuesOf(run, role).flatMap(takingFrom),
      ...(user === role ? [getSubject(`rl-${run}-work-${role}`)] : []),
      ...executingOf(run, role),
    ],
    subscribe: [...facts, subjects.call(`status.${role}`), subjects.call(`${role}.>`)],
  }
}

/** Streams from which a role's workers take work. Rollouts and executors are the environment's. */
function queuesOf(run: string, role: Role): readonly string[] {
  const further = role === 'environment' ? ['RolloutRequested', 'work-executors'] : []
  return [`work-${role}`, ...further].map((name) => `rl-${run}-${name}`)
}

/**
 * Roles that run actions may ask executors. The executors' results are for executors alone. They read them by
 * MSG.GET, which answers in JSON. With DIRECT.GET the broker would send a role's stored message, headers and
 * all, to any subject that the role names, so also facts.
 */
function executingOf(run: string, role: Role): readonly string[] {
  if (role !== 'environment' && role !== 'reward-model') return []
  const subjects = subjectsOf(run)
  const asking = [subjects.work('executors'), getSubject(`rl-${run}-work-executors`)]
  if (role !== 'environment') return asking
  return [...asking, subjects.kept('*'), getSubject(`rl-${run}-kept`)]
}

function takingFrom(stream: string): readonly string[] {
  return [nextSubject(stream, '>'), ackSubjects(stream)]
}
