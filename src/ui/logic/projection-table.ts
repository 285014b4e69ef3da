/** A table of a projection, and the curves that can be drawn of it. */

export type TableValue = string | number | null

export type TableName = {
  readonly table: string
  /** Projection that it belongs to. Null if only its own code could tell. */
  readonly projection: string | null
  readonly rows: number
}

export type ProjectionsPage = {
  readonly tables: readonly TableName[]
  /** Projections of the run with the position up to which they are folded. */
  readonly projections: readonly {
    readonly name: string
    readonly version: number
    readonly position: number
    readonly isOwn: boolean
  }[]
  /** Modules of the run's config with projections of a user. */
  readonly modules: readonly string[]
}

export type ProjectionTable = {
  readonly table: string
  readonly columns: readonly string[]
  /** Columns of the primary key. */
  readonly keys: readonly string[]
  /** The last rows, in order of their keys. */
  readonly rows: readonly (readonly TableValue[])[]
  readonly total: number
  /** False if the shown moment is past, but the table has no column that tells when a row was made. */
  readonly isOfMoment: boolean
}

/** Columns that are an axis of time, best first. */
const TIMES = ['iteration', 'version'] as const
/** Most curves of a chart, and most values that can be chosen of a key. */
const MOST_CURVES = 7
const MOST_CHOICES = 60

/** The column along which rows follow each other, or null. */
export function timeOf({ columns }: Pick<ProjectionTable, 'columns'>): string | null {
  return TIMES.find((name) => columns.includes(name)) ?? null
}

/** Columns with numbers that are no keys. */
export function figuresOf({ columns, keys, rows }: ProjectionTable): readonly string[] {
  return columns.filter(
    (name, at) =>
      !keys.includes(name) &&
      rows.some((row) => typeof row[at] === 'number') &&
      rows.every((row) => typeof row[at] !== 'string'),
  )
}

export type Choice = {
  readonly column: string
  readonly values: readonly string[]
  /** The chosen value. Null if rows of all values count. */
  readonly chosen: string | null
}

/**
 * Returns the keys by which rows can be chosen. A key with too many values for a chart begins at its first one. A key with
 * far too many, e.g. the name of a task, is none.
 */
export function choicesOf(
  table: ProjectionTable,
  asked: (column: string) => string | null,
): readonly Choice[] {
  return table.keys.flatMap((column): Choice[] => {
    if (column === timeOf(table)) return []
    const at = table.columns.indexOf(column)
    const values = [...new Set(table.rows.map((row) => String(row[at])))].sort()
    if (values.length < 2 || values.length > MOST_CHOICES) return []
    const wanted = asked(column)
    const known = wanted !== null && values.includes(wanted) ? wanted : null
    return [{ column, values, chosen: known ?? (values.length > MOST_CURVES ? (values[0] ?? null) : null) }]
  })
}

export type TableCurve = {
  readonly name: string
  readonly points: readonly { readonly x: number; readonly y: number; readonly n: number }[]
}

/**
 * Returns the curves of a figure over time: one for each value of the first key that is not chosen. Rows of one point are
 * averaged.
 */
export function curvesOf(
  table: ProjectionTable,
  figure: string,
  choices: readonly Choice[],
): readonly TableCurve[] {
  const time = timeOf(table)
  if (time === null) return []
  const at = (name: string) => table.columns.indexOf(name)
  const by = choices.find(({ chosen }) => chosen === null)
  const curves = new Map<string, Map<number, { sum: number; n: number }>>()
  for (const row of table.rows) {
    const [x, y] = [row[at(time)], row[at(figure)]]
    if (typeof x !== 'number' || typeof y !== 'number') continue
    if (choices.some(({ column, chosen }) => chosen !== null && String(row[at(column)]) !== chosen)) continue
    const name = by === undefined ? figure : String(row[at(by.column)])
    const points = curves.get(name) ?? new Map<number, { sum: number; n: number }>()
    const point = points.get(x) ?? { sum: 0, n: 0 }
    points.set(x, { sum: point.sum + y, n: point.n + 1 })
    curves.set(name, points)
  }
  return [...curves].slice(0, MOST_CURVES).map(([name, points]) => ({
    name,
    points: [...points].sort(([a], [b]) => a - b).map(([x, { sum, n }]) => ({ x, y: sum / n, n })),
  }))
}
