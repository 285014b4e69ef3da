/** A process reports messages that it could not take to the head. The head keeps them as dead letters. */
import { z } from 'zod'
import { type Clock, systemClock } from '../clock.ts'
import { RlError } from '../errors.ts'
import type { Bus, Fault } from './bus.ts'
import { bytes } from './log-protocol.ts'
import { type Bounds, pack, unpackMap } from './msgpack.ts'
import { problemOf } from './shape.ts'
import { subjectsOf } from './subjects.ts'
import type { Author } from './users.ts'

export const faultReport = z.strictObject({
  subject: z.string().max(512),
  code: z.string().max(128),
  reason: z.string().max(2_000),
  bytes: z.int().nonnegative(),
  body: bytes,
})
export type FaultReport = z.infer<typeof faultReport>

/** Most reported bytes of a message, and most faults a second. A flooded process must not flood the head. */
const TOLD_BYTES = 4_096
const TOLD_A_SECOND = 20

/** Reports every fault of this connection to the head, with its author, until it is ended. */
export function tellFaults(bus: Bus, run: string, author: Author, clock: Clock = systemClock): () => void {
  const subject = subjectsOf(run).tapOf('fault', author)
  let second = 0
  let told = 0
  return bus.onFault((fault) => {
    const now = Math.floor(clock.monotonic() / 1000)
    if (now !== second) told = 0
    second = now
    if (told++ < TOLD_A_SECOND && bus.connected()) bus.publish(subject, pack(reportOf(fault)))
  })
}

function reportOf({ subject, body, error }: Fault): FaultReport {
  return {
    subject: subject.slice(0, 512),
    code: error instanceof RlError ? error.code : 'bus.fault',
    reason: String(error instanceof Error ? error.message : error).slice(0, 2_000),
    bytes: body.byteLength,
    body: body.slice(0, TOLD_BYTES),
  }
}

/** Bounds of a report: room for texts whose characters take four bytes. */
const REPORT_BOUNDS: Bounds = { bytes: 16 * 1024, values: 16 }

/** Decodes a report. Throws if it cannot be read. */
export function readFaultReport(body: Uint8Array): FaultReport {
  const report = unpackMap(body, REPORT_BOUNDS)
  const problem = problemOf(faultReport, report)
  if (problem === null) return report as FaultReport
  throw new RlError(`not a report of a fault: ${problem}`, { code: 'bus.bad-request' })
}
