/** The keys of the section `environment.openenv`. */
import type { z } from 'zod'
import { sessionShape } from '../sessions/section.ts'

export const shape = (zod: typeof z) => ({
  url: zod
    .url({ protocol: /^https?$/ })
    .nullable()
    .default(null)
    .describe('Address of an OpenEnv server, e.g. `http://127.0.0.1:8000`.'),
  command: zod
    .array(zod.string().min(1))
    .default([])
    .describe(
      'Program and words that start a server on this machine for the run. `{port}` becomes a free port. Empty: none is started.',
    ),
  capacitySeconds: zod
    .number()
    .nonnegative()
    .default(120)
    .describe('How long a session waits for a server whose sessions are all taken.'),
  ...sessionShape(zod),
})

export type OpenEnvSection = z.output<z.ZodObject<ReturnType<typeof shape>>>
