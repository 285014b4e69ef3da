/**
 * The metric `compare_table`: a workbook by rules. Rules over values, shown texts, names, single cells and
 * frozen panes are known.
 */
import { ownValue } from 'rlanything/kit'
import type { Found } from '../getters.ts'
import { readOr } from '../read-or.ts'
import { placeOf, readWorkbook, type Sheet } from '../spreadsheet.ts'
import {
  type Beside,
  equal,
  fitsRule,
  isMethod,
  type Metric,
  readRight,
  rulesIn,
  score,
  wrongRules,
} from './values.ts'

type Rule = Readonly<Record<string, unknown>>
type Books = {
  readonly result: readonly Sheet[]
  readonly expected: readonly Sheet[]
  readonly beside: Beside
}

/** Default number of digits after the point in comparisons of numbers. */
const PRECISION = 4

const RULES: Readonly<Record<string, (rule: Rule, books: Books) => boolean>> = {
  sheet_name: (_, { result, expected }) => equal(names(result), names(expected)),
  sheet_data: sameValues,
  sheet_print: samePrints,
  freeze(rule, books) {
    const one = sheetAt(rule.sheet_idx0, books)
    return one !== undefined && one.frozen === sheetAt(rule.sheet_idx1, books)?.frozen
  },
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

/** Returns the unknown rules of a task by name. */
export function unknownTableRules(options: Readonly<Record<string, unknown>>): readonly string[] {
  const { rules } = options
  if (!Array.isArray(rules)) return ['compare_table without rules']
  return rules.flatMap((rule: Rule | null) => {
    const { type, props } = rule ?? {}
    if (!Object.hasOwn(RULES, String(type))) return [`compare_table.${type}`]
    if (type !== 'check_cell') return []
    return Object.entries(props ?? {})
      .filter(([name, rule]) => name !== 'value' || !isMethod(rule?.method))
      .map(([name, rule]) => `compare_table.check_cell.${name === 'value' ? rule?.method : name}`)
  })
}

export const compareTable: Metric = (result, expected, options, beside = () => null) => {
  const { rules } = rulesIn(options as Found)
  if (!Array.isArray(rules)) throw wrongRules('compare_table has no rules')
  const given = readOr(result, readWorkbook)
  const books: Books = { result: given ?? [], expected: readRight(expected, readWorkbook) ?? [], beside }
  if (given === null) return 0
  return score(
    rules.every((rule: Rule) => {
      const type = String(rule.type)
      const check = ownValue(RULES, type)
      if (check === undefined) throw wrongRules(`compare_table knows no rule '${type}'`)
      return check(rule, books)
    }),
  )
}

function sameValues(rule: Rule, books: Books): boolean {
  const { sheet_idx0: index, sheet_idx1: otherIndex, precision = PRECISION } = rule
  if (typeof precision !== 'number' || !(precision >= 0 && precision <= 15))
    throw wrongRules(`precision is ${precision}`)
  const [one, other] = [sheetAt(index, books), sheetAt(otherIndex, books)]
  return one !== undefined && other !== undefined && equal(table(one, precision), table(other, precision))
}

/** Values in rows, empty cells at the ends left out, numbers rounded. */
function table({ values }: Sheet, precision: number): unknown {
  const cells = [...values].flatMap(([address, value]) => {
    const place = placeOf(address)
    const plain = typeof value === 'number' ? Number(value.toFixed(precision)) : value
    return place && plain !== '' ? [[place.row, place.column, plain] as const] : []
  })
  return cells.sort(([row, column], [below, after]) => row - below || column - after)
}

/** Compares shown texts. They are in the files that the task has exported, one a sheet. */
function samePrints(rule: Rule, books: Books): boolean {
  const [one, other] = [rule.sheet_idx0, rule.sheet_idx1].map((index) => {
    const { of, name } = placeIn(index, books)
    const text = books.beside(of, `-${name}.csv`)
    if (text !== null) return printed(rule.ignore_case === true ? text.toLowerCase() : text)
    if (of === 'expected') throw wrongRules(`sheet_print: the expected sheet ${name} is not exported`)
    return null
  })
  return one !== null && other !== null && equal(one, other)
}

/** Returns lines without blanks at their ends, and without empty lines at the end. */
function printed(text: string): readonly string[] {
  const lines = text.split(/\r?\n/).map((line) => line.trim())
  return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1)
}

function sheetAt(index: unknown, books: Books): Sheet | undefined {
  const { of, name } = placeIn(index, books)
  return books[of].find((sheet) => sheet.name === name)
}

/**
 * Reads a sheet's index. `EI0` is the expected workbook's first sheet, `RI0` the result's. A number means the
 * result. `EN…` and `RN…` go by name.
 */
function placeIn(index: unknown, books: Books) {
  const found = /^([RE])([IN])(.*)$/s.exec(typeof index === 'number' ? `RI${index}` : String(index))
  if (!found) throw wrongRules(`there is no sheet '${index}'`)
  const of = found[1] === 'R' ? 'result' : 'expected'
  return { of, name: found[2] === 'I' ? books[of][Number(found[3])]?.name : found[3] } as const
}

const names = (book: readonly Sheet[]) => book.map(({ name }) => name)
