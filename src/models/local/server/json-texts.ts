/** Lists all JSON texts that a schema allows, if they are few. A model then writes one of them under a trie. */
import { isRounded } from '../../../exact-json.ts'
import { apiError } from '../../../openai-api/errors.ts'
import { definition, isObject, isOf, type Schema, schemaValues } from './schema-values.ts'

/** Most texts of a schema. */
const MOST_TEXTS = 4_096
/** Most characters of all texts together. */
const MOST_CHARACTERS = 1_000_000
/** Most steps for comparing the parts of every `oneOf`. */
const MOST_STEPS = 1_000_000

/** Keywords that do not affect which texts are allowed. */
export const NOTES: ReadonlySet<string> = new Set([
  'title',
  'description',
  'default',
  'examples',
  '$schema',
  '$id',
  '$comment',
  'deprecated',
])

/** Keywords that are implemented, by type. */
const READ = {
  any: ['type', 'enum', 'const', 'anyOf', 'oneOf', '$ref', '$defs'],
  integer: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
  object: ['properties', 'required', 'additionalProperties'],
  array: ['items', 'minItems', 'maxItems'],
}

/** An `$id` inside a schema begins another schema, in which `#/$defs/NAME` has another meaning. */
export const isOtherRoot = (key: string, depth: number) => key === '$id' && depth > 0

/** Each of these keywords defines the values alone. Another keyword beside it would limit them further. */
const FORMS = ['$ref', 'const', 'enum', 'anyOf', 'oneOf']
const LIMITS = [...READ.integer, ...READ.object, ...READ.array]

/**
 * Returns compact texts, with properties in the order of the schema.
 * @param param field with the schema, for messages
 * @throws ApiError 400 with the place that cannot be enumerated, or if there are too many texts
 */
