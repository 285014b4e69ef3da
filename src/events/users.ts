/** Who may be on a run's broker. The broker tells a connection's user apart by its subjects: nothing in a message is believed. */
import { ROLES, type Role } from './envelope.ts'

/**
 * - a role: the process with the role's decider, which works as well
 * - `<role>-worker`: a further worker of the role, a gateway, a trainer outside
 * - tool: reads, and nothing else
 */
export type User = Role | `${Exclude<Role, 'head'>}-worker` | 'tool'

/** Users whose events the log may take. */
export type Author = Exclude<User, 'tool'>

export const AUTHORS: readonly Author[] = ROLES.flatMap((role) =>
  role === 'head' ? [role] : [role, workerOf(role)],
)
export const USERS: readonly User[] = [...AUTHORS, 'tool']

export function isUser(name: string): name is User {
  return (USERS as readonly string[]).includes(name)
}

/**
 * Whose subjects a connection speaks on: its user's, or its role's where the broker knows no users. A tool, which may not speak, tries
 * as the head: the broker refuses it.
 */
export function authorOf(user: User | null, actor: string): Author {
  const name = user ?? actor.split('/')[0]
  return isUser(name) && name !== 'tool' ? name : 'head'
}

/** The user of a role's further workers; the head has none. */
export function workerOf(role: Role): Author {
  return role === 'head' ? role : `${role}-worker`
}

/** The role that a user works for; null for a tool. */
export function roleOf(user: User): Role | null {
  return user === 'tool' ? null : (user.replace(/-worker$/, '') as Role)
}

/** What the user's answers come to: others may not listen there. Stock clients, which are tools, use the first one. */
export function inboxPrefixOf(user: User | null): string {
  return user === null || user === 'tool' ? '_INBOX' : `_INBOX_${user}`
}

/**
 * What the answers of roles come to, each under a random name of its own: roles may publish to all of these, so nobody can guess where
 * another's answer is awaited. The head's answers come to the inbox, where no role may publish.
 */
export function callInboxOf(user: User | null): string {
  return `_CALL.${user ?? 'tool'}`
}

/** Whether answers may go to this subject: one that is no inbox would let a requester speak with the answerer's rights. */
export function isInbox(subject: string): boolean {
  return /^_(INBOX(_[a-z-]+)?|CALL\.[a-z-]+)\.[^*>\s]+$/.test(subject)
}
