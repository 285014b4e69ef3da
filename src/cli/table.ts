/** Rows as aligned columns, for a terminal. */
import { inLine } from '../command-line.ts'

export type Cell = string | number
type Cells = readonly (readonly string[])[]

/**
 * Returns rows below the names of their columns, and whether a cell was cut.
 *
 * @param width columns that a line may take. Long cells are cut for it if that is possible
 */
export function table(
  head: readonly Cell[],
  rows: readonly (readonly Cell[])[],
  width = Number.POSITIVE_INFINITY,
): { readonly text: string; readonly cut: boolean } {
  const cells = [head, ...rows].map((row) => row.map((cell) => inLine(String(cell))))
  const fitted = fit(cells, width)
  return { text: aligned(fitted), cut: fitted !== cells }
}

const GAP = '  '
const LEAST_COLUMNS = 12

const widthsOf = (cells: Cells) => cells[0].map((_, at) => Math.max(...cells.map((row) => row[at].length)))

function aligned(cells: Cells): string {
  const widths = widthsOf(cells)
  const line = (row: readonly string[]) => row.map((cell, at) => cell.padEnd(widths[at])).join(GAP)
  return cells.map((row) => line(row).trimEnd()).join('\n')
}

/** Cuts the longest columns until a row fits. Returns the same cells if they fit, or if no column can be cut. */
function fit(cells: Cells, width: number): Cells {
  const widths = widthsOf(cells)
  const over = widths.reduce((sum, column) => sum + column + GAP.length, -GAP.length) - width
  const widest = widths.indexOf(Math.max(...widths))
  const most = Math.max(LEAST_COLUMNS, widths[widest] - over)
  if (over <= 0 || most >= widths[widest]) return cells
  const cut = (cell: string) => (cell.length > most ? `${cell.slice(0, most - 1)}…` : cell)
  const shorter = cells.map((row) => row.map((cell, at) => (at === widest ? cut(cell) : cell)))
  return fit(shorter, width)
}
