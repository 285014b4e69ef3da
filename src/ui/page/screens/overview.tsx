/** Whether a run learns: one sentence, its curves, what it does now, and what stands out. */
import { useEffect } from 'preact/hooks'
import type { Overview as Data, SuccessPoint } from '../../logic/answers.ts'
import { clock, count, duration, share, short } from '../../logic/format.ts'
import { pathOf } from '../../logic/route.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { ticks } from '../live.ts'
import { Chart, type Series } from '../parts/chart.tsx'
import { Notes } from '../parts/notes.tsx'
import { Empty, Said, Shown } from '../parts/states.tsx'
import { query } from '../place.ts'
import { Why, WhyChoice } from './why.tsx'

export function Overview({ head }: ScreenProps) {
  const answer = useAnswer<Data>(
    () => ofRun('/overview'),
    () => true,
  )
  const data = answer.value.data
  useEffect(() => {
    // The head folds an iteration right after its end: the next answer has it.
    if (data === null || data.complete) return
    const timer = setTimeout(() => {
      ticks.value = { position: head?.position ?? 0, types: null }
    }, 700)
    return () => clearTimeout(timer)
  }, [data])
  return <Shown answer={answer.value}>{(shown) => <Panels data={shown} run={head?.run ?? ''} />}</Shown>
}

function Panels({ data, run }: { data: Data; run: string }) {
  const iteration = (number: number) => pathOf(run, 'i', number)
  const metric = (name: string, colour: number): Series => ({
    name,
    colour,
    points: data.policyUpdates.flatMap(({ version, metrics }) =>
      version === 0 || metrics[name] === undefined
        ? []
        : [{ x: version, y: metrics[name], href: iteration(version) }],
    ),
  })
  const judge = (name: 'process' | 'outcome', colour: number): Series => ({
    name,
    colour,
    points: data.judge.flatMap((point) => {
      const y = point[name]
      return y === null ? [] : [{ x: point.iteration, y, href: iteration(point.iteration) }]
    }),
  })
  const { slope, r2 } = data.growth
  return (
    <>
      <h1 class="spoken">Overview</h1>
      <p class={`verdict ${data.verdict.kind}`}>{data.verdict.text}</p>
      {!data.complete && <p class="muted">figures are still folded …</p>}
      <WhyChoice success={data.success} />
      {query.value.get('why') !== null && <Why run={run} />}
      <div class="grid">
        <Chart
          title="success, with intervals by task"
          series={successSeries(data.success, run)}
          range={[0, 1]}
          format={share}
        />
        <Chart
          title="judge: balanced accuracy"
          series={[judge('process', 1), judge('outcome', 2)]}
          range={[0, 1]}
          format={share}
          lines={[{ y: 0.5, name: 'chance' }]}
        />
        <Chart
          title={`accepted tasks${slope === null ? '' : `: ${short(slope)} an iteration, R² ${share(r2)}`}`}
          series={[
            {
              name: 'accepted in all',
              colour: 3,
              points: data.growth.rows.map((row) => ({
                x: row.iteration,
                y: row.acceptedSoFar,
                note: `+${row.accepted} of ${row.accepted + row.rejected}`,
                href: iteration(row.iteration),
              })),
            },
          ]}
        />
        <Chart title="KL divergence and clipped share" series={[metric('kl', 1), metric('clipShare', 2)]} />
        <Chart title="entropy" series={[metric('entropy', 4)]} />
        <Chart
          title="time an iteration"
          format={duration}
          series={[
            {
              name: 'time',
              colour: 5,
              points: data.times.flatMap((row) =>
                row.seconds === null
                  ? []
                  : [{ x: row.iteration, y: row.seconds, note: `${row.rollouts} rollouts` }],
              ),
            },
          ]}
        />
      </div>
      <div class="grid">
        <Now data={data} />
        <section>
          <h2>Notable</h2>
          <ul class="plain">
            {data.notable.map((event) => (
              <li key={event.position} data-row>
                <a href={`${pathOf(run, 'events')}?sel=${event.position}`}>{count(event.position)}</a>{' '}
                {clock(event.time)} <b>{event.type}</b> <Said text={event.text.slice(0, 160)} />
              </li>
            ))}
          </ul>
        </section>
        <Notes position={null} />
      </div>
    </>
  )
}

function Now({ data }: { data: Data }) {
  return (
    <section>
      <h2>Now</h2>
      {data.now.length === 0 ? (
        <Empty>the run is over</Empty>
      ) : (
        <ul>
          {data.now.map(({ what, done, of }) => (
            <li key={what}>
              {what}
              {done !== null && `: ${count(done)}`}
              {of !== null && ` of ${count(of)}`}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

/** Training as a curve with its band, held-out measurements as points. */
function successSeries(points: readonly SuccessPoint[], run: string): Series[] {
  const names = [...new Set(points.map(({ series }) => series))].filter((name) => name !== 'candidate')
  names.sort((a, b) => Number(b === 'train') - Number(a === 'train'))
  return names.map((name, i) => ({
    name,
    colour: i + 1,
    dots: name !== 'train',
    points: points
      .filter(({ series }) => series === name)
      .map(({ iteration, share: own, tasks, byRollout }) => ({
        x: iteration,
        y: own.value,
        low: own.low,
        high: own.high,
        href: `${pathOf(run)}?why=${iteration}&series=${encodeURIComponent(name)}`,
        note: `${tasks} tasks; by rollout [${share(byRollout.low)}, ${share(byRollout.high)}] n ${byRollout.n}`,
      })),
  }))
}
