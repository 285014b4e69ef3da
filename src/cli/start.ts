/** `rl start`, `npm start`: parse, load the config, start a role. */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Pages } from '../actors/head/pages.ts'
import type { StartOptions } from '../actors/start-options.ts'
import { runFolder } from '../broker/connection.ts'
import type { MemberFile } from '../broker/members.ts'
import { RlError } from '../errors.ts'
import { ROLES, type Role } from '../events/envelope.ts'
import { findCache, packageVersion } from '../package.ts'
import { makePublicFolder } from '../platform/public-folder.ts'
import type { Command } from './command.ts'

const HELP = `
npm start -- --role head [options]      runs the closed loop: policy, reward model and tasks improve one another
npm start -- --role ROLE --run ID [--nats URL]   takes up one role of a run; --nats from any other host
npm start -- --join FILE               takes up a role on another host (rl join writes the file)
npm start -- --role head --standby --run ID --nats URL,URL,URL   goes on with a run if its head ends

  --role ROLE       head | policy | reward-model | environment | adapter;
                    executor: runs programs for the others, taken from a queue (environment.coding.sandbox.executors)
  --config FILE     the run's configuration                            (config/default.yaml)
  --set KEY=VALUE   changes one key of it, e.g. --set run.iterations=40; may be repeated
  --run ID          the run's name; where it exists already it goes on where its log ends
  --roles LIST      roles for which the head starts processes, e.g. policy,environment; 'none' for none   (all)
  --nats URL        a running nats-server with JetStream, or a cluster's with commas; else the head starts one   ($NATS_URL; $NATS_TOKEN, or $NATS_USER and $NATS_PASSWORD; $NATS_CA)
  --cluster ADDRESS the head's own server waits for other hosts at this address of the machine, with TLS; rl join lets them in.
                    A,B,C: one of three servers, which keep the log together; the head writes a file for each of the others
  --monitor HOST:PORT  address of that server's figures over HTTP, e.g. for KEDA; whoever reaches it may read them   (127.0.0.1:8222 or another port)
  --join FILE       takes up the role of a file that rl join wrote, or is the server of a file that a head wrote
  --any-code        joins a run although its head has other code
  --standby         follows the log of a run with replicas (--set run.replicas=3), and becomes its head if that ends
  --worker          a further worker of a role: works, but decides nothing
  --grace SECONDS   on SIGTERM a role that no head started takes no new work, finishes within this time and gives the rest back   (30)
  --trust           goes on with a run whose log names modules, servers or programs, if this user did not begin it here
  --no-ui           prints no link to pages of the run
  --dry-run         prints the effective config, the plan and the first three prompts as the policy reads them, and starts nothing
  --help, --version

Look at runs with: npm run -s rl -- --help
`

export const command: Command = {
  summary: 'starts a run, or one role of it; the same as npm start',
  serves: true,
  help: HELP,
  run,
}

async function run(argv: readonly string[]): Promise<number> {
  const options = await readOptions(argv)
  if (typeof options === 'string') {
    process.stdout.write(`${options}\n`)
    return 0
  }
  shareCache()
  // Files of a run are private to their owner.
  process.umask(0o077)
  if ('kind' in options) {
    const { runMember } = await import('../actors/broker-member.ts')
    return runMember(options)
  }
  if (options.role === 'head') {
    const { startHead } = await import('../actors/head/start.ts')
    return startHead(options, options.ui ? openPages : null)
  }
  const { startRole } = await import('../actors/start.ts')
  return startRole(options)
}

async function openPages(run: string): Promise<Pages> {
  const { openDoor } = await import('../ui/server/door.ts')
  return openDoor({ path: `/r/${run}`, log: join(runFolder(run).folder, 'logs', 'ui.log') })
}

/**
 * Makes the shared cache public. The first one to make a folder in it must not close it to others. If it
 * cannot be made, the code that needs it reports that.
 */
function shareCache(): void {
  const cache = findCache()
  try {
    if (cache !== null) makePublicFolder(cache)
  } catch {}
}

