/**
 * Heartbeats of an actor whose event loop is busy computing. A thread beside the loop repeats the last status, and tells
 * for how long the loop has not turned. If the whole process stands still, so does the thread.
 */
import type { BusAddress } from '../../events/bus.ts'
import { startThread } from '../../package.ts'
import type { ActorStatus } from './status.ts'

export type PulseThreadData = {
  readonly address: BusAddress
  /** Subject of the actor's heartbeats. */
  readonly subject: string
  readonly everyMs: number
}

export type Pulse = {
  /** Resolves when the thread is connected. From then on a busy loop is not silent. */
  readonly opened: Promise<unknown>
  /** Tells the thread that the loop turns, and what to repeat if it does not. */
  readonly tell: (status: ActorStatus) => void
  /** Resolves when the thread says nothing more. */
  readonly close: () => Promise<unknown>
}

/** It repeats statuses and no more. */
const HEAP = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 }

export function openPulse(data: PulseThreadData): Pulse {
  const thread = startThread(new URL('./pulse-thread.ts', import.meta.url), data, HEAP)
  // Without the thread a busy loop is silent, but nothing else fails.
  thread.on('error', () => {})
  thread.unref()
  return {
    opened: new Promise((resolve) => thread.once('message', resolve)),
    tell: (status) => thread.postMessage(status),
    close: () => thread.terminate(),
  }
}
