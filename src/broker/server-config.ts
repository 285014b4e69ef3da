/** The config of a run's nats-server: its users, their rights, and who may reach it. */
import { USERS, type User } from '../events/users.ts'
import { itemAt } from '../item-at.ts'
import type { Certificates } from './certificates.ts'
import type { Join } from './joins.ts'
import { permissionsOf } from './permissions.ts'

/** An address that other hosts reach. */
export type Place = {
  readonly host: string
  /** Port of a broker that is alone, if a person chose it. */
  readonly port?: number
  readonly certificates: Certificates
  /** The cluster that the server is part of. Null: it is alone. */
  readonly cluster: Cluster | null
}

/** Servers that keep streams together. */
type Cluster = {
  /** Number of this server among the members, from 0. */
  readonly index: number
  readonly members: readonly Member[]
}

/** `port` is that of clients. */
export type Member = { readonly host: string; readonly port: number }

/**
 * Time limit of a login. A process that folds a long log, or waits for a processor, needs more than the usual
 * two seconds.
 */
const LOGIN_S = 60

/** Address at which a server tells its figures over HTTP, without a password. */
export type Monitor = { readonly host: string; readonly port: number }

export type ServerConfig = {
  readonly run: string
  readonly host: string
  readonly port: number
  readonly place?: Place
  readonly monitor?: Monitor | null
  readonly joins: readonly Join[]
  /** Of users on the server's own machine. */
  readonly passwords: Readonly<Partial<Record<User, string>>>
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
  monitor = null,
  joins,
  passwords,
  pid,
  log,
  store,
}: ServerConfig): string {
  const users = [
    ...USERS.flatMap((user) => {
      const password = passwords[user]
      return password === undefined
        ? []
        : [userLine(run, user, `user: ${quoted(user)}, password: ${quoted(password)}`)]
    }),
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
  const name = `rl-${run}${place?.cluster ? `-${place.cluster.index}` : ''}`
  return `server_name: ${quoted(name)}
host: ${quoted(host)}
port: ${port}
${monitor ? `http: ${quoted(`${inUrl(monitor.host)}:${monitor.port}`)}\n` : ''}${tls}authorization {
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
${place?.cluster ? clusterConfig(run, place, place.cluster) : ''}`
}

/** The members let nobody in who has no certificate of the run's authority. */
function clusterConfig(run: string, { host, certificates }: Place, { index, members }: Cluster): string {
  const routes = members
    .filter((_, other) => other !== index)
    .map((member) => `tls://${member.host}:${routePort(member)}`)
  // A broker that is cut off closes no connection: the others must not send it what is meant for living members of a queue.
  return `ping_interval: "2s"
ping_max: 2
cluster {
  name: ${quoted(`rl-${run}`)}
  listen: ${quoted(`${host}:${routePort(itemAt(members, index))}`)}
  routes: [${routes.map(quoted).join(', ')}]
  tls {
    cert_file: ${quoted(certificates.certificate)}
    key_file: ${quoted(certificates.key)}
    ca_file: ${quoted(certificates.ca)}
    verify: true
    timeout: ${LOGIN_S}
  }
}
`
}

/** Port at which the members reach each other: 6222 for 4222. */
function routePort({ port }: Member): number {
  return port <= 63_535 ? port + 2_000 : port - 2_000
}

function userLine(run: string, user: User, named: string): string {
  const permissions = permissionsOf(run, user)
  if (permissions === null) return `{ ${named} }`
  const { publish, subscribe } = permissions
  const list = (subjects: readonly string[]) => `[${subjects.map(quoted).join(', ')}]`
  return `{ ${named}, permissions: { publish: ${list(publish)}, subscribe: ${list(subscribe)} } }`
}

/** Returns a host as it stands before a port. */
export function inUrl(host: string): string {
  return host.includes(':') ? `[${host}]` : host
}

function quoted(text: string): string {
  return JSON.stringify(text)
}