/** The options, or the text that was asked for in their place. */
async function readOptions(argv: readonly string[]): Promise<StartOptions | MemberFile | string> {
  const { values } = parse(argv)
  if (values.help) return HELP.trim()
  if (values.version) return packageVersion()
  if (values.join !== undefined)
    return joinOptions(values.join, {
      anyCode: values['any-code'] ?? false,
      graceSeconds: secondsOf('--grace', values.grace),
      // A standby starts no roles, unless it is told to.
      roles: values.roles === undefined ? [] : rolesOf(values.roles),
    })
  if (values.role === undefined) throw usage('no --role was given')
  const executor = values.role === 'executor'
  const role = executor ? 'environment' : roleOf(values.role)
  if (role !== 'head' && values.run === undefined)
    throw usage(`--role ${values.role} needs the --run that it belongs to`)
  if (values.cluster !== undefined && values.nats !== undefined)
    throw usage('--cluster is for a server of the head, and --nats for one of your own')
  const standby = values.standby ?? false
  if (standby && (role !== 'head' || values.run === undefined))
    throw usage('--standby is for --role head, and needs the --run that it follows')
  if (values.cluster !== undefined && role !== 'head') throw usage('--cluster is for --role head')
  if (values.monitor !== undefined) checkMonitor(values.monitor, values.cluster)
  return {
    ...NONE,
    role,
    standby,
    config: values.config ?? 'config/default.yaml',
    configGiven: values.config !== undefined,
    set: values.set ?? [],
    run: values.run ?? null,
    roles: rolesOf(values.roles),
    nats: values.nats ?? (values.cluster === undefined ? (process.env.NATS_URL ?? null) : null),
    cluster: values.cluster === undefined ? null : await clusterOf(values.cluster),
    monitor: values.monitor ?? null,
    worker: executor || (values.worker ?? false),
    executor,
    graceSeconds: secondsOf('--grace', values.grace),
    dryRun: values['dry-run'] ?? false,
    trust: values.trust ?? false,
    ui: !values['no-ui'],
  }
}

const NONE = { cluster: null, monitor: null, join: null, anyCode: false, standby: false } as const

/** Everything that a host needs stands in its file. */
async function joinOptions(
  file: string,
  given: Pick<StartOptions, 'anyCode' | 'graceSeconds' | 'roles'>,
): Promise<StartOptions | MemberFile> {
  const { readMemberFile } = await import('../broker/members.ts')
  const member = await readMemberFile(file)
  if (member !== null) return member
  const { readJoinFile } = await import('../broker/joins.ts')
  const join = await readJoinFile(file)
  return {
    ...NONE,
    ...given,
    join,
    standby: join.role === 'head',
    role: join.role,
    run: join.run,
    worker: join.worker,
    config: 'config/default.yaml',
    configGiven: false,
    set: [],
    nats: null,
    executor: false,
    dryRun: false,
    trust: false,
    ui: false,
  }
}

/** An address, or those of a cluster. */
async function clusterOf(text: string): Promise<string> {
  if (text.includes(',')) {
    const { membersOf } = await import('../broker/members.ts')
    membersOf(text)
    return text
  }
  if (/^[A-Za-z0-9][A-Za-z0-9.:-]{0,252}$/.test(text)) return text
  throw usage(`--cluster ${JSON.stringify(text.slice(0, 100))} is no address`)
}

/** Figures of one server of several say nothing of a queue that another one leads. */
function checkMonitor(monitor: string, cluster: string | undefined): void {
  if (cluster === undefined || cluster.includes(','))
    throw usage('--monitor is for the server of --cluster ADDRESS, which is alone')
  const port = Number(/^(?:[A-Za-z0-9][A-Za-z0-9.-]{0,252}):(\d{1,5})$/.exec(monitor)?.[1])
  if (!(port > 0 && port < 65_536))
    throw usage(`--monitor ${JSON.stringify(monitor.slice(0, 100))} is no HOST:PORT`)
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      strict: true,
      options: {
        role: { type: 'string' },
        config: { type: 'string' },
        set: { type: 'string', multiple: true },
        run: { type: 'string' },
        roles: { type: 'string' },
        nats: { type: 'string' },
        cluster: { type: 'string' },
        monitor: { type: 'string' },
        join: { type: 'string' },
        standby: { type: 'boolean' },
        'any-code': { type: 'boolean' },
        worker: { type: 'boolean' },
        grace: { type: 'string', default: '30' },
        'dry-run': { type: 'boolean' },
        trust: { type: 'boolean' },
        'no-ui': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
        version: { type: 'boolean' },
      },
    })
  } catch (cause) {
    const [first = ''] = (cause as Error).message.split('. ')
    throw usage(first)
  }
}

function secondsOf(flag: string, value: string): number {
  const seconds = Number(value)
  if (value.trim() !== '' && seconds >= 0 && seconds <= 86_400) return seconds
  throw usage(`${flag} expects seconds from 0 to 86400, got '${value}'`)
}

function rolesOf(list: string | undefined): readonly Role[] {
  if (list === undefined) return ROLES.filter((role) => role !== 'head')
  if (list === 'none') return []
  return list.split(',').map((name) => roleOf(name.trim()))
}

function roleOf(name: string): Role {
  if ((ROLES as readonly string[]).includes(name)) return name as Role
  throw usage(`'${name}' is no role; they are ${ROLES.join(', ')}`)
}

function usage(message: string): RlError {
  return new RlError(message, { code: 'cli.usage', hint: 'npm start -- --help' })
}
