/** Users of a run's broker. A connection's user shows only in its subjects: nothing in a message is believed. */
import { ROLES, type Role } from './envelope.ts'

/**
 * - a role: the process with the role's decider; it works too
 * - `<role>-worker`: a further worker of the role, a gateway, a trainer outside
 * - tool: reads, and nothing else
 * - operator: asks the head to pause or resume the run, and nothing else
 */
export type User = Role | `${Exclude<Role, 'head'>}-worker` | 'tool' | 'operator'

/** Users whose events the log may take. */
export type Author = Exclude<User, 'tool' | 'operator'>

export const AUTHORS: readonly Author[] = ROLES.flatMap((role) =>
  role === 'head' ? [role] : [role, workerOf(role)],
)
export const USERS: readonly User[] = [...AUTHORS, 'tool', 'operator']

export function isUser(name: string): name is User {
  return (USERS as readonly string[]).includes(name)
}

/**
 * Returns the user whose subjects a connection uses: its own user, or its role if the broker knows no users. A tool and an operator may
 * not append. They try as the head, and the broker refuses them.
 */
export function authorOf(user: User | null, actor: string): Author {
  const [role = ''] = actor.split('/')
  const name = user ?? role
  return (AUTHORS as readonly string[]).includes(name) ? (name as Author) : 'head'
}

/** Returns the user of a role's further workers. The head has none. */
export function workerOf(role: Role): Author {
  return role === 'head' ? role : `${role}-worker`
}

/** Returns the role of a user, or null for a tool and an operator. */
export function roleOf(user: User): Role | null {
  return user === 'tool' || user === 'operator' ? null : (user.replace(/-worker$/, '') as Role)
}

/** Returns the prefix of the user's inbox. Others may not listen there. Stock clients are tools and use the first one. */
export function inboxPrefixOf(user: User | null): string {
  return user === null || user === 'tool' ? '_INBOX' : `_INBOX_${user}`
}

/**
 * Returns the prefix for answers of roles. Each answer gets a random name. Roles may publish to all of these, so nobody must be able
 * to guess a name. The head's answers come to the inbox, where no role may publish.
 */
export function callInboxOf(user: User | null): string {
  return `_CALL.${user ?? 'tool'}`
}

/** Returns whether answers may go to this subject. Any other subject would let a requester publish with the answerer's rights. */
export function isInbox(subject: string): boolean {
  return /^_(INBOX(_[a-z-]+)?|CALL\.[a-z-]+)\.[^*>\s]+$/.test(subject)
}
