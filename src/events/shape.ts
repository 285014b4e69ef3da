/**
 * Finds the first problem of a value from outside. zod makes an issue for each wrong element. For bytes in place of a map it names
 * each index as an unknown key, so a short message would become an error of hundreds of megabytes. So containers are walked here.
 * The schema's leaves are asked one by one, and the walk ends at the first leaf that does not fit.
 */
import type { z } from 'zod'
import { firstIssue, fits, safeParse } from '../safe-parse.ts'
import { plainLeaf } from './plain-leaf.ts'

/** Returns what is wrong with a value, or null. */
type Check = (value: unknown) => Problem | null

/** Path of the problem, from the inside out, and what is wrong there. The text is made only if somebody reads it. */
type Problem = { readonly path: (string | number)[]; readonly message: () => string }

const SHOWN = 80
const checks = new WeakMap<z.core.$ZodType, Check>()

/**
 * Returns the first part of a value that does not fit the schema, in a line of bounded length. Returns null if each part fits by itself.
 * Conditions over several parts (`refine` of a map, the length of an array) are left to the schema.
 */
export function problemOf(schema: z.core.$ZodType, value: unknown): string | null {
  const problem = checkOf(schema)(value)
  if (problem === null) return null
  const { path, message } = problem
  const shown = path
    .reverse()
    .map((part) => String(part).slice(0, SHOWN))
    .join('.')
  return `${shown === '' ? '' : `${shown.slice(0, 200)}: `}${message().slice(0, 200)}`
}

/**
 * Returns whether the walk is all that the schema does: it has no condition over several parts, and it changes no value. A value without
 * a problem is then what the schema would return.
 */
export function isWalkWhole(schema: z.core.$ZodType): boolean {
  let isWhole = whole.get(schema)
  if (isWhole === undefined) {
    isWhole = walksAll(schema)
    whole.set(schema, isWhole)
  }
  return isWhole
}

const whole = new WeakMap<z.core.$ZodType, boolean>()
const LEAVES: ReadonlySet<string> = new Set([
  'string',
  'number',
  'boolean',
  'null',
  'literal',
  'enum',
  'custom',
])

function walksAll(schema: z.core.$ZodType): boolean {
  const { def } = (schema as z.core.$ZodTypes)._zod
  const checks = def.checks ?? []
  if (LEAVES.has(def.type))
    return !('coerce' in def && def.coerce) && checks.every((check) => check._zod.def.check !== 'overwrite')
  if (checks.length > 0) return false
  switch (def.type) {
    case 'object':
      return def.catchall?._zod.def.type === 'never' && Object.values(def.shape).every(isWalkWhole)
    case 'array':
      return isWalkWhole(def.element)
    case 'tuple':
      return def.items.every(isWalkWhole) && (def.rest === null || isWalkWhole(def.rest))
    // Keys of an enum would all have to be there.
    case 'record':
      return def.keyType._zod.def.type === 'string' && isWalkWhole(def.keyType) && isWalkWhole(def.valueType)
    case 'union':
      return def.options.every(isWalkWhole)
    case 'optional':
    case 'nullable':
      return isWalkWhole(def.innerType)
    default:
      return def.type === 'unknown'
  }
}

/** Returns whether a value is a map of msgpack. */
export function isMap(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array)
  )
}

function checkOf(schema: z.core.$ZodType): Check {
  let check = checks.get(schema)
  if (check === undefined) {
    check = makeCheck(schema)
    checks.set(schema, check)
  }
  return check
}

function makeCheck(schema: z.core.$ZodType): Check {
  const { def } = (schema as z.core.$ZodTypes)._zod
  switch (def.type) {
    case 'object':
      return checkObject(def)
    case 'array':
      return checkList(() => checkOf(def.element))
    case 'tuple':
      return checkTuple(schema, def)
    case 'record':
      return checkRecord(checkOf(def.keyType), checkOf(def.valueType))
    case 'union':
      return checkUnion(def.options.map(checkOf))
    case 'optional':
    case 'default':
    case 'prefault': {
      const inner = checkOf(def.innerType)
      return (value) => (value === undefined ? null : inner(value))
    }
    case 'nullable': {
      const inner = checkOf(def.innerType)
      return (value) => (value === null ? null : inner(value))
    }
    case 'readonly':
    case 'nonoptional':
    case 'catch':
      return checkOf(def.innerType)
    case 'pipe':
      return checkOf(def.in)
    case 'lazy':
      return (value) => checkOf(def.getter())(value)
    case 'unknown':
      return () => null
    case 'literal':
      return checkLiteral(schema, new Set(def.values))
    default:
      return isAnyText(def) ? text : checkLeaf(schema, plainLeaf(schema))
  }
}

