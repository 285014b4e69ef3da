/** The keys of the section `environment.gym`. */
import type { z } from 'zod'
import { sessionShape } from '../sessions/section.ts'

export const shape = (zod: typeof z) => ({
  id: zod
    .string()
    .min(1)
    .default('FrozenLake-v1')
    .describe(
      'Name of a Gymnasium environment (`browsergym/...` too), `scienceworld:TASK`, or path of a TextWorld game (`.z8`, `.ulx`, `.json`).',
    ),
  options: zod
    .record(zod.string(), zod.unknown())
    .default({})
    .describe('What the environment is made with, e.g. `{is_slippery: false}`.'),
  python: zod
    .array(zod.string().min(1))
    .min(1)
    .default(['python3'])
    .describe('Python, with words before the sidecar, in whose environment the packages are installed.'),
  ...sessionShape(zod),
})

export type GymSection = z.output<z.ZodObject<ReturnType<typeof shape>>>
