/** A user may append the types that the catalogue grants it, in the name of its own role. */
import { RlError } from '../errors.ts'
import { CATALOGUE, type EventType } from './catalogue.ts'
import type { CheckedEvent } from './codec.ts'
import { type Author, roleOf, type User } from './users.ts'

/** Returns whether a user may append events of this type. The process of a role may append everything that its further workers may. */
function mayAppend(user: User, type: EventType): boolean {
  if (user === 'head') return true
  const by: readonly Author[] = CATALOGUE[type].by
  return by.some((author) => author === user || author === `${user}-worker`)
}

/** Returns whether an id follows from the cause of its event. Anybody can compute such an id beforehand. */
export function isDerived(id: string): boolean {
  return id[14] === '8'
}

/** Returns why a user may not append an event, or null if it may. The head owns the log and may append everything. */
export function refusalOf(user: User, { envelope }: CheckedEvent): RlError | null {
  if (user === 'head') return null
  const { type, actor, data, id } = envelope
  if (!mayAppend(user, type))
    return new RlError(`${user} may not append ${type}: it is an event of ${CATALOGUE[type].by.join(', ')}`, {
      code: 'event.not-allowed',
      hint: 'docs/events.md says who appends which type',
    })
  const role = roleOf(user)
  if (user !== role && (isDerived(id) || ('decider' in data && data.decider)))
    return new RlError(`${user} decides nothing for ${role}`, {
      code: 'event.not-allowed',
      hint: 'only the process with the role may be its decider, or give an event an id of version 8',
    })
  const claimed = 'role' in data ? data.role : role
  if (claimed === role && (actor === role || actor.startsWith(`${role}/`))) return null
  return new RlError(`${user} may not append ${type} as ${actor} for the role ${claimed}`, {
    code: 'event.not-allowed',
    hint: `the envelope's actor is ${role}, or begins with ${role}/`,
  })
}
