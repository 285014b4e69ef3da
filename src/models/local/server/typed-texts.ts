/** Lists the JSON texts of a schema that names a type: plain values, and objects and arrays of inner texts. */

import type { Schema } from '../../../schema-values.ts'
import { openInteger, openNumber, openText } from './open-texts.ts'
import { integers, joined, MOST_TEXTS, paired, type Refuse } from './text-lists.ts'

/** A place in a schema. */
type Place = {
  /** For messages. */
  readonly path: string
  readonly refuse: Refuse
  /** Returns the texts of a schema below this place. */
  readonly inner: (schema: unknown, name: string) => string[]
}

/** Most items of an array whose schema has no `maxItems`. It has fewer if its items have many texts. */
const USUAL_ITEMS = 8
/** Texts of such an array. The rest of the schema needs room too. */
const USUAL_TEXTS = 1_024

/** Returns all texts of one type, within the limits that the schema at the place names. */
export function textsOfType(type: string, one: Schema, place: Place): string[] {
  const { path, refuse } = place
  switch (type) {
    case 'null':
      return ['null']
    case 'boolean':
      return ['true', 'false']
    case 'integer': {
      const open = openInteger(one)
      return open === null ? integers(one, path, refuse) : [openText(open)]
    }
    case 'number': {
      const open = openNumber(one)
      return open === null
        ? refuse(path, 'a number with bounds other than 0 has no end of values')
        : [openText(open)]
    }
    case 'string': {
      const { maxLength } = one
      if (maxLength !== undefined && !(Number.isInteger(maxLength) && Number(maxLength) > 0))
        return refuse(path, "'maxLength' is no number above 0")
      return [openText('string', maxLength as number | undefined)]
    }
    case 'object':
      return objects(one, place)
    case 'array':
      return arrays(one, place)
    default:
      return refuse(path, `a ${type.slice(0, 40)} without 'enum' has no end of values`)
  }
}

function objects(one: Schema, { path, refuse, inner }: Place): string[] {
  const properties = Object.entries((one.properties ?? {}) as Schema)
  const required = new Set([one.required ?? []].flat().map(String))
  const described = new Set(properties.map(([name]) => name))
  for (const name of required)
    if (!described.has(name)) return refuse(path, `'${name}' is required and not described`)
  let heads = ['']
  for (const [name, member] of properties) {
    const key = JSON.stringify(name)
    const members = inner(member, name).map((text) => `${key}:${text}`)
    const added = paired(heads, members, path, refuse)
    heads = required.has(name) ? added : joined([heads, added], (texts) => texts, path, refuse)
  }
  return heads.map((head) => `{${head}}`)
}

function arrays(one: Schema, { path, refuse, inner }: Place): string[] {
  const { minItems = 0, maxItems = USUAL_ITEMS } = one
  if (typeof maxItems !== 'number' || typeof minItems !== 'number')
    return refuse(path, "'minItems' or 'maxItems' is no number")
  if (minItems > MOST_TEXTS) return refuse(path, `more than ${MOST_TEXTS} items`)
  if (maxItems < minItems) return []
  const items = inner(one.items, 'items')
  let all: string[] = []
  let lists = ['']
  for (let length = 0; length <= maxItems; length++) {
    const isFull = all.length + lists.length * items.length > USUAL_TEXTS
    if (one.maxItems === undefined && isFull && length > Math.max(1, minItems)) break
    if (length > 0) lists = paired(lists, items, path, refuse)
    if (length >= minItems)
      all = joined([all, lists.map((list) => `[${list}]`)], (texts) => texts, path, refuse)
    if (lists.length === 0) break
  }
  return all
}
