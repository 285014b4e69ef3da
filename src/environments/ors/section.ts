/** The keys of the section `environment.ors`. */
import type { z } from 'zod'
import { sessionShape } from '../sessions/section.ts'

export const shape = (zod: typeof z) => ({
  url: zod
    .url({ protocol: /^https?$/ })
    .nullable()
    .default(null)
    .describe('Address of an ORS server, e.g. `http://127.0.0.1:8080`.'),
  command: zod
    .array(zod.string().min(1))
    .default([])
    .describe(
      'Program and words that start a server on this machine for the run. `{port}` becomes a free port. Empty: none is started.',
    ),
  environment: zod
    .string()
    .regex(/^[a-zA-Z0-9_.-]{1,128}$/)
    .nullable()
    .default(null)
    .describe('Name of the environment, if the server has several. Null: its first.'),
  tokenEnv: zod
    .string()
    .min(1)
    .nullable()
    .default(null)
    .describe('Name of the variable with the key for the server. Keys never stand in a config.'),
  secrets: zod
    .array(zod.string().min(1))
    .default([])
    .describe(
      'Names of variables that the server gets for each session, e.g. keys of services that it calls.',
    ),
  ...sessionShape(zod),
  acting: sessionShape(zod).acting.default('texts'),
  deterministic: sessionShape(zod).deterministic.default(false),
})

export type OrsSection = z.output<z.ZodObject<ReturnType<typeof shape>>>
