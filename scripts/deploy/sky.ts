/** Checks tasks of SkyPilot: the keys that are used, and the command lines of their scripts. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { safeParse } from '../../src/safe-parse.ts'
import { type CommandLine, commandLinesOf } from './command-lines.ts'
import { complaintOf, type Fault, issuesOf } from './fault.ts'

const count = z.int().positive()
const taskSchema = z.strictObject({
  name: z.string(),
  num_nodes: count.optional(),
  service: z
    .strictObject({
      readiness_probe: z.strictObject({ path: z.string().startsWith('/'), initial_delay_seconds: count }),
      replica_policy: z.strictObject({
        min_replicas: count,
        max_replicas: count,
        target_qps_per_replica: z.number().positive(),
      }),
    })
    .optional(),
  resources: z.strictObject({
    cpus: z
      .string()
      .regex(/^\d+\+?$/)
      .optional(),
    memory: z
      .string()
      .regex(/^\d+\+?$/)
      .optional(),
    accelerators: z.record(z.string(), count).optional(),
    use_spot: z.boolean().optional(),
    job_recovery: z.enum(['failover', 'eager_next_region']).optional(),
    ports: z.int().optional(),
  }),
  envs: z.record(z.string(), z.string()).optional(),
  file_mounts: z.record(z.string(), z.string()).optional(),
  setup: z.string(),
  run: z.string(),
})

export function checkSkyTask(
  folder: string,
  file: string,
  hasBash: boolean,
): { readonly faults: readonly Fault[]; readonly lines: readonly CommandLine[] } {
  const parsed = safeParse(taskSchema, parse(readFileSync(join(folder, file), 'utf8')))
  if (!parsed.success) return { faults: issuesOf(parsed.error).map((text) => ({ file, text })), lines: [] }
  const { setup, run } = parsed.data
  const complaints = hasBash ? [setup, run].map((script) => complaintOf('bash', ['-n', '-c', script])) : []
  return {
    faults: complaints.flatMap((text) => (text === null ? [] : [{ file, text }])),
    lines: [setup, run].flatMap((script) => commandLinesOf(file, script)),
  }
}
