/** Why and how a head ends. */
import { explain } from '../../errors.ts'
import type { EventData, LoggedEvent } from '../../events/catalogue.ts'
import type { HeadCore } from './head-core.ts'
import { livingStandby } from './standby.ts'

/** Why the head stops waiting: the run is over, it failed, it cannot go on without help, or a person wants it to pause. */
export type End =
  | { readonly kind: 'completed' }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'paused'; readonly reason: string }
  | { readonly kind: 'interrupted'; readonly signal: 'SIGINT' | 'SIGTERM' }
  | { readonly kind: 'moved'; readonly host: string }

/** A host that is told to end gives the run to a standby. Without one, the run pauses. */
export async function interruptedBy(
  signal: 'SIGINT' | 'SIGTERM',
  { bus, log }: HeadCore,
  replicated: boolean,
): Promise<End> {
  const standby =
    replicated && signal === 'SIGTERM' ? await livingStandby(bus, log.run, null).catch(() => null) : null
  return standby === null ? { kind: 'interrupted', signal } : { kind: 'moved', host: standby.host }
}

/**
 * Resolves with the end of the run. Events from before this head began do not end it: a resumed run tries again. RunPaused ends nothing: this
 * head appends it itself, and a person or the disk may let the run go on.
 */
export function runOver(begun: number): {
  readonly see: (event: LoggedEvent) => void
  readonly end: Promise<End>
} {
  let settle: (end: End) => void = () => {}
  const end = new Promise<End>((resolve) => {
    settle = resolve
  })
  return {
    end,
    see(event) {
      if (event.type === 'RunCompleted') settle({ kind: 'completed' })
      if (event.position < begun) return
      if (event.type === 'WorkFailed' && !event.data.goesOn)
        settle({ kind: 'paused', reason: failureOf(event.data) })
      if (event.type === 'RunFailed') settle({ kind: 'failed', reason: event.data.reason })
    },
  }
}

function failureOf({ role, job, done, attempts, error }: EventData<'WorkFailed'>): string {
  return `${role}: ${job} (${done}) failed ${attempts} times, the last with: ${error}`
}

/** Pauses the run if a role ends again and again. */
export function spent(children: Promise<never>): Promise<End> {
  return children.catch((error: unknown) => ({ kind: 'paused', reason: explain(error) }))
}

/** Never resolves: only a failure counts as an end. */
export function fails(done: Promise<unknown>): Promise<never> {
  return new Promise((_, reject) => {
    done.catch(reject)
  })
}
