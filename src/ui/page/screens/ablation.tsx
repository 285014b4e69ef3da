/** An ablation: settings by seeds, paired differences with their intervals, and curves. */
import type { AblatedSetting, AblationPage, AblationRow, Mean } from '../../logic/ablation-page.ts'
import { count, duration, share, signed } from '../../logic/format.ts'
import { pathOf, pathOfAblation } from '../../logic/route.ts'
import { useAnswer } from '../answers.ts'
import { Chart, type Series } from '../parts/chart.tsx'
import { Empty, Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { route } from '../place.ts'

/** The ablations below the list of runs. Nothing is shown if there is none. */
export function Ablations() {
  const rows = useAnswer<readonly AblationRow[]>(() => '/api/ablations')
  const found = rows.value.data ?? []
  if (found.length === 0) return null
  return (
    <section>
      <h2>Ablations</h2>
      <Table names={['name', 'runs', 'settings', 'seeds', 'folder']}>
        {found.map((row) => (
          <tr key={row.name} data-row>
            <th scope="row">
              <a href={pathOfAblation(row.name)}>{row.name}</a>
            </th>
            {row.fault === null ? (
              <>
                <td>{row.runs}</td>
                <td>{row.settings}</td>
                <td>{row.seeds}</td>
              </>
            ) : (
              <td colSpan={3}>
                <Said text={row.fault.slice(0, 200)} />
              </td>
            )}
            <td class="muted">{row.folder}</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

export function Ablation() {
  const answer = useAnswer<AblationPage>(
    () => `/api/ablations/${encodeURIComponent(route.value?.params.name ?? '')}`,
  )
  return <Shown answer={answer.value}>{(data) => <Panels data={data} />}</Shown>
}

function text(mean: Mean | null, format: (value: number) => string = share): string {
  if (mean === null) return '–'
  const limits = mean.low === null || mean.high === null ? '' : ` [${format(mean.low)}, ${format(mean.high)}]`
  return `${format(mean.value)}${limits}`
}

function Panels({ data }: { data: AblationPage }) {
  const { settings, seeds, splits, differences } = data
  return (
    <>
      <h1>Ablation {data.name}</h1>
      <p class="muted">
        <code>
          <Said text={data.command} />
        </code>
        ; seeds {seeds.join(', ')}; {data.folder}
      </p>
      {settings.length === 0 && <Empty>No run has ended yet.</Empty>}
      {splits.map((split, at) => (
        <section key={split}>
          <h2>Success on {split} at the end</h2>
          <Table names={['setting', 'start', 'end', ...seeds.map((seed) => `seed ${seed}`)]}>
            {settings.map((row) => (
              <SettingRow key={row.setting} row={row} at={at} seeds={seeds} />
            ))}
          </Table>
        </section>
      ))}
      {differences.length > 0 && (
        <section>
          <h2>Paired differences</h2>
          <p class="muted">
            Success at the end, the second setting less the first, over the seeds that both have. A claim
            holds if its whole interval lies above 0.
          </p>
          <Table names={['claim', 'split', 'difference', 'n', 'verdict', 'by seed']}>
            {differences.map((one) => (
              <tr key={`${one.first} ${one.second} ${one.split}`} data-row>
                <th scope="row">
                  {one.first} &lt; {one.second}
                </th>
                <td>{one.split}</td>
                <td>{text(one.difference, signed)}</td>
                <td>{one.difference.n}</td>
                <td>{one.verdict}</td>
                <td class="muted">{one.pairs.map(({ value }) => signed(value)).join(' ')}</td>
              </tr>
            ))}
          </Table>
        </section>
      )}
      <div class="grid">
        {[...splits, 'training'].map((series) => (
          <Chart
            key={series}
            title={`success: ${series}`}
            series={seriesOf(data, series)}
            range={[0, 1]}
            format={share}
          />
        ))}
      </div>
      <h2>What each setting changes</h2>
      <Table names={['setting', 'keys', 'rollouts', 'time of a run']}>
        {settings.map((row) => (
          <tr key={row.setting} data-row>
            <th scope="row">{row.setting}</th>
            <td>
              <code>{row.changes.join(' ')}</code>
            </td>
            <td>{count(Math.round(row.rollouts))}</td>
            <td>{duration(row.seconds)}</td>
          </tr>
        ))}
      </Table>
    </>
  )
}

function SettingRow({ row, at, seeds }: { row: AblatedSetting; at: number; seeds: AblationPage['seeds'] }) {
  return (
    <tr data-row>
      <th scope="row">{row.setting}</th>
      <td>{text(row.first[at])}</td>
      <td>{text(row.last[at])}</td>
      {seeds.map((seed) => {
        const run = row.runs.find((one) => one.seed === seed)
        if (run === undefined) return <td key={seed}>–</td>
        const shown = `${share(run.first[at])} → ${share(run.last[at])}`
        return (
          <td key={seed} title={run.run}>
            {run.isHere ? <a href={pathOf(run.run)}>{shown}</a> : shown}
          </td>
        )
      })}
    </tr>
  )
}

function seriesOf({ curves, settings }: AblationPage, series: string): readonly Series[] {
  return curves
    .filter((one) => one.series === series)
    .map(({ setting, points }) => {
      const place = settings.findIndex((one) => one.setting === setting)
      return {
        name: setting,
        colour: 1 + (place % 7),
        dashed: place >= 7,
        points: points.map(({ x, mean: { value, low, high } }) => ({
          x,
          y: value,
          ...(low === null || high === null ? {} : { low: Math.max(0, low), high: Math.min(1, high) }),
        })),
      }
    })
}