function isAnyText(def: z.core.$ZodTypes['_zod']['def']): boolean {
  return def.type === 'string' && !('format' in def) && (def.checks ?? []).length === 0
}

function text(value: unknown): Problem | null {
  return typeof value === 'string' ? null : expected('a text', value)
}

/** A leaf holds no other values. It has at most one issue. The schema is asked only if the plain comparison does not accept. */
function checkLeaf(schema: z.core.$ZodType, accepts: ((value: unknown) => boolean) | null): Check {
  return function leaf(value) {
    if (accepts?.(value) || fits(schema, value)) return null
    return { path: [], message: () => messageOf(schema, value) }
  }
}

/** Fast path: a union of numbers tries one after the other. */
function checkLiteral(schema: z.core.$ZodType, values: ReadonlySet<unknown>): Check {
  return function literal(value) {
    return values.has(value) ? null : { path: [], message: () => messageOf(schema, value) }
  }
}

function messageOf(schema: z.core.$ZodType, value: unknown): string {
  const { success, error } = safeParse(schema, value)
  return success ? 'it does not fit' : firstIssue(error).message
}

function checkObject({ shape, catchall }: z.core.$ZodObjectDef): Check {
  const fields = new Map(Object.entries(shape).map(([key, field]) => [key, checkOf(field)]))
  const other = catchall === undefined ? null : checkOf(catchall)
  return function object(value) {
    if (!isMap(value)) return expected('a map', value)
    for (const [key, check] of fields) {
      const problem = check(Object.hasOwn(value, key) ? value[key] : undefined)
      if (problem !== null) return inside(key, problem)
    }
    if (other === null) return null
    for (const key of Object.keys(value))
      if (!fields.has(key) && other(value[key]) !== null)
        return { path: [], message: () => `unknown key ${JSON.stringify(key.slice(0, SHOWN))}` }
    return null
  }
}

function checkList(checkAt: (index: number) => Check | null): Check {
  return function list(value) {
    if (!Array.isArray(value)) return expected('a list', value)
    for (let index = 0; index < value.length; index++) {
      const problem = checkAt(index)?.(value[index]) ?? null
      if (problem !== null) return inside(index, problem)
    }
    return null
  }
}

/** The schema knows which elements may be missing. */
function checkTuple(schema: z.core.$ZodType, def: z.core.$ZodTupleDef): Check {
  const [items, rest] = [def.items.map(checkOf), def.rest && checkOf(def.rest)]
  const elements = checkList((index) => items[index] ?? rest)
  return function tuple(value) {
    const problem = elements(value)
    const isOther = Array.isArray(value) && value.length !== items.length
    if (problem !== null || !isOther || fits(schema, value)) return problem
    return { path: [], message: () => messageOf(schema, value) }
  }
}

function checkRecord(checkKey: Check, check: Check): Check {
  return function record(value) {
    if (!isMap(value)) return expected('a map', value)
    for (const key of Object.keys(value)) {
      const problem = checkKey(key) ?? check(value[key])
      if (problem !== null) return inside(key, problem)
    }
    return null
  }
}

/** Returns the problem of the option nearest to the value. That is the option whose problem lies deepest. */
function checkUnion(options: readonly Check[]): Check {
  return function union(value) {
    let nearest: Problem | null = null
    for (const option of options) {
      const problem = option(value)
      if (problem === null) return null
      if (nearest === null || problem.path.length > nearest.path.length) nearest = problem
    }
    return nearest
  }
}

function inside(key: string | number, { path, message }: Problem): Problem {
  path.push(key)
  return { path, message }
}

function expected(what: string, value: unknown): Problem {
  return { path: [], message: () => `expected ${what}, received ${kindOf(value)}` }
}

function kindOf(value: unknown): string {
  if (value === undefined || value === null) return String(value)
  if (value instanceof Uint8Array) return 'bytes'
  if (Array.isArray(value)) return 'a list'
  return isMap(value) ? 'a map' : `a ${typeof value}`
}
