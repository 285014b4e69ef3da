/** A process that makes the worlds of the seeds it is sent, one after the other. */
import { simulate } from './simulate.ts'
import type { Outcome } from './world.ts'

export type Answer = { readonly outcome: Outcome }

// Ctrl-C reaches all processes of a terminal: who sent the seeds ends this one.
process.on('SIGINT', () => {})
process.on('disconnect', () => process.exit(0))
process.on('message', async ({ seed }: { seed: number }) => {
  process.send?.({ outcome: await simulate(seed) } satisfies Answer)
})
