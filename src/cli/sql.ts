import { once } from 'node:events'
import { forTerminal, parseCommandLine } from '../command-line.ts'
import { RlError } from '../errors.ts'
import { startThread } from '../package.ts'
import { askRun, type SqlAnswer, type SqlCell } from '../replay/sql.ts'
import { SQL_TABLES, type SqlTable } from '../replay/sql-tables.ts'
import type { Command } from './command.ts'
import { numberFlag } from './model-flags.ts'
import { openRun, TRUST, TRUST_HELP } from './open-run.ts'
import { table } from './table.ts'

const FORMATS = ['table', 'csv', 'json'] as const
/** Most rows that a table for people has. */
const MOST_ROWS = 1_000
const MOST_SECONDS = 1_000_000

const TABLES = Object.entries<SqlTable>(SQL_TABLES)
  .map(([name, { summary, columns }]) => `  ${name}: ${summary}\n${wrapped(Object.keys(columns))}`)
  .join('\n')

export const command: Command = {
  summary: 'asks a run in SQL: iterations, trajectories, steps, judgements, tasks',
  help: `
rl sql RUN "select ..." [--format table|csv|json] [--timeout SECONDS]

Prints the rows of one statement of SQLite that only reads. The run may go on meanwhile. Times are milliseconds since 1970.

${TABLES}

  --format NAME       table: at most ${MOST_ROWS} rows, for people; csv; json: an object a line   (table)
                      csv has texts as they are: a spreadsheet may take one that begins with = for a formula
  --timeout SECONDS   ends a statement that takes longer                         (300)

${TRUST_HELP}.

rl sql RUN "select task, avg(success) from trajectories where purpose = 'train' group by task order by 2"
`,
  async run(argv) {
    const { values, positionals } = parseCommandLine(
      {
        options: {
          format: { type: 'string', default: 'table' },
          timeout: { type: 'string', default: '300' },
          ...TRUST,
        },
        allowPositionals: true,
      },
      argv,
    )
    const [run, statement, ...rest] = positionals
    const format = FORMATS.find((name) => name === values.format)
    if (run === undefined || statement === undefined || rest.length > 0 || !format)
      throw new RlError(`expected a run, a statement in quotes, and --format ${FORMATS.join('|')}`, {
        code: 'cli.usage',
        hint: 'rl sql --help',
      })
    const seconds = numberFlag('--timeout', values.timeout, 0.01, MOST_SECONDS)
    const log = await openRun(run, values)
    // SQLite does not stop for this thread. Another one ends the process.
    const limit = startThread(new URL('./sql-limit.ts', import.meta.url), { seconds })
    limit.unref()
    try {
      const answer = askRun(log, statement)
      try {
        if (format === 'table') printTable(answer)
        else await printRows(answer, format)
      } finally {
        answer.close()
      }
    } finally {
      log.close()
      await limit.terminate()
    }
    return 0
  },
}

function printTable({ columns, rows }: SqlAnswer): void {
  const shown: (string | number)[][] = []
  let more = false
  for (const row of rows) {
    more = shown.length === MOST_ROWS
    if (more) break
    shown.push(row.map((cell) => textOf(cell)))
  }
  process.stdout.write(`${table(columns, shown).text}\n`)
  if (more) process.stdout.write(`the first ${MOST_ROWS} rows; --format csv prints all\n`)
}

async function printRows({ columns, rows }: SqlAnswer, format: 'csv' | 'json'): Promise<void> {
  if (format === 'json') checkDifferent(columns)
  else await print(columns.map(quoted).join(','))
  for (const row of rows) {
    if (format === 'csv') await print(row.map((cell) => quoted(textOf(cell))).join(','))
    else
      await print(
        JSON.stringify(Object.fromEntries(columns.map((name, at) => [name, plainValue(row[at] ?? null)]))),
      )
  }
}

/** A terminal must not be steered by texts of a log. A file has them as they are. */
async function print(line: string): Promise<void> {
  const shown = process.stdout.isTTY ? forTerminal(line) : line
  if (!process.stdout.write(`${shown}\n`)) await once(process.stdout, 'drain')
}

/** An object has one value by each name. */
function checkDifferent(columns: readonly string[]): void {
  const twice = columns.find((name, at) => columns.indexOf(name) !== at)
  if (twice !== undefined)
    throw new RlError(`two columns have the name '${twice.slice(0, 100)}'`, {
      code: 'sql.columns',
      hint: 'rename one, e.g. steps.step as at, or use --format csv',
    })
}

function textOf(cell: SqlCell): string {
  return cell === null ? '' : String(plainValue(cell))
}

function plainValue(cell: SqlCell): string | number | null {
  if (Buffer.isBuffer(cell)) return cell.toString('hex')
  return typeof cell === 'bigint' ? String(cell) : cell
}

/** A field of RFC 4180. */
function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Names in lines of the help text. */
function wrapped(names: readonly string[]): string {
  const lines: string[] = []
  for (const name of names) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + name.length < 115) lines[lines.length - 1] = `${last}, ${name}`
    else lines.push(`    ${name}`)
  }
  return lines.join(',\n')
}
