/** Faults of a user's code that cost a rollout or a demonstration, and not the job: people hear of each at once, and once. */
import type { RlError } from '../../errors.ts'
import { explain } from '../../errors.ts'
import type { Role } from '../../events/envelope.ts'
import type { LogClient } from '../../events/log-client.ts'
import { UserCodeError } from '../../user-code.ts'
import { redact } from './redact.ts'
import type { JobContext } from './worker.ts'

const MOST_CHARACTERS = 2_000
/** Number of different faults that a process tells. The events of rollouts tell all of them. */
const MOST_TOLD = 20

const toldIn = new WeakMap<LogClient, Set<string>>()

export type TellFault = (fault: RlError) => Promise<void>

/** Tells a fault by ActorFailed. The same fault of another task or step is not told again. */
export function faultTeller({ log, actor }: Pick<JobContext, 'log' | 'actor'>): TellFault {
  return async function tellFault(fault) {
    const told = toldIn.get(log) ?? new Set()
    toldIn.set(log, told)
    const what = kindOf(fault)
    if (told.has(what) || told.size >= MOST_TOLD) return
    told.add(what)
    const error = redact(explain(fault)).slice(0, MOST_CHARACTERS)
    const role = actor.split('/')[0] as Role
    const data = { role, worker: actor, error, code: fault.code, willRetry: true }
    await log.append([{ type: 'ActorFailed', data }])
  }
}

/** Returns the text without the call's subject: a hanging step hangs at any task. */
function kindOf(fault: RlError): string {
  const { message, cause } = fault
  const inner = cause instanceof UserCodeError ? cause.message : message
  return inner.replace(/\([^()]*\)$/, '').replace(/'[^']*'/g, "''")
}