export function jsonTexts(schema: unknown, param: string): string[] {
  const refuse = (path: string, why: string): never => {
    throw apiError(
      400,
      `'${param}': ${path || 'the schema'}: ${why}; only schemas with few values are supported`,
      {
        param,
        code: 'unsupported_schema',
      },
    )
  }

  const texts = new Map<string, string[]>()
  const allows = schemaValues(schema, MOST_STEPS)

  /** `depth` limits the work for a hostile schema. */
  function textsOf(one: unknown, path: string, depth: number): string[] {
    if (depth > 32) return refuse(path, 'it is nested too deeply')
    if (!isObject(one)) return refuse(path, 'it is no object')
    const types = [one.type ?? []].flat()
    const read = [...READ.any, ...READ.integer, ...READ.object, ...READ.array]
    for (const key of Object.keys(one))
      if ((!NOTES.has(key) && !read.includes(key)) || isOtherRoot(key, depth))
        return refuse(path, `'${key.slice(0, 40)}' is not read`)
    const [form, ...others] = Object.keys(one).filter((key) => FORMS.includes(key))
    if (form !== undefined) {
      const beside = others[0] ?? Object.keys(one).find((key) => LIMITS.includes(key))
      if (beside !== undefined) return refuse(path, `'${beside}' beside '${form}' is not read`)
      if (form === '$ref') return textsNamed(String(one.$ref), path, depth)
      const listed = one.type === undefined ? () => true : (value: unknown) => types.some(isOf(value))
      if (form === 'const') return [one.const].filter(listed).map((value) => written(value, path))
      if (!Array.isArray(one[form])) return refuse(path, `'${form}' is no list`)
      const parts: readonly unknown[] = one[form]
      if (form === 'enum') return joined(parts.filter(listed), (value) => [written(value, path)], path)
      if (one.type !== undefined) return refuse(path, `'type' beside '${form}' is not read`)
      const all = joined(parts, (part, i) => textsOf(part, `${path}/${i}`, depth + 1), path)
      return form === 'anyOf' ? all : all.filter((text) => !isShared(text, parts, path))
    }
    if (types.length === 0) return refuse(path, 'it has no type')
    return joined(types, (type) => textsOfType(String(type), one, path, depth), path)
  }

  /** Returns the JSON of a value. A number that was rounded while the schema was read would be another value, so it is refused. */
  function written(value: unknown, path: string): string {
    return JSON.stringify(value, (_, each: unknown) =>
      isRounded(each) ? refuse(path, `${each} is beyond the exact integers`) : each,
    )
  }

  /** A value that two parts allow is no value of `oneOf`. A part may allow more than its texts, e.g. further properties. */
  function isShared(text: string, parts: readonly unknown[], path: string): boolean {
    const value: unknown = JSON.parse(text)
    const tooMany = () => refuse(path, "too many parts of 'oneOf' to compare")
    return parts.filter((part) => allows(part, value) ?? tooMany()).length > 1
  }

  /**
   * Each definition is expanded once: definitions may refer to one another again and again. A definition of itself ends at the limit of
   * depth.
   */
  function textsNamed(ref: string, path: string, depth: number): string[] {
    const known = texts.get(ref)
    if (known) return known
    const named = definition(schema, ref)
    if (named === undefined) return refuse(path, `'${ref.slice(0, 100)}' is not read`)
    const found = textsOf(named, path, depth + 1)
    texts.set(ref, found)
    return found
  }

  function textsOfType(type: string, one: Schema, path: string, depth: number): string[] {
    switch (type) {
      case 'null':
        return ['null']
      case 'boolean':
        return ['true', 'false']
      case 'integer':
        return integers(one, path)
      case 'object':
        return objects(one, path, depth)
      case 'array':
        return arrays(one, path, depth)
      default:
        return refuse(path, `a ${type.slice(0, 40)} without 'enum' has no end of values`)
    }
  }

  function integers(one: Schema, path: string): string[] {
    const bound = (key: string, step: number) => {
      const value = one[key] ?? null
      if (value !== null && typeof value !== 'number') return refuse(path, `'${key}' is no number`)
      if (isRounded(value)) return refuse(path, `${value} is beyond the exact integers`)
      return value === null ? null : Math[step > 0 ? 'ceil' : 'floor'](value)
    }
    const above = bound('exclusiveMinimum', -1)
    const below = bound('exclusiveMaximum', 1)
    const least = Math.max(bound('minimum', 1) ?? -Infinity, above === null ? -Infinity : above + 1)
    const most = Math.min(bound('maximum', -1) ?? Infinity, below === null ? Infinity : below - 1)
    const count = most - least + 1
    if (!Number.isFinite(count)) return refuse(path, "an integer needs 'minimum' and 'maximum'")
    if (count > MOST_TEXTS) return refuse(path, `more than ${MOST_TEXTS} texts`)
    return Array.from({ length: Math.max(0, count) }, (_, i) => String(least + i))
  }

  function objects(one: Schema, path: string, depth: number): string[] {
    const properties = Object.entries((one.properties ?? {}) as Schema)
    const required = new Set([one.required ?? []].flat().map(String))
    const described = new Set(properties.map(([name]) => name))
    for (const name of required)
      if (!described.has(name)) return refuse(path, `'${name}' is required and not described`)
    let heads = ['']
    for (const [name, inner] of properties) {
      const key = JSON.stringify(name)
      const members = textsOf(inner, `${path}/${name}`, depth + 1).map((text) => `${key}:${text}`)
      const added = paired(heads, members, path)
      heads = required.has(name) ? added : joined([heads, added], (texts) => texts, path)
    }
    return heads.map((head) => `{${head}}`)
  }

  function arrays(one: Schema, path: string, depth: number): string[] {
    const { minItems = 0, maxItems } = one
    if (typeof maxItems !== 'number' || typeof minItems !== 'number')
      return refuse(path, "an array needs 'maxItems'")
    if (minItems > MOST_TEXTS) return refuse(path, `more than ${MOST_TEXTS} items`)
    if (maxItems < minItems) return []
    const items = textsOf(one.items, `${path}/items`, depth + 1)
    let all: string[] = []
    let lists = ['']
    for (let length = 0; length <= maxItems; length++) {
      if (length > 0) lists = paired(lists, items, path)
      if (length >= minItems) all = joined([all, lists.map((list) => `[${list}]`)], (texts) => texts, path)
      if (lists.length === 0) break
    }
    return all
  }

  /** Returns the texts of all parts. They are counted while they are made: a short schema may have more than fit into memory. */
  function joined<T>(
    parts: readonly T[],
    textsOfPart: (part: T, index: number) => readonly string[],
    path: string,
  ): string[] {
    const all: string[] = []
    let characters = 0
    for (const [index, part] of parts.entries())
      for (const text of textsOfPart(part, index)) {
        characters += text.length
        if (all.push(text) > MOST_TEXTS) return refuse(path, `more than ${MOST_TEXTS} texts`)
        if (characters > MOST_CHARACTERS)
          return refuse(path, `texts of more than ${MOST_CHARACTERS} characters`)
      }
    return all
  }

  /** Returns each head followed by each member. */
  function paired(heads: readonly string[], members: readonly string[], path: string): string[] {
    const behind = (head: string) => members.map((member) => (head === '' ? member : `${head},${member}`))
    return joined(heads, behind, path)
  }

  const all = [...new Set(textsOf(schema, '', 0))]
  return all.length === 0 ? refuse('', 'it allows nothing') : all
}
