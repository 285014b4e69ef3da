/** Lists all JSON texts that a schema allows, if they are few beside their open places. A model then writes one of them under a trie. */
import { isRounded } from '../../../exact-json.ts'
import { apiError } from '../../../openai-api/errors.ts'
import { definition, isObject, isOf, schemaValues } from '../../../schema-values.ts'
import { hasMark } from './open-texts.ts'
import { joined, type Refuse } from './text-lists.ts'
import { textsOfType } from './typed-texts.ts'

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
  string: ['maxLength'],
}

/** An `$id` inside a schema begins another schema, in which `#/$defs/NAME` has another meaning. */
export const isOtherRoot = (key: string, depth: number) => key === '$id' && depth > 0

/** Each of these keywords defines the values alone. Another keyword beside it would limit them further. */
const FORMS = ['$ref', 'const', 'enum', 'anyOf', 'oneOf']
const LIMITS = [...READ.integer, ...READ.object, ...READ.array, ...READ.string]

/**
 * Returns compact texts, with properties in the order of the schema. A string or a number without end of values stands in a text as an
 * open place (open-texts.ts).
 * @param param field with the schema, for messages
 * @throws ApiError 400 with the place that cannot be enumerated, or if there are too many texts
 */
export function jsonTexts(schema: unknown, param: string): string[] {
  const refuse: Refuse = (path, why) => {
    throw apiError(
      400,
      `'${param}': ${path || 'the schema'}: ${why}; docs/agents.md tells what a schema may hold`,
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
    const read = [...READ.any, ...LIMITS]
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
      if (form === 'enum')
        return joined(parts.filter(listed), (value) => [written(value, path)], path, refuse)
      if (one.type !== undefined) return refuse(path, `'type' beside '${form}' is not read`)
      const all = joined(parts, (part, i) => textsOf(part, `${path}/${i}`, depth + 1), path, refuse)
      return form === 'anyOf' ? all : all.filter((text) => !isShared(text, parts, path))
    }
    if (types.length === 0) return refuse(path, 'it has no type')
    const inner = (part: unknown, name: string) => textsOf(part, `${path}/${name}`, depth + 1)
    return joined(types, (type) => textsOfType(String(type), one, { path, refuse, inner }), path, refuse)
  }

  /** Returns the JSON of a value. A number that was rounded while the schema was read would be another value, so it is refused. */
  function written(value: unknown, path: string): string {
    const text = JSON.stringify(value, (_, each: unknown) =>
      isRounded(each) ? refuse(path, `${each} is beyond the exact integers`) : each,
    )
    return hasMark(text) ? refuse(path, 'it has a private character (U+E000)') : text
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

  const all = [...new Set(textsOf(schema, '', 0))]
  return all.length === 0 ? refuse('', 'it allows nothing') : all
}
