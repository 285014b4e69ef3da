/** Each projection of the run as a table, and as curves if it has figures over iterations. */
import type { ComponentChildren } from 'preact'
import { count, short, visible } from '../../logic/format.ts'
import {
  choicesOf,
  curvesOf,
  figuresOf,
  type ProjectionsPage,
  type ProjectionTable,
  type TableName,
  type TableValue,
  timeOf,
} from '../../logic/projection-table.ts'
import { pathOf } from '../../logic/route.ts'
import { csvOf } from '../../logic/scale.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { has } from '../live.ts'
import { Chart, keep } from '../parts/chart.tsx'
import { Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { ask, query } from '../place.ts'

/** Rows on the page. CSV has all that were read. */
const MOST_SHOWN = 200

export function Projections({ head }: ScreenProps) {
  const answer = useAnswer<ProjectionsPage>(
    () => ofRun('/projections'),
    (tick) => has(tick, 'IterationCompleted'),
  )
  return (
    <>
      <h1>Projections</h1>
      <Shown answer={answer.value}>
        {(data) => (
          <div class="beside">
            <Names data={data} run={head?.run ?? ''} />
            <OneTable key={chosenOf(data)} table={chosenOf(data)} run={head?.run ?? ''} />
          </div>
        )}
      </Shown>
    </>
  )
}

/** A user's own table comes first. */
function chosenOf({ tables }: ProjectionsPage): string {
  const own = tables.find(({ projection }) => projection === null)
  return query.value.get('table') ?? own?.table ?? tables[0]?.table ?? ''
}

function Names({ data, run }: { data: ProjectionsPage; run: string }) {
  const own = data.tables.filter(({ projection }) => projection === null)
  const ours = data.tables.filter(({ projection }) => projection !== null)
  return (
    <nav class="names" aria-label="tables">
      {data.modules.length > 0 && (
        <>
          <h2>Your own</h2>
          <ul class="plain">
            {data.projections
              .filter(({ isOwn }) => isOwn)
              .map(({ name, version, position }) => (
                <li key={name} class="muted">
                  <Said text={name} /> version {version}, up to {count(position)}
                </li>
              ))}
          </ul>
          {own.length === 0 && <p class="muted">No table of yours is there yet. The head folds them.</p>}
        </>
      )}
      <List tables={own} run={run} chosen={chosenOf(data)} />
      <h2>Ours</h2>
      <List tables={ours} run={run} chosen={chosenOf(data)} />
    </nav>
  )
}

type ListProps = { readonly tables: readonly TableName[]; readonly run: string; readonly chosen: string }

function List({ tables, run, chosen }: ListProps) {
  return (
    <ul class="plain">
      {tables.map(({ table, rows }) => (
        <li key={table} data-row>
          <a
            href={`${pathOf(run, 'projections')}?table=${encodeURIComponent(table)}`}
            aria-current={chosen === table ? 'true' : undefined}
          >
            {visible(table)}
          </a>{' '}
          <span class="muted">{count(rows)}</span>
        </li>
      ))}
    </ul>
  )
}

function OneTable({ table, run }: { table: string; run: string }) {
  const answer = useAnswer<ProjectionTable>(
    () => ofRun(`/projections/${encodeURIComponent(table)}`),
    (tick) => has(tick, 'IterationCompleted'),
  )
  return (
    <section class="grows">
      <Shown answer={answer.value}>
        {(data) => (
          <>
            <h2>{visible(data.table)}</h2>
            {!data.isOfMoment && (
              <p class="alarm">
                No column tells when a row was made. These are the rows of the end of the log.
              </p>
            )}
            <Curves data={data} run={run} />
            <Rows data={data} />
          </>
        )}
      </Shown>
    </section>
  )
}

function Curves({ data, run }: { data: ProjectionTable; run: string }) {
  const [time, figures] = [timeOf(data), figuresOf(data)]
  if (time === null || figures.length === 0) return null
  const asked = query.value.get('figure')
  const figure = asked !== null && figures.includes(asked) ? asked : figures[0]
  const choices = choicesOf(data, (column) => query.value.get(`key.${column}`))
  const curves = curvesOf(data, figure, choices)
  return (
    <>
      <p class="filters">
        <Choose name="figure" values={figures} chosen={figure} onChoose={(value) => ask({ figure: value })} />
        {choices.map(({ column, values, chosen }) => (
          <Choose
            key={column}
            name={column}
            values={['each', ...values]}
            chosen={chosen ?? 'each'}
            onChoose={(value) => ask({ [`key.${column}`]: value === 'each' ? null : value })}
          />
        ))}
      </p>
      <Chart
        title={visible(`${data.table}: ${figure}`)}
        x={time}
        series={curves.map(({ name, points }, i) => ({
          name: visible(name),
          colour: (i % 7) + 1,
          points: points.map(({ x, y, n }) => ({
            x,
            y,
            note: n > 1 ? `mean of ${n} rows` : undefined,
            href: time === 'iteration' ? pathOf(run, 'i', x) : undefined,
          })),
        }))}
      />
    </>
  )
}

type ChooseProps = {
  readonly name: string
  readonly values: readonly string[]
  readonly chosen: string
  readonly onChoose: (value: string) => void
}

function Choose({ name, values, chosen, onChoose }: ChooseProps) {
  return (
    <label>
      {visible(name)}{' '}
      <select value={chosen} onChange={(event) => onChoose(event.currentTarget.value)}>
        {values.map((value) => (
          <option key={value} value={value}>
            {visible(value)}
          </option>
        ))}
      </select>
    </label>
  )
}

function Rows({ data: { table, columns, rows, total } }: { data: ProjectionTable }) {
  const shown = rows.slice(-MOST_SHOWN)
  return (
    <>
      <p>
        {shown.length < total
          ? `the last ${count(shown.length)} of ${count(total)} rows`
          : `${count(total)} row${total === 1 ? '' : 's'}`}{' '}
        <button
          type="button"
          class="quiet"
          onClick={() => keep(`${table}.csv`, 'text/csv', csvOf(columns, rows))}
        >
          CSV{rows.length < total ? ` of the last ${count(rows.length)}` : ''}
        </button>
      </p>
      <div class="wide">
        <Table names={columns}>
          {shown.map((row, i) => (
            <tr key={i} data-row>
              {row.map((value, at) => (
                <td key={columns[at]}>
                  <Value value={value} />
                </td>
              ))}
            </tr>
          ))}
        </Table>
      </div>
    </>
  )
}

function Value({ value }: { value: TableValue }): ComponentChildren {
  if (value === null) return <span class="muted">–</span>
  return typeof value === 'number' ? short(value) : <Said text={value} />
}
