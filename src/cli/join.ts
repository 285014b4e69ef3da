import { readFileSync } from 'node:fs'
import { isAbsolute, join as joinPath } from 'node:path'
import { joinedAddress } from '../actors/joined.ts'
import { type RunFolder, readConnection, runFolder, writePrivately } from '../broker/connection.ts'
import { type Join, type JoinFile, joinsOfHead, newJoin, readJoins, writeJoins } from '../broker/joins.ts'
import { isoTime, pause } from '../clock.ts'
import { parseCommandLine, printJson, printLine } from '../command-line.ts'
import { loggedConfig } from '../config.ts'
import { RlError } from '../errors.ts'
import { ROLES, type Role } from '../events/envelope.ts'
import { openLogReader } from '../events/log-reader.ts'
import { connectBus } from '../events/nats/connect.ts'
import { startsOf } from '../events/starts.ts'
import { workerOf } from '../events/users.ts'
import { codeDigest } from '../package.ts'
import type { Command } from './command.ts'

/** Time in which a running head and its broker take up a change. */
const LET_IN_MS = 10_000
const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

export const command: Command = {
  summary: 'lets another host join a run, by one file',
  help: `
rl join RUN --role ROLE [--worker] [--ttl 7d] [-o FILE]   writes the file with which a host joins
rl join RUN list [--json]                                 shows who may join, and until when
rl join RUN rotate ID [--ttl 7d] [-o FILE]                gives a host a new key; the old one ends at once
rl join RUN revoke ID                                     ends a host's right; its connection ends

The head must wait for other hosts: npm start -- --role head --run RUN --cluster ADDRESS. It takes a change up within
a second, while the run goes on. Copy the file to the host and run there: npm start -- --join FILE
The file holds a secret key, and only its owner can read it. It names the servers, their authority, the run and the
version of the code. --worker is for a further host of a role: it works, and decides nothing. --role head is for a
standby, which goes on with a run that three brokers keep if its head ends.
`,
  run,
}

const OPTIONS = {
  role: { type: 'string' },
  worker: { type: 'boolean', default: false },
  ttl: { type: 'string', default: '7d' },
  output: { type: 'string', short: 'o' },
  json: { type: 'boolean', default: false },
} as const

async function run(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parseCommandLine({ options: OPTIONS, allowPositionals: true }, argv)
  const [name, action, id, ...rest] = positionals
  if (name === undefined || rest.length > 0)
    throw new RlError('expected one run', { code: 'cli.usage', hint: 'rl runs lists them; rl join --help' })
  const folder = runFolder(name)
  const output = (role: Role) => values.output ?? `${role}.join`
  switch (action) {
    case undefined: {
      const role = roleOf(values.role)
      const made = newJoin(values.worker ? workerOf(role) : role, lengthOf(values.ttl))
      if (role === 'head') refuseLoneBroker(folder)
      const { joins, keys } = role === 'head' ? joinsOfHead(made.join) : NO_KEYS
      const file = { ...fileOf(folder, made, role, values.worker), ...(role === 'head' ? { keys } : {}) }
      writeJoins(folder, [...readJoins(folder), made.join, ...joins])
      return told(file, output(role), values.json)
    }
    case 'list':
      return list(name, readJoins(folder), values.json)
    case 'rotate': {
      const old = joinOf(folder, id)
      const made = newJoin(old.user, lengthOf(values.ttl))
      const renewed = { ...made, join: { ...made.join, id: old.id } }
      const role = roleOf(old.user.replace(/-worker$/, ''))
      const { joins, keys } = role === 'head' ? joinsOfHead(renewed.join) : NO_KEYS
      const file = {
        ...fileOf(folder, renewed, role, old.user !== role),
        ...(role === 'head' ? { keys } : {}),
      }
      writeJoins(folder, [...without(folder, old), renewed.join, ...joins])
      return told(file, output(role), values.json)
    }
    case 'revoke': {
      const old = joinOf(folder, id)
      writeJoins(folder, without(folder, old))
      if (values.json) printJson({ run: name, revoked: old.id })
      else printLine(`${old.id} may join no more; a head that runs ends its connection within a second`)
      return 0
    }
    default:
      throw new RlError(`'${action}' is no action of rl join`, {
        code: 'cli.usage',
        hint: 'they are list, rotate and revoke; without one it writes a file',
      })
  }
}

