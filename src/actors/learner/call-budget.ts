/**
 * Limits the calls of an endpoint that a role may make in a run, for all its processes and restarts together. Lots of
 * calls are taken from the log before the calls are made, so their number never exceeds the limit.
 */
import { RlError } from '../../errors.ts'
import type { EventData } from '../../events/catalogue.ts'
import type { Role } from '../../events/envelope.ts'
import type { LogClient } from '../../events/log-client.ts'
import { readEvents } from '../rollout/log-queries.ts'

export type CallBudget = {
  /** Resolves when one more call may be made. Errors: `model.budget-spent`, which the log was told: the run pauses. */
  readonly spend: () => Promise<void>
}

/** Number of lots of a budget. A process that ends loses the rest of its lot: at most a hundredth of the budget. */
const LOTS = 100
const MOST_A_LOT = 64

/**
 * Section whose budget each role's calls use. Agents behind the gateway, which works for the environment, call the
 * policy's endpoint.
 */
const SECTIONS = {
  policy: 'policy',
  environment: 'policy',
  'reward-model': 'rewardModel',
  adapter: 'adaptation',
} as const

/** Returns the section of the config with a role's budget, or null for a role that calls nothing. */
export function budgetSection(role: Role): (typeof SECTIONS)[keyof typeof SECTIONS] | null {
  return role === 'head' ? null : SECTIONS[role]
}

/** @param maxCalls most calls that the section of the role allows, or null for any number */
export function callBudgetOf(
  log: LogClient,
  role: keyof typeof SECTIONS,
  maxCalls: number | null,
): CallBudget | null {
  const section = SECTIONS[role]
  const sharers = Object.keys(SECTIONS).filter(
    (other) => SECTIONS[other as keyof typeof SECTIONS] === section,
  )
  return maxCalls === null ? null : openCallBudget(log, role, sharers, `${section}.maxCalls`, maxCalls)
}

function openCallBudget(
  log: LogClient,
  role: Role,
  sharers: readonly string[],
  key: string,
  most: number,
): CallBudget {
  const lotSize = Math.min(MOST_A_LOT, Math.ceil(most / LOTS))
  let left = 0
  let taken = 0
  let lots = 0
  let next = 1
  let taking: Promise<void> | null = null
  let refusal: RlError | null = null

  async function readTaken(): Promise<void> {
    const page = await readEvents(log, next, ['CallsReserved'])
    for (const { data } of page.events)
      if (sharers.includes(data.role)) {
        taken += data.calls
        if (data.role === role) lots++
      }
    next = page.next
  }

  /** The log holds each lot once, so of two processes that take the same one the second reads on. */
  async function takeLot(): Promise<void> {
    for (;;) {
      await readTaken()
      const calls = Math.min(lotSize, most - taken)
      if (calls <= 0) {
        refusal = await spent()
        throw refusal
      }
      if (!(await isTaken({ role, lot: lots, calls }))) continue
      left = calls
      return
    }
  }

  /** Returns false if another process took the lot, or if less is left by now. The log then tells more. */
  async function isTaken(lot: EventData<'CallsReserved'>): Promise<boolean> {
    const before = taken
    try {
      const appended = await log.append([{ type: 'CallsReserved', data: lot }])
      return appended.every(({ duplicate }) => !duplicate)
    } catch (error) {
      await readTaken()
      if (!(error instanceof RlError) || error.code !== 'log.not-open' || taken === before) throw error
      return false
    }
  }

  async function spent(): Promise<RlError> {
    const error = new RlError(`the ${most} calls that ${key} allows are spent`, {
      code: 'model.budget-spent',
      hint: `go on in a fork that may make more: rl fork ${log.run} --at POSITION --set ${key}=${2 * most}`,
    })
    const done = `CallsReserved/${role}/${lots}`
    const data = {
      role,
      worker: role,
      job: 'calls',
      done,
      attempts: 1,
      error: `${error.message} - ${error.hint}`,
    }
    await log.append([{ type: 'WorkFailed', data: { ...data, goesOn: false } }])
    return error
  }

  return {
    async spend() {
      while (left === 0) {
        if (refusal) throw refusal
        taking ??= takeLot().finally(() => {
          taking = null
        })
        await taking
      }
      left--
    },
  }
}
