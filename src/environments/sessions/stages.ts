/**
 * Episodes as values over things with a state. An older episode is reached by doing its actions again on a
 * fresh thing.
 */
import { RlError } from '../../errors.ts'
import type { Closable, Lease } from './leases.ts'

/** A thing and the actions done on it so far. Only the episode that is `owner` may continue it. */
export type Stage<C extends Closable = Closable> = { readonly lease: Lease<C>; owner: object }

export type Older<S extends Stage> = {
  /** Owner of the stage as long as no other episode has continued it. */
  readonly token: object
  readonly open: () => Promise<S>
  /** Brings a fresh stage to the state of the episode. */
  readonly repeat: (fresh: S) => Promise<unknown>
}

/**
 * Returns the stage of an episode: its own if no other episode has continued it, else another on which all
 * actions were done again.
 *
 * @example const here = await stageFor(stage, { token, open, repeat: (fresh) => doAgain(fresh, actions) })
 */
export async function stageFor<S extends Stage>(stage: S, { token, open, repeat }: Older<S>): Promise<S> {
  if (stage.owner === token && stage.lease.isHeld()) return stage
  const other = await open()
  return orRelease(other, async () => {
    await repeat(other)
    return other
  })
}

/**
 * Gives a thing back at once if something goes wrong on it: nobody goes on with it.
 *
 * @example await orRelease(stage, () => stage.lease.use((desktop) => desktop.act(actions)))
 */
export async function orRelease<Done>({ lease }: Stage, work: () => Promise<Done>): Promise<Done> {
  try {
    return await work()
  } catch (cause) {
    await lease.release()
    throw cause
  }
}

/**
 * Turns any failure into a fault of the infrastructure.
 *
 * @throws RlError `rollout.infra`
 * @example const lease = await asInfra(() => leases.lease(open))
 */
export async function asInfra<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (cause) {
    throw new RlError(cause instanceof Error ? cause.message : String(cause), {
      code: 'rollout.infra',
      cause,
    })
  }
}
