/** What each user of a run's broker may publish and hear: see docs/events.md. Only the head publishes facts and answers for the log. */
import { ROLES, type Role } from '../events/envelope.ts'
import { ackSubjects, getSubject, nextSubject } from '../events/nats/api.ts'
import { subjectsOf } from '../events/subjects.ts'
import { callInboxOf, inboxPrefixOf, roleOf, type User } from '../events/users.ts'

/**
 * A role answers the calls that begin with its name, and `call.status.<role>`. It is given the subjects of answers by name: leave to
 * answer whatever reply subject a message names (`allow_responses`) is leave to publish anywhere, since everybody can call himself.
 */
export type Permissions = {
  readonly publish: readonly string[]
  readonly subscribe: readonly string[]
}

/** Null for the head, which may all. */
export function permissionsOf(run: string, user: User): Permissions | null {
  if (user === 'head') return null
  const subjects = subjectsOf(run)
  const facts = [subjects.evt('>'), subjects.tap('>'), `${inboxPrefixOf(user)}.>`, `${callInboxOf(user)}.>`]
  const readers = [
    subjects.log('read'),
    subjects.log('has'),
    subjects.log('head'),
    subjects.blob('get'),
    subjects.call('actors'),
    ...ROLES.map((role) => subjects.call(`status.${role}`)),
  ]
  const role = roleOf(user)
  if (role === null || user === 'tool') return { publish: readers, subscribe: facts }
  return {
    publish: [
      ...readers,
      subjects.append(user),
      subjects.put(user),
      // Where workers of 0.2 put theirs, all of them together.
      subjects.blob('put'),
      subjects.tapOf('heartbeat', user),
      subjects.tapOf('fault', user),
      subjects.call('>'),
      '_CALL.>',
      ...(user === role ? [subjects.work(role)] : []),
      ...queuesOf(run, role).flatMap(takingFrom),
      ...(user === role ? [getSubject(`rl-${run}-work-${role}`)] : []),
      ...executingOf(run, role),
    ],
    subscribe: [...facts, subjects.call(`status.${role}`), subjects.call(`${role}.>`)],
  }
}

/** Streams that a role's workers take work from; rollouts are the environment's, and so are executors. */
function queuesOf(run: string, role: Role): readonly string[] {
  const further = role === 'environment' ? ['RolloutRequested', 'work-executors'] : []
  return [`work-${role}`, ...further].map((name) => `rl-${run}-${name}`)
}

/**
 * Asking executors is for those who run actions; what these have worked out is for executors alone. They read it by MSG.GET, which answers
 * in JSON: DIRECT.GET has the broker say what a role has stored, headers and all, on whatever subject the role names, so also facts.
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
