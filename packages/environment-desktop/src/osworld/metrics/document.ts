/** Metrics over text documents. */
import { readDocument } from '../document.ts'
import { readOr } from '../read-or.ts'
import { equal, type Metric, readRight, score } from './values.ts'

export const compareDocxFiles: Metric = (
  result,
  expected,
  { ignore_blanks: blanks = true, ignore_case: letters, ignore_order: anyOrder, delete_empty_lines: noEmpty },
) => {
  const [given, wanted] = [readOr(result, readDocument), readRight(expected, readDocument)].map(
    (document) => {
      if (!document) return null
      const plain = document.paragraphs
        .map((text) => (letters === true ? text.toLowerCase() : text))
        .filter((text) => noEmpty !== true || text.trim() !== '')
      const inOrder = anyOrder === true ? [...plain].sort() : plain
      return blanks === true ? [inOrder.join('\n').replace(/\s+/g, ' ').trim()] : inOrder
    },
  )
  return score(given !== null && equal(given, wanted))
}

export const compareDocxTables: Metric = (result, expected) => {
  const [given, wanted] = [readOr(result, readDocument), readRight(expected, readDocument)].map((document) =>
    document?.tables.map((rows) => rows.map((cells) => cells.map((text) => text.trim()))),
  )
  return score(given !== undefined && equal(given, wanted))
}
