/** The judge: its verdicts against what is known of the steps, and those that were wrong. */
import { count, share, signed } from '../../logic/format.ts'
import { type JudgePage, MEASURES, type Measure, TRUTHS, VERDICTS } from '../../logic/judge-page.ts'
import { pathOf, pathOfRollout } from '../../logic/route.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { has } from '../live.ts'
import { Chart, type Series } from '../parts/chart.tsx'
import { CompareJudges } from '../parts/run-actions.tsx'
import { Empty, Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Walk } from '../parts/walk.tsx'
import { ask, query } from '../place.ts'

export function Judge({ head }: ScreenProps) {
  const asked = (name: string) => query.value.get(name)
  const answer = useAnswer<JudgePage>(
    () =>
      ofRun('/judge', { i: asked('i'), by: asked('by'), verdict: asked('verdict'), truth: asked('truth') }),
    (tick) => has(tick, 'StepScored', 'IterationCompleted'),
  )
  return (
    <section>
      <h1>Judge</h1>
      <Shown answer={answer.value}>{(data) => <Panels data={data} run={head?.run ?? ''} />}</Shown>
    </section>
  )
}

function Panels({ data, run }: { data: JudgePage; run: string }) {
  const of = (iteration: number | null) =>
    iteration === null ? null : `${pathOf(run, 'judge')}?i=${iteration}`
  const series = (name: 'process' | 'outcome', label: string, colour: number): Series => ({
    name: label,
    colour,
    points: data.curve.flatMap((point) => {
      const y = point[name]
      return y === null ? [] : [{ x: point.iteration, y, href: of(point.iteration) ?? undefined }]
    }),
  })
  return (
    <>
      <p>
        The judge calls each step good or bad. In iteration {data.iteration} version{' '}
        {data.rewardModelVersion ?? '–'} judged {count(data.steps)} steps. Choose a cell to see its steps.{' '}
        <CompareJudges run={run} newest={data.rewardModelVersion ?? 0} />
      </p>
      {data.isEstimate && (
        <p>
          The judge is the setting's own estimate. Progress is told by it too, so they agree by themselves.
        </p>
      )}
      <Walk before={of(data.before)} after={of(data.after)} what="iteration">
        <a href={pathOf(run, 'i', data.iteration)}>iteration {data.iteration}</a>
      </Walk>
      <div class="grid">
        {MEASURES.map((by) => (
          <Matrix key={by} by={by} data={data} />
        ))}
        <Chart
          title="balanced accuracy"
          series={[series('process', 'of progress', 1), series('outcome', 'of outcome', 2)]}
          range={[0, 1]}
          format={share}
          lines={[{ y: 0.5, name: 'chance' }]}
        />
      </div>
      <Rows data={data} run={run} />
    </>
  )
}

const TITLES: Readonly<Record<Measure, string>> = {
  progress: 'against true progress of the step',
  outcome: 'against the outcome of the rollout',
}
const COLUMNS: Readonly<Record<Measure, readonly string[]>> = {
  progress: ['truly bad', 'not measured', 'truly good'],
  outcome: ['no success', 'no outcome', 'success'],
}

function Matrix({ by, data }: { by: Measure; data: JudgePage }) {
  const matrix = data.matrices[by]
  const known = matrix.reduce((sum, row) => sum + row[0] + row[2], 0)
  const right = matrix[0][0] + matrix[2][2]
  const isShown = (verdict: string, truth: string) =>
    data.by === by && query.value.get('verdict') === verdict && query.value.get('truth') === truth
  return (
    <section>
      <h2>Verdicts {TITLES[by]}</h2>
      <p class="muted">
        {known === 0
          ? 'nothing is known'
          : `${share(right / known)} of ${count(known)} known steps are right`}
      </p>
      <table class="matrix">
        <thead>
          <tr>
            <th scope="col">the judge said</th>
            {COLUMNS[by].map((name) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {VERDICTS.map((verdict, i) => (
            <tr key={verdict}>
              <th scope="row">{verdict}</th>
              {TRUTHS.map((truth, j) => (
                <td key={truth} class={cellClass(i, j)}>
                  <button
                    type="button"
                    class="quiet"
                    aria-pressed={isShown(verdict, truth)}
                    aria-label={`${count(matrix[i][j])} steps: the judge said ${verdict}, ${COLUMNS[by][j]}`}
                    disabled={matrix[i][j] === 0}
                    onClick={() => ask({ by, verdict, truth, i: String(data.iteration) })}
                  >
                    {count(matrix[i][j])}
                  </button>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

function cellClass(verdict: number, truth: number): string {
  if (truth === 1) return ''
  return verdict === truth ? 'right' : 'wrong'
}

function Rows({ data, run }: { data: JudgePage; run: string }) {
  const isCell = query.value.get('verdict') !== null
  return (
    <section>
      <h2>{isCell ? 'Chosen verdicts' : `Wrong verdicts, by ${data.by}`}</h2>
      <p>
        {count(data.found)} steps
        {data.found > data.rows.length && `, the ${count(data.rows.length)} most certain ones are shown`}.{' '}
        {isCell && (
          <button type="button" onClick={() => ask({ by: null, verdict: null, truth: null })}>
            all wrong verdicts
          </button>
        )}
      </p>
      {data.rows.length === 0 ? (
        <Empty>no such verdict</Empty>
      ) : (
        <Table names={['step', 'action', 'the judge said', 'in truth', 'p of good', 'progress', 'its words']}>
          {data.rows.map((row) => (
            <tr key={row.position} data-row>
              <th scope="row">
                <a href={`${pathOfRollout(run, row.rollout)}?step=${row.step}`}>
                  {row.rollout}#{row.step}
                </a>
              </th>
              <td>
                <Said text={row.action} />
              </td>
              <td class={row.verdict}>{row.verdict}</td>
              <td class={row.truth}>{COLUMNS[data.by][TRUTHS.indexOf(row.truth)]}</td>
              <td>{share(row.probability)}</td>
              <td>{row.progress === null ? 'not measured' : signed(row.progress)}</td>
              <td>
                <Said text={row.critique} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}
