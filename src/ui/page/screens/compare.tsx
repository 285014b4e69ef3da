/** Runs side by side: the first one with each other one. */
import { useEffect } from 'preact/hooks'
import type { EventRow } from '../../logic/answers.ts'
import type { ComparePage, RunCurve } from '../../logic/compare-page.ts'
import { count, share, short, signed } from '../../logic/format.ts'
import { pathOf } from '../../logic/route.ts'
import { useAnswer } from '../answers.ts'
import { ticks } from '../live.ts'
import { Chart, type Series } from '../parts/chart.tsx'
import { Empty, Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { ask, query } from '../place.ts'

function chosenRuns(): readonly string[] {
  return ['a', 'b', 'c', 'd'].flatMap((name) => query.value.get(name) ?? [])
}

export function Compare() {
  const [first, ...others] = chosenRuns()
  return (
    <>
      <h1>Comparison</h1>
      {first === undefined || others.length === 0 ? (
        <Empty>
          Two runs are compared. <a href="/">Choose them in the list of runs.</a>
        </Empty>
      ) : (
        <>
          <Curves />
          {others.map((other) => (
            <Pair key={`${first} ${other}`} a={first} b={other} />
          ))}
        </>
      )}
    </>
  )
}

function Curves() {
  const answer = useAnswer<readonly RunCurve[]>(
    () => `/api/curves?runs=${chosenRuns().map(encodeURIComponent).join(',')}`,
    () => true,
  )
  const curves = answer.value.data
  useEffect(() => {
    if (curves === null || curves.every(({ complete }) => complete)) return
    const timer = setTimeout(() => {
      ticks.value = { position: 0, types: null }
    }, 700)
    return () => clearTimeout(timer)
  }, [curves])
  return (
    <Shown answer={answer.value}>
      {(data) => (
        <div class="grid">
          <Chart
            title="success in training, with intervals by task"
            series={seriesOf(data, true)}
            range={[0, 1]}
            format={share}
          />
          <Chart
            title="success on held-out tasks"
            series={seriesOf(data, false)}
            range={[0, 1]}
            format={share}
          />
        </div>
      )}
    </Shown>
  )
}

function seriesOf(curves: readonly RunCurve[], isTraining: boolean): Series[] {
  const found = curves.flatMap(({ run, success }) => {
    const names = [...new Set(success.map(({ series }) => series))].filter(
      (name) => name !== 'candidate' && (name === 'train') === isTraining,
    )
    return names.map((name) => ({
      name: isTraining ? run : `${run} ${name}`,
      dots: !isTraining,
      points: success
        .filter(({ series }) => series === name)
        .map(({ iteration, share: own, tasks }) => ({
          x: iteration,
          y: own.value,
          low: own.low,
          high: own.high,
          note: `${tasks} tasks`,
          href: pathOf(run, 'i', iteration),
        })),
    }))
  })
  return found.map((one, i) => ({ ...one, colour: (i % 7) + 1 }))
}

function Pair({ a, b }: { a: string; b: string }) {
  const answer = useAnswer<ComparePage>(() => {
    const search = new URLSearchParams({ a, b })
    const group = query.value.get('group')
    if (group !== null) search.set('group', group)
    return `/api/compare?${search}`
  })
  return (
    <section>
      <h2>
        <a href={pathOf(a)}>{a}</a> and <a href={pathOf(b)}>{b}</a>
      </h2>
      <Shown answer={answer.value}>
        {(data) => (
          <>
            <Parting data={data} />
            <Config data={data} />
            <Figures data={data} />
            <Tasks data={data} />
          </>
        )}
      </Shown>
    </section>
  )
}

type Of = { readonly data: ComparePage }

function Parting({ data: { a, b, shared, divergence } }: Of) {
  return (
    <>
      <p>
        {shared === 0 ? 'They share no events.' : `They share events 1 to ${count(shared)}.`}{' '}
        {divergence === null ? (
          'They hold the same facts.'
        ) : (
          <>
            They part at <Said text={divergence.key} />: <Said text={divergence.what} />.
          </>
        )}
      </p>
      {divergence !== null && (
        <Table names={['run', 'position', 'type', 'what']}>
          <Event run={a} row={divergence.a} />
          <Event run={b} row={divergence.b} />
        </Table>
      )}
    </>
  )
}

function Event({ run, row }: { run: string; row: EventRow | null }) {
  return (
    <tr data-row>
      <th scope="row">{run}</th>
      <td>
        {row === null ? (
          '–'
        ) : (
          <a href={`${pathOf(run, 'events')}?sel=${row.position}`}>{count(row.position)}</a>
        )}
      </td>
      <td>{row?.type ?? 'it has no such event'}</td>
      <td>{row !== null && <Said text={row.text} />}</td>
    </tr>
  )
}

function Config({ data: { a, b, config } }: Of) {
  if (config.length === 0) return <p>Their configs are the same.</p>
  return (
    <>
      <h3>Config: {config.length === 1 ? 'one key differs' : `${config.length} keys differ`}</h3>
      <Table names={['key', a, b]}>
        {config.map((entry) => (
          <tr key={entry.key} data-row>
            <th scope="row">
              <code>{entry.key}</code>
            </th>
            <td>
              <Said text={entry.a ?? '–'} />
            </td>
            <td>
              <Said text={entry.b ?? '–'} />
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

function Figures({ data: { a, b, figures, unpaired } }: Of) {
  if (figures.length === 0)
    return <p>No task was played by both with the same seed after they parted, so nothing is in pairs.</p>
  return (
    <>
      <h3>The same tasks, in pairs</h3>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: arrows scroll it */}
      <section class="scroll" aria-label="figures" tabIndex={0}>
        <Table names={['what', 'figure', a, b, 'difference', 'tasks']}>
          {figures.map((row) => (
            <tr key={`${row.group} ${row.metric}`} data-row>
              <th scope="row">{row.group}</th>
              <td>{row.metric}</td>
              <td>{short(row.a.value)}</td>
              <td>{short(row.b.value)}</td>
              <td class={kindOf(row)}>
                {signed(row.difference.value)}
                {row.difference.n > 1 && ` [${signed(row.difference.low)}, ${signed(row.difference.high)}]`}
                {kindOf(row) !== '' && ' *'}
              </td>
              <td>{count(row.difference.n)}</td>
            </tr>
          ))}
        </Table>
      </section>
      <p class="muted">
        * the interval does not hold 0. n counts tasks, and each task counts once.
        {unpaired.map(({ group, rollouts }) => ` ${group}: ${rollouts} rollouts are in no pair.`)}
      </p>
    </>
  )
}

/** More success is good, more steps say nothing. */
function kindOf({ metric, difference: { low, high, n } }: ComparePage['figures'][number]): string {
  if (n < 2 || (low <= 0 && high >= 0)) return ''
  if (metric === 'steps') return 'differs'
  return low > 0 ? 'good' : 'bad'
}

function Tasks({ data: { a, b, group, groups, tasks, same } }: Of) {
  if (group === null) return null
  return (
    <>
      <h3>Tasks that flip</h3>
      <p>
        <label>
          among{' '}
          <select value={group} onChange={(event) => ask({ group: event.currentTarget.value })}>
            {groups.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>{' '}
        {count(tasks.length)} tasks differ, {count(same)} do not
      </p>
      {tasks.length > 0 && (
        <Table names={['task', a, b, 'difference']}>
          {tasks.map((task) => (
            <tr key={task.slot} data-row>
              <th scope="row">{task.slot}</th>
              <td>
                <Solved run={a} task={task} solved={task.a} group={group} />
              </td>
              <td>
                <Solved run={b} task={task} solved={task.b} group={group} />
              </td>
              <td class={task.b > task.a ? 'good' : 'bad'}>
                {task.b > task.a ? '▲ +' : '▼ −'}
                {Math.abs(task.b - task.a)}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </>
  )
}

type SolvedProps = {
  readonly run: string
  readonly task: ComparePage['tasks'][number]
  readonly solved: number
  readonly group: string
}

function Solved({ run, task: { slot, rollouts }, solved, group }: SolvedProps) {
  const iteration = group.slice(group.lastIndexOf(' ') + 1)
  const marks = rollouts <= 16 ? ` ${'✓'.repeat(solved)}${'✗'.repeat(rollouts - solved)}` : ''
  return (
    <a class="plain-link" href={pathOf(run, 'g', iteration, slot)}>
      {solved} of {rollouts}
      <span aria-hidden="true">{marks}</span>
    </a>
  )
}
