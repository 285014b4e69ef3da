import { readConnection, runFolder } from '../broker/connection.ts'
import { parseCommandLine, printJson, printLine, wholeNumber } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { ROLES } from '../events/envelope.ts'
import { readSigns, type SignOfLife } from '../platform/signs-of-life.ts'
import type { Command } from './command.ts'

const HELP = `
rl alive RUN [--role ROLE] [--within SECONDS] [--nats URL] [--json]

Exit status 0 if the run's head lives and said so lately, else 1. For probes: it loads no model and reads no log.
Each process of a run says every 2 seconds, in the run's folder of its own machine, that its event loop turns. So a
machine that is cut off still counts as alive, and one that hangs does not.

  --role ROLE         a process of this role on this machine in place of the head: ${ROLES.join(' | ')} | executor
  --within SECONDS    longest silence of a living process                                    (60)
  --nats URL          asks the head there, if it runs on another machine   ($NATS_URL; $NATS_TOKEN, or $NATS_USER and $NATS_PASSWORD; $NATS_CA)
  --json              one object: run, role, alive, silentMs, processes, reason
`

const KINDS: readonly string[] = [...ROLES, 'executor']
const ASK_MS = 5_000

type Answer = {
  readonly alive: boolean
  /** Of the process that spoke last. Null if none did here. */
  readonly silentMs: number | null
  readonly processes: readonly SignOfLife[]
  /** Why it counts as dead. */
  readonly reason: string | null
}

export const command: Command = {
  summary: 'whether the head of a run, or a role here, lives; by its exit status',
  help: HELP,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          role: { type: 'string', default: 'head' },
          within: { type: 'string', default: '60' },
          nats: { type: 'string' },
          json: { type: 'boolean', default: false },
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run] = positionals
    const { role } = values
    if (run === undefined)
      throw new RlError('expected a run', { code: 'cli.usage', hint: 'rl runs lists them' })
    if (!KINDS.includes(role))
      throw new RlError(`'${role}' is no role; they are ${KINDS.join(', ')}`, { code: 'cli.usage' })
    const withinMs = 1000 * wholeNumber('--within', values.within, 1)
    const answer = await look(run, role, withinMs, values.nats || process.env.NATS_URL || null)
    if (values.json) printJson({ run, role, ...answer })
    else printLine(textOf(run, role, answer))
    return answer.alive ? 0 : 1
  },
}

/** Looks for signs on this machine first. A head that gave none here is asked over the bus. */
async function look(run: string, role: string, withinMs: number, nats: string | null): Promise<Answer> {
  const folder = runFolder(run)
  const signs = readSigns(folder.alive, role)
  const isElsewhere = role === 'head' && !signs.some(({ life }) => life !== 'ended')
  if (!isElsewhere || (nats === null && readConnection(folder.connection) === null))
    return answerOf(signs, withinMs, folder.alive)
  // Most probes need neither.
  const [{ askAt }, { addressOf }] = await Promise.all([
    import('../actors/head/liveness.ts'),
    import('../actors/start.ts'),
  ])
  const asked = await askAt(run, addressOf(run, nats, 'tool'), ASK_MS)
  const reason = 'unreachable' in asked ? asked.unreachable : null
  return { alive: reason === null, silentMs: reason === null ? 0 : null, processes: signs, reason }
}

function answerOf(processes: readonly SignOfLife[], withinMs: number, folder: string): Answer {
  const living = processes.filter(({ life }) => life !== 'ended')
  const silentMs = living.length === 0 ? null : Math.round(Math.min(...living.map((one) => one.silentMs)))
  const reason =
    silentMs !== null
      ? silentMs <= withinMs
        ? null
        : `it has said nothing for ${(silentMs / 1000).toFixed(1)} s`
      : processes.length > 0
        ? `process ${processes.map(({ pid }) => pid).join(', ')} has ended`
        : `no process has said anything in ${folder}`
  return { alive: reason === null, silentMs, processes, reason }
}

function textOf(run: string, role: string, { silentMs, reason }: Answer): string {
  const who = role === 'head' ? `the head of run '${run}'` : `the role ${role} of run '${run}'`
  if (reason !== null) return `${who} does not live: ${reason}`
  return `${who} lives, and said so ${((silentMs ?? 0) / 1000).toFixed(1)} s ago`
}
