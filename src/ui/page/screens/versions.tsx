/** All versions of the policy and of the reward model. */
import { count, cut, short } from '../../logic/format.ts'
import { pathOf } from '../../logic/route.ts'
import type { VersionRow, VersionsPage } from '../../logic/versions-page.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { Empty, Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'

const NAMES = { policy: 'Policy', 'reward-model': 'Reward model' } as const

export function Versions({ head }: ScreenProps) {
  const answer = useAnswer<VersionsPage>(
    () => ofRun('/versions'),
    (tick) => tick.types === null || tick.types.some((type) => /Updated|Published|Retired/.test(type)),
  )
  const run = head?.run ?? ''
  return (
    <>
      <h1>Versions</h1>
      <Shown answer={answer.value}>
        {({ rows }) => (
          <div class="two">
            {(['policy', 'reward-model'] as const).map((role) => (
              <section key={role}>
                <h2>{NAMES[role]}</h2>
                <Rows rows={rows.filter((row) => row.role === role)} run={run} />
              </section>
            ))}
          </div>
        )}
      </Shown>
    </>
  )
}

function Rows({ rows, run }: { rows: readonly VersionRow[]; run: string }) {
  if (rows.length === 0) return <Empty>There is no version yet.</Empty>
  const isServed = rows.some(({ published }) => published !== null)
  return (
    <Table names={['version', 'samples', 'KL', 'loss', ...(isServed ? ['servers'] : []), 'stopped']}>
      {rows.map((row) => (
        <tr key={row.version} data-row>
          <th scope="row">
            <a href={pathOf(run, 'versions', row.role, row.version)}>{row.version}</a>
          </th>
          <td>{count(row.samples)}</td>
          <td>{short(row.kl)}</td>
          <td>{short(row.loss)}</td>
          {isServed && <td>{serversOf(row)}</td>}
          <td>{row.stopped !== null && <Said text={cut(row.stopped, 80)} />}</td>
        </tr>
      ))}
    </Table>
  )
}

function serversOf({ published, version, isRetired }: VersionRow): string {
  if (published === null) return 'not published'
  const took = `${published.took} of ${published.of} took it`
  const stands = published.serving === version ? '' : `, ${published.serving} stands in`
  return `${took}${stands}${isRetired ? ', retired' : ''}`
}
