/** Metrics over text documents. */
import { RlError } from '../../../../errors.ts'
import { readDocument } from '../document.ts'
import type { Found } from '../getters.ts'
import { equal, type Metric, score } from './values.ts'

/** What cannot be read as such a file is none of the agent's success. */
function readOr<Read>(found: Found, read: (bytes: Uint8Array) => Read): Read | null {
  if (!(found instanceof Uint8Array)) return null
  try {
    return read(found)
  } catch (error) {
    if (error instanceof RlError && (error.code === 'desktop.document' || error.code === 'desktop.xml'))
      return null
    throw error
  }
}

export const compareDocxFiles: Metric = (
  result,
  expected,
  { ignore_blanks: blanks = true, ignore_case: letters, ignore_order: anyOrder, delete_empty_lines: noEmpty },
) => {
  const [given, wanted] = [result, expected].map((found) => {
    const document = readOr(found, readDocument)
    if (!document) return null
    const plain = document.paragraphs
      .map((text) => (letters === true ? text.toLowerCase() : text))
      .filter((text) => noEmpty !== true || text.trim() !== '')
    const inOrder = anyOrder === true ? [...plain].sort() : plain
    return blanks === true ? [inOrder.join('\n').replace(/\s+/g, ' ').trim()] : inOrder
  })
  return score(given !== null && equal(given, wanted))
}

export const compareDocxTables: Metric = (result, expected) => {
  const [given, wanted] = [result, expected].map((found) => readOr(found, readDocument)?.tables ?? null)
  return score(given !== null && equal(given, wanted))
}
