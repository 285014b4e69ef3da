/** The metric `compare_table`: a workbook by rules, of which those over values, names, single cells and frozen panes are known. */
import type { Found } from '../getters.ts'
import { placeOf, readWorkbook, type Sheet } from '../spreadsheet.ts'
import { equal, fitsRule, type Metric, rulesIn, score, wrongRules } from './values.ts'

type Rule = Readonly<Record<string, unknown>>
type Books = { readonly result: readonly Sheet[]; readonly expected: readonly Sheet[] }

/** Digits behind the point to which numbers are compared. */
const PRECISION = 4

const RULES: Readonly<Record<string, (rule: Rule, books: Books) => boolean>> = {
  sheet_name: (_, { result, expected }) => equal(names(result), names(expected)),
  sheet_data: sameValues,
  sheet_print: sameValues,
  freeze: (rule, books) =>
    sheetAt(rule.sheet_idx0, books)?.frozen === sheetAt(rule.sheet_idx1, books)?.frozen,
  check_cell(rule, books) {
    const sheet = sheetAt(rule.sheet_idx, books)
    const { coordinate, props } = rule
    if (typeof coordinate !== 'string' || typeof props !== 'object' || props === null)
      throw wrongRules('check_cell needs coordinate and props')
    return Object.entries(props).every(([name, wanted]) => {
      if (name !== 'value') throw wrongRules(`check_cell knows no property '${name}'`)
      return sheet !== undefined && fitsRule(sheet.values.get(coordinate) ?? null, wanted as Rule)
    })
  },
}

/** Names of rules of a task that are not known here. */
export function unknownTableRules(options: Readonly<Record<string, unknown>>): readonly string[] {
  const { rules } = options
  if (!Array.isArray(rules)) return ['compare_table without rules']
  return rules.flatMap(({ type, props }: Rule) => {
    if (!Object.hasOwn(RULES, String(type))) return [`compare_table.${type}`]
    const others = type === 'check_cell' ? Object.keys(props ?? {}).filter((name) => name !== 'value') : []
    return others.map((name) => `compare_table.check_cell.${name}`)
  })
}

export const compareTable: Metric = (result, expected, options) => {
  if (!(result instanceof Uint8Array)) return 0
  const { rules } = rulesIn(options as Found)
  if (!Array.isArray(rules)) throw wrongRules('compare_table has no rules')
  const books: Books = {
    result: readWorkbook(result),
    expected: expected instanceof Uint8Array ? readWorkbook(expected) : [],
  }
  return score(
    rules.every((rule: Rule) => {
      if (!Object.hasOwn(RULES, String(rule.type)))
        throw wrongRules(`compare_table knows no rule '${rule.type}'`)
      return RULES[String(rule.type)](rule, books)
    }),
  )
}

function sameValues(rule: Rule, books: Books): boolean {
  const [one, other] = [sheetAt(rule.sheet_idx0, books), sheetAt(rule.sheet_idx1, books)]
  return one !== undefined && other !== undefined && equal(table(one), table(other))
}

/** Values in rows, empty cells at the ends left out, numbers rounded. */
function table({ values }: Sheet): unknown {
  const cells = [...values].flatMap(([address, value]) => {
    const place = placeOf(address)
    const plain = typeof value === 'number' ? Number(value.toFixed(PRECISION)) : value
    return place && plain !== '' ? [[place.row, place.column, plain] as const] : []
  })
  return cells.sort(([row, column], [below, after]) => row - below || column - after)
}

/** `EI0`: the expected workbook's first sheet; `RI0`: the result's; a number is of the result (idx0) as well; `EN…`, `RN…` by name. */
function sheetAt(index: unknown, { result, expected }: Books): Sheet | undefined {
  if (typeof index === 'number') return result[index]
  const found = /^([RE])([IN])(.*)$/s.exec(String(index))
  if (!found) throw wrongRules(`there is no sheet '${index}'`)
  const book = found[1] === 'R' ? result : expected
  return found[2] === 'I' ? book[Number(found[3])] : book.find(({ name }) => name === found[3])
}

const names = (book: readonly Sheet[]) => book.map(({ name }) => name)
