/** All iterations, newest first. */
import type { Overview } from '../../logic/answers.ts'
import { duration, share, short } from '../../logic/format.ts'
import { pathOf } from '../../logic/route.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { has } from '../live.ts'
import { Empty, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'

export function Iterations({ head }: ScreenProps) {
  const answer = useAnswer<Overview>(
    () => ofRun('/overview'),
    (tick) => has(tick, 'IterationCompleted', 'IterationStarted'),
  )
  const last = head?.iteration ?? null
  return (
    <section>
      <h1>Iterations</h1>
      <Shown answer={answer.value}>
        {(data) =>
          last === null ? (
            <Empty>No iteration has begun.</Empty>
          ) : (
            <Table names={['iteration', 'success in training', 'accepted', 'KL', 'rollouts', 'time']}>
              {Array.from({ length: last + 1 }, (_, i) => last - i).map((iteration) => (
                <Row key={iteration} data={data} iteration={iteration} run={head?.run ?? ''} />
              ))}
            </Table>
          )
        }
      </Shown>
    </section>
  )
}

function Row({ data, iteration, run }: { data: Overview; iteration: number; run: string }) {
  const train = data.success.find((row) => row.iteration === iteration && row.series === 'train')
  const grown = data.growth.rows.find((row) => row.iteration === iteration)
  const time = data.times.find((row) => row.iteration === iteration)
  const update = data.policyUpdates.find(({ version }) => version === iteration)
  return (
    <tr data-row>
      <th scope="row">
        <a href={pathOf(run, 'i', iteration)}>{iteration}</a>
      </th>
      <td>
        {train ? `${share(train.share.value)} [${share(train.share.low)}, ${share(train.share.high)}]` : '–'}
      </td>
      <td>{grown ? `${grown.accepted} of ${grown.accepted + grown.rejected}` : '–'}</td>
      <td>{short(update?.metrics.kl)}</td>
      <td>{short(time?.rollouts)}</td>
      <td>{duration(time?.seconds ?? null)}</td>
    </tr>
  )
}
