/** Finds the modules that an adapter_config.json of PEFT names. PEFT ignores weights of other modules. */
import { runInNewContext } from 'node:vm'
import { z } from 'zod'
import { RlError } from '../../errors.ts'

/** The linear layers of the supported models. */
export const LORA_TARGETS = [
  'q_proj',
  'k_proj',
  'v_proj',
  'o_proj',
  'gate_proj',
  'up_proj',
  'down_proj',
] as const

const UNREAD = 'the expression is not read here'
const expression = z.string().min(1).refine(isExpression, UNREAD)
const names = z.union([expression, z.array(z.string())])
const layers = z.union([z.int(), z.array(z.int())]).transform((one) => [one].flat())
const patterns = z
  .union([z.string(), z.array(z.string())])
  .transform((one) => [one].flat())
  .refine((all) => all.every((name) => isExpression(layerPattern(name))), UNREAD)

export const targetKeys = {
  /** A list of names or last parts of names, one expression for the whole name, or `all-linear`. */
  target_modules: names.nullish(),
  exclude_modules: names.nullish(),
  layers_to_transform: layers.nullish(),
  /** Names before the number of a layer. */
  layers_pattern: patterns.nullish(),
}

/** Modules that PEFT takes if none are named, for all supported families. */
const STANDARD = ['q_proj', 'v_proj']

export type Targets = z.infer<z.ZodObject<typeof targetKeys>>

/**
 * Returns the modules that the targets name, e.g. `model.layers.0.self_attn.q_proj`.
 * @param source source of the targets, for messages
 * @throws RlError `model.lora` for an expression whose matching does not end
 */
export function namedModules(
  modules: readonly string[],
  targets: Targets,
  source: string,
): ReadonlySet<string> {
  const { target_modules, exclude_modules: without, layers_to_transform: chosen, layers_pattern } = targets
  const wanted = target_modules ?? STANDARD
  const bounded = <T>(key: keyof Targets, decide: () => T) =>
    inTime(decide, `${source}: ${key}: ${JSON.stringify(targets[key])?.slice(0, 100)}`)
  const offered = bounded('exclude_modules', () =>
    without?.length ? modules.filter((module) => !matches(module, without)) : modules,
  )
  const named = bounded('target_modules', () =>
    wanted === 'all-linear' ? offered : offered.filter((module) => matches(module, wanted)),
  )
  if (!chosen?.length) return new Set(named)
  const before = layers_pattern?.length ? layers_pattern : ['[^.]*']
  const isWhole = (module: string) => Array.isArray(wanted) && wanted.includes(module)
  return bounded('layers_pattern', () => {
    const isChosen = (module: string) => chosen.includes(layerOf(module, before))
    return new Set(named.filter((module) => isWhole(module) || isChosen(module)))
  })
}

/** Returns the layer of a module. Returns NaN if it is in none. */
function layerOf(module: string, before: readonly string[]): number {
  const found = before.flatMap((name) => new RegExp(layerPattern(name)).exec(module)?.[1] ?? [])
  return Number(found.at(0) ?? Number.NaN)
}

function layerPattern(name: string): string {
  return `^.*\\.${name}\\.(\\d+)\\.`
}

function matches(module: string, wanted: string | readonly string[]): boolean {
  return typeof wanted === 'string'
    ? new RegExp(`^(?:${wanted})$`).test(module)
    : wanted.some((name) => module === name || module.endsWith(`.${name}`))
}

function isExpression(text: string): boolean {
  try {
    return new RegExp(text) instanceof RegExp
  } catch {
    return false
  }
}

const MOST_MS = 2000

/** Runs a match within a time limit. A foreign expression may backtrack for ever. */
function inTime<T>(decide: () => T, what: string): T {
  try {
    return runInNewContext('decide()', { decide }, { timeout: MOST_MS })
  } catch (cause) {
    throw new RlError(`${what} cannot be matched in ${MOST_MS / 1000} s`, {
      code: 'model.lora',
      hint: 'write the names of the modules as a list',
      cause,
    })
  }
}