/** Writes the file of a host, waits until the broker knows it, and says what to do. */
async function told(file: JoinFile, path: string, json: boolean): Promise<number> {
  writePrivately(
    isAbsolute(path) ? path : joinPath(process.cwd(), path),
    `${JSON.stringify(file, null, 2)}\n`,
  )
  const { id, run, role, expires, servers } = file
  const known = await isLetIn(file)
  if (json) printJson({ id, run, role, file: path, servers, expires, known })
  else {
    if (!known) printLine(`the broker at ${servers.join(', ')} does not let it in yet: is the head running?`)
    printLine(
      `${path} lets one host join run ${run} as ${role}, until ${isoTime(expires).slice(0, 19)}Z (${id})`,
    )
    printLine(`copy it to the host, and there: npm start -- --join ${path}`)
  }
  return 0
}

/** Resolves to true once the broker lets the host in. The head tells it within a second. */
async function isLetIn(file: JoinFile): Promise<boolean> {
  for (const until = performance.now() + LET_IN_MS; performance.now() < until; await pause(100))
    try {
      const bus = await connectBus({ ...joinedAddress(file), timeoutMs: 2_000 })
      await bus.close()
      return true
    } catch (error) {
      if (!(error instanceof RlError)) throw error
    }
  return false
}

function fileOf(
  folder: RunFolder,
  { join, nkey }: ReturnType<typeof newJoin>,
  role: Role,
  worker: boolean,
): JoinFile {
  const { id, user, until } = join
  const { run } = folder
  const connection = readConnection(folder.connection)
  if (connection === null || connection.ca === undefined)
    throw new RlError(
      connection === null
        ? `no head of run '${run}' is here`
        : `the head of run '${run}' waits for no other host`,
      {
        code: 'join.no-cluster',
        hint: `npm start -- --role head --run ${run} --cluster ADDRESS, with an address that the hosts reach`,
      },
    )
  const log = openLogReader(folder.log)
  try {
    const { store } = loggedConfig(startsOf(log).last.data.config).run
    return {
      v: 1,
      id,
      run,
      runStart: log.hashAt(1),
      code: codeDigest(),
      role,
      worker,
      servers: connection.servers ?? connection.url.split(','),
      ca: readFileSync(connection.ca, 'utf8'),
      user,
      nkey,
      expires: until,
      ...(store === undefined ? {} : { store }),
    }
  } finally {
    log.close()
  }
}

function list(run: string, joins: readonly Join[], json: boolean): number {
  if (json) printJson({ run, joins })
  else if (joins.length === 0) printLine(`no host may join run ${run}`)
  else
    for (const { id, user, until } of joins.filter(({ of }) => of === undefined))
      printLine(
        `${id}  ${user}  until ${isoTime(until).slice(0, 19)}Z${until <= Date.now() ? ' (over)' : ''}`,
      )
  return 0
}

/** A standby needs brokers that outlive the head's machine. */
function refuseLoneBroker({ run, connection }: RunFolder): void {
  const { servers, url } = readConnection(connection) ?? {}
  if (servers !== undefined || url?.includes(',')) return
  throw new RlError(
    `run '${run}' has no brokers that outlive its head: a standby would have nothing to follow`,
    {
      code: 'cli.usage',
      hint: 'the head of such a run starts with --cluster A,B,C',
    },
  )
}

const NO_KEYS = { joins: [], keys: {} }

/** The rights of others. */
function without(folder: RunFolder, { id }: Join): readonly Join[] {
  return readJoins(folder).filter((one) => one.id !== id && one.of !== id)
}

function joinOf(folder: RunFolder, id: string | undefined): Join {
  const joins = readJoins(folder)
  const found = joins.find((one) => one.id === id)
  if (found !== undefined) return found
  throw new RlError(
    id === undefined ? 'expected the id of a host' : `no host '${id}' may join run '${folder.run}'`,
    {
      code: 'cli.usage',
      hint:
        joins.length === 0
          ? `rl join ${folder.run} --role ROLE`
          : `they are ${joins.map((one) => one.id).join(', ')}`,
    },
  )
}

function roleOf(name: string | undefined): Role {
  const found = ROLES.find((role) => role === name)
  if (found !== undefined) return found
  throw new RlError(name === undefined ? 'no --role was given' : `'${name}' is no role that joins`, {
    code: 'cli.usage',
    hint: `they are ${ROLES.join(', ')}`,
  })
}

/** Returns a time such as `7d`, `12h` or `30m` in milliseconds. */
function lengthOf(text: string): number {
  const [, count, unit] = /^(\d{1,4})([mhd])$/.exec(text) ?? []
  const length = Number(count) * (UNITS[unit ?? ''] ?? 0)
  if (length > 0) return length
  throw new RlError(`--ttl ${text.slice(0, 40)} is no time`, {
    code: 'cli.usage',
    hint: 'give a number with m, h or d, e.g. 7d',
  })
}
