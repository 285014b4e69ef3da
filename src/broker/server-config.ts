/** The config of a run's nats-server: its users, their rights, and who may reach it. */
import { USERS, type User } from '../events/users.ts'
import type { Certificates } from './certificates.ts'
import type { Join } from './joins.ts'
import { permissionsOf } from './permissions.ts'

/** An address that other hosts reach. */
export type Place = { readonly host: string; readonly certificates: Certificates }

/**
 * Time limit of a login. A process that folds a long log, or waits for a processor, needs more than the usual
 * two seconds.
 */
const LOGIN_S = 60

export type ServerConfig = {
  readonly run: string
  readonly host: string
  readonly port: number
  readonly place?: Place
  readonly joins: readonly Join[]
  readonly passwords: Readonly<Record<User, string>>
  readonly pid: string
  readonly log: string
  readonly store: string
}

/** Returns the text of nats-server's config file. */
export function serverConfig({
  run,
  host,
  port,
  place,
  joins,
  passwords,
  pid,
  log,
  store,
}: ServerConfig): string {
  const users = [
    ...USERS.map((user) =>
      userLine(run, user, `user: ${quoted(user)}, password: ${quoted(passwords[user])}`),
    ),
    ...joins.map(({ user, key }) => userLine(run, user, `nkey: ${quoted(key)}`)),
  ]
  const tls = place
    ? `tls {
  cert_file: ${quoted(place.certificates.certificate)}
  key_file: ${quoted(place.certificates.key)}
  timeout: ${LOGIN_S}
}
`
    : ''
  return `server_name: ${quoted(`rl-${run}`)}
host: ${quoted(host)}
port: ${port}
${tls}authorization {
  timeout: ${LOGIN_S}
  users: [
    ${users.join('\n    ')}
  ]
}
max_payload: 8MB
pid_file: ${quoted(pid)}
log_file: ${quoted(log)}
logfile_size_limit: 8MB
jetstream { store_dir: ${quoted(store)} }
`
}

function userLine(run: string, user: User, named: string): string {
  const permissions = permissionsOf(run, user)
  if (permissions === null) return `{ ${named} }`
  const { publish, subscribe } = permissions
  const list = (subjects: readonly string[]) => `[${subjects.map(quoted).join(', ')}]`
  return `{ ${named}, permissions: { publish: ${list(publish)}, subscribe: ${list(subscribe)} } }`
}

function quoted(text: string): string {
  return JSON.stringify(text)
}
