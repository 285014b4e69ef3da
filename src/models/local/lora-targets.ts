/** Which modules an adapter_config.json of PEFT names: what its weights hold beyond them, PEFT leaves out. */
import { z } from 'zod'

/** The linear layers of the models that are read here. */
export const LORA_TARGETS = [
  'q_proj',
  'k_proj',
  'v_proj',
  'o_proj',
  'gate_proj',
  'up_proj',
  'down_proj',
] as const

const expression = z
  .string()
  .min(1)
  .refine((text) => {
    try {
      return new RegExp(text) instanceof RegExp
    } catch {
      return false
    }
  }, 'the expression is not read here')
const names = z.union([expression, z.array(z.string())])
const layers = z.union([z.int(), z.array(z.int())]).transform((one) => [one].flat())
const patterns = z.union([z.string(), z.array(z.string())]).transform((one) => [one].flat())

export const targetKeys = {
  /** A list of names or last parts of names, one expression for the whole name, or `all-linear`. */
  target_modules: names.nullish(),
  exclude_modules: names.nullish(),
  layers_to_transform: layers.nullish(),
  /** What stands before the number of a layer. */
  layers_pattern: patterns.nullish(),
}

/** What PEFT takes where none are named, for all families that are read here. */
const STANDARD = ['q_proj', 'v_proj']

export type Targets = z.infer<z.ZodObject<typeof targetKeys>>

/** Whether a module, e.g. `model.layers.0.self_attn.q_proj`, is named. */
export function isTarget(module: string, targets: Targets): boolean {
  const { target_modules, exclude_modules: without, layers_to_transform: chosen } = targets
  const wanted = target_modules ?? STANDARD
  if (without?.length && matches(module, without)) return false
  const whole = Array.isArray(wanted) && wanted.includes(module)
  if (wanted !== 'all-linear' && !matches(module, wanted)) return false
  if (!chosen?.length || whole) return true
  const before = targets.layers_pattern?.length ? targets.layers_pattern : ['[^.]*']
  const found = before.flatMap((name) => new RegExp(`^.*\\.${name}\\.(\\d+)\\.`).exec(module)?.[1] ?? [])
  return found.length > 0 && chosen.includes(Number(found[0]))
}

function matches(module: string, wanted: string | readonly string[]): boolean {
  return typeof wanted === 'string'
    ? new RegExp(`^(?:${wanted})$`).test(module)
    : wanted.some((name) => module === name || module.endsWith(`.${name}`))
}
