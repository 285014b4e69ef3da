/** All runs, newest first. */
import type { RunRow } from '../../logic/answers.ts'
import { pathOfComparison, toggled } from '../../logic/compare-page.ts'
import { count, day, share } from '../../logic/format.ts'
import { pathOf } from '../../logic/route.ts'
import { useAnswer } from '../answers.ts'
import { GLYPHS } from '../glyphs.ts'
import { Sparkline } from '../parts/chart.tsx'
import { Empty, Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { ask, query } from '../place.ts'
import { Ablations } from './ablation.tsx'

/** The runs that are chosen for a comparison, in order. */
function chosenRuns(): readonly string[] {
  return (query.value.get('compare') ?? '').split(',').filter(Boolean)
}

export function Runs() {
  const rows = useAnswer<readonly RunRow[]>(() => '/api/runs')
  return (
    <section>
      <h1>Runs</h1>
      <Comparison />
      <Shown answer={rows.value}>
        {(runs) =>
          runs.length === 0 ? (
            <Empty>
              There is no run yet. <code>npm start -- --role head</code> begins one.
            </Empty>
          ) : (
            <Table
              names={[
                'run',
                'state',
                'setting',
                'λ',
                'seed',
                'iteration',
                'success',
                'accepted',
                'stalls',
                'events',
                'began',
              ]}
            >
              {runs.map((row) => (
                <Row key={row.run} row={row} />
              ))}
            </Table>
          )
        }
      </Shown>
      <Ablations />
    </section>
  )
}

/** Two to four runs are compared: the first with each other one. */
function Comparison() {
  const chosen = chosenRuns()
  const path = pathOfComparison(chosen)
  if (chosen.length === 0) return null
  return (
    <p>
      {path === null ? (
        `${chosen[0]} is chosen. Choose one more to compare them.`
      ) : (
        <a href={path} data-compare>
          compare {chosen.join(', ')}
        </a>
      )}{' '}
      <button type="button" onClick={() => ask({ compare: null }, 'replace')}>
        none
      </button>
    </p>
  )
}

function Row({ row }: { row: RunRow }) {
  return (
    <tr data-row>
      <th scope="row">
        <a href={pathOf(row.run)}>{row.run}</a>{' '}
        <input
          type="checkbox"
          aria-label={`compare ${row.run}`}
          checked={chosenRuns().includes(row.run)}
          onChange={() => ask({ compare: toggled(chosenRuns(), row.run).join(',') }, 'replace')}
        />
        {row.parent !== null && (
          <div class="muted">
            from {row.parent.run}@{count(row.parent.position)}
          </div>
        )}
      </th>
      <td>
        <span aria-hidden="true">{GLYPHS[row.state]} </span>
        {row.state}
        {row.reason !== null && (
          <div class="muted">
            <Said text={row.reason.slice(0, 120)} />
          </div>
        )}
      </td>
      <td>{row.environment ?? '–'}</td>
      <td>{row.lambda ?? '–'}</td>
      <td>{row.seed ?? '–'}</td>
      <td>
        {row.iteration ?? '–'}/{row.iterations ?? '–'}
      </td>
      <td>
        <Sparkline values={row.curve} label={`${row.curveOf ?? 'success'} by iteration`} />{' '}
        {row.curve.length > 0 &&
          `${share(row.curve[0])} → ${share(row.curve[row.curve.length - 1])} ${row.curveOf}`}
      </td>
      <td>{count(row.accepted)}</td>
      <td>{count(row.stalls)}</td>
      <td>{count(row.events)}</td>
      <td class="when">{day(row.startedAt)}</td>
    </tr>
  )
}
