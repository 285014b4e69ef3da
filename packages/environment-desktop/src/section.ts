/** The keys that are the setting's own. */
import type { z } from 'zod'
import { grammarKey } from './screen/section.ts'

export const shape = (zod: typeof z) => ({
  desktops: zod
    .int()
    .min(1)
    .max(64)
    .default(4)
    .describe('Local desktops at a time. Each is a sandbox with a display of its own.'),
  servers: zod
    .array(zod.url())
    .default([])
    .describe(
      "Servers that speak OSWorld's endpoints, one desktop each, instead of local ones. They must know `POST /rl/reset`.",
    ),
  programs: zod
    .array(zod.string().min(1))
    .nullable()
    .default(['mousepad', 'galculator', 'pcmanfm', 'xterm'])
    .describe('Programs of our own tasks. null: those that are installed here.'),
  grammar: grammarKey(zod),
})

export type DesktopSection = z.output<z.ZodObject<ReturnType<typeof shape>>>
