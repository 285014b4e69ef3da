/**
 * Models that read a key. The schema marks each key that only some models read. A config that sets it for another model
 * is refused.
 */
import type { z } from 'zod'

/** Kinds of readers: their name in words, and what to do instead of setting a key that nobody reads. */
export const READERS = {
  endpoint: { who: 'models behind an endpoint', hint: 'leave it out' },
  template: {
    who: 'models behind an endpoint',
    hint: 'policy.thinking is the switch of a local policy; else leave it out',
  },
  thinking: {
    who: 'local models that act by prompts',
    hint: 'for an endpoint use policy.template: { enable_thinking: ... }; a local model acts by prompts if a folder is policy.model and policy.acting is numbered or free',
  },
  prompts: {
    who: 'models that are asked by prompts',
    hint: 'leave it out: if commands are chosen, an episode is one sequence',
  },
  episodes: {
    who: 'models that choose commands, or that are trained from scratch',
    hint: "leave it out: a prompt has the model's own context, as far as policy.cacheMegabytes holds it; policy.windowTokens is that of an endpoint",
  },
  folder: { who: 'local models that begin with a folder', hint: 'leave it out' },
  adapter: { who: 'low-rank adapters', hint: 'add e.g. --set policy.lora.rank=16' },
  taught: {
    who: 'models that are taught before the run: presets, and adapters that act on commands',
    hint: 'leave it out, or add e.g. --set policy.lora.rank=16 to a folder',
  },
  constant: { who: 'aggregate: constant', hint: 'add aggregate: constant, or leave it out' },
} as const

export type Reader = keyof typeof READERS

/** Marks a key, or a section with all its keys, that only one kind of readers reads. */
export function readBy<S extends z.ZodType>(reader: Reader, schema: S): S {
  return schema.meta({ readBy: reader })
}
