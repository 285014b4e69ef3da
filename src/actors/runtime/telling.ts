/** Tells faults of an actor as events. */
import { explain, RlError } from '../../errors.ts'
import type { NewEvent } from '../../events/catalogue.ts'
import type { Role } from '../../events/envelope.ts'
import type { LogClient } from '../../events/log-client.ts'
import type { FailedWork } from './deliveries.ts'
import { redact } from './redact.ts'
import type { Wait } from './waits.ts'

const TEXT_CHARACTERS = 2_000

export type Telling = {
  /** Returns a text or an error in the form of events: short, without secrets. */
  readonly clean: (said: unknown) => string
  readonly tell: (event: NewEvent, cause?: string | null) => Promise<void>
  /** Resolves to the error's text. */
  readonly failure: (error: unknown, cause: string | null, willRetry?: boolean) => Promise<string>
  /** Work that failed for good. */
  readonly givenUp: (failed: FailedWork) => Promise<void>
  readonly stall: (wait: Wait) => Promise<void>
}

export type TellingOptions = {
  readonly role: Role
  readonly name: string
  readonly log: LogClient
  /** Secrets of the connection. Other secrets are known by names in the environment. */
  readonly secrets: readonly string[]
  readonly stopping: AbortSignal
  /** Ends the actor if an event cannot be told. */
  readonly fail: (error: unknown) => void
}

export function openTelling({ role, name, log, secrets, stopping, fail }: TellingOptions): Telling {
  const clean = (said: unknown) =>
    redact(typeof said === 'string' ? said : explain(said), secrets).slice(0, TEXT_CHARACTERS)

  async function tell(event: NewEvent, cause: string | null = null): Promise<void> {
    await log.append([event], { cause }).catch((error: unknown) => {
      if (!stopping.aborted) fail(error)
    })
  }

  return {
    clean,
    tell,
    async failure(error, cause, willRetry = true) {
      const code = error instanceof RlError ? error.code : null
      const text = clean(error)
      await tell({ type: 'ActorFailed', data: { role, worker: name, error: text, code, willRetry } }, cause)
      return text
    },
    async givenUp({ job: { kind, done }, cause, attempts, error, goesOn }) {
      const data = { role, worker: name, job: kind, done, attempts, error, goesOn }
      await tell({ type: 'WorkFailed', data }, cause)
    },
    async stall({ owner, waitingFor, from, since, deadline }) {
      await tell({ type: 'StallDetected', data: { owner, waitingFor, from, since, deadline } })
    },
  }
}
