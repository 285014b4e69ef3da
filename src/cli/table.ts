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

/** Returns the longest cell of each column. Rows may be shorter than the first. */
function widthsOf(cells: Cells): number[] {
  const [head = []] = cells
  return head.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)))
}

function aligned(cells: Cells): string {
  const widths = widthsOf(cells)
  const line = (row: readonly string[]) => row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(GAP)
  return cells.map((row) => line(row).trimEnd()).join('\n')
}

/** Cuts the longest columns until a row fits. Returns the same cells if they fit, or if no column can be cut. */
function fit(cells: Cells, width: number): Cells {
  const widths = widthsOf(cells)
  const over = widths.reduce((sum, column) => sum + column + GAP.length, -GAP.length) - width
  const longest = Math.max(...widths)
  const widest = widths.indexOf(longest)
  const most = Math.max(LEAST_COLUMNS, longest - over)
  if (over <= 0 || most >= longest) return cells
  const cut = (cell: string) => (cell.length > most ? `${cell.slice(0, most - 1)}…` : cell)
  const shorter = cells.map((row) => row.map((cell, at) => (at === widest ? cut(cell) : cell)))
  return fit(shorter, width)
}
