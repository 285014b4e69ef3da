/** One version of a model: what it was made from, what it did later, and which servers took it. */
import { count, share, short } from '../../logic/format.ts'
import { pathOf, pathOfRollout } from '../../logic/route.ts'
import type { Served, TrainedGroup, VersionPage } from '../../logic/versions-page.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { Empty, Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Walk } from '../parts/walk.tsx'
import { route } from '../place.ts'

export function Version({ head }: ScreenProps) {
  const answer = useAnswer<VersionPage>(
    () => {
      const { role = '', version = '' } = route.value?.params ?? {}
      return ofRun(`/versions/${encodeURIComponent(role)}/${encodeURIComponent(version)}`)
    },
    (tick) => tick.types === null || tick.types.some((type) => /Evaluation|Published|Retired/.test(type)),
  )
  return <Shown answer={answer.value}>{(data) => <Panels data={data} run={head?.run ?? ''} />}</Shown>
}

type Of = { readonly data: VersionPage; readonly run: string }

function Panels({ data, run }: Of) {
  const { role, version, last } = data
  const path = (other: number) => (other < 0 || other > last ? null : pathOf(run, 'versions', role, other))
  return (
    <>
      <h1>
        {role} version {version}
      </h1>
      <Walk before={path(version - 1)} after={path(version + 1)} what="version">
        <a href={pathOf(run, 'versions')}>versions</a>
      </Walk>
      <p>
        {data.parentVersion === null ? (
          'made by the cold start'
        ) : (
          <>
            made from <a href={path(data.parentVersion) ?? ''}>version {data.parentVersion}</a> in{' '}
            <a href={pathOf(run, 'i', data.iteration)}>iteration {data.iteration}</a>, from{' '}
            {count(data.samples)} samples
          </>
        )}
        ; <Event run={run} position={data.position} /> by <Said text={data.actor} />
      </p>
      <p>{usedText(data)}</p>
      {data.stopped !== null && (
        <p class="alarm">
          stopped: <Said text={data.stopped} />
        </p>
      )}
      <h2>Figures</h2>
      <dl class="figures">
        {Object.entries(data.metrics).map(([metric, value]) => (
          <div key={metric}>
            <dt>{metric}</dt>
            <dd>{short(value)}</dd>
          </div>
        ))}
      </dl>
      {data.evaluations.length > 0 && <Evaluations data={data} run={run} />}
      <Servers data={data} run={run} />
      <h2>Trained on</h2>
      <Groups groups={data.trainedOn} run={run} />
      <h2>Where it lies, and who decided</h2>
      <dl class="figures">
        {data.checkpoint !== null && (
          <div>
            <dt>checkpoint</dt>
            <dd>
              <Said
                text={`${data.checkpoint.path} of run ${data.checkpoint.run}, sha256 ${data.checkpoint.sha256}`}
              />
            </dd>
          </div>
        )}
        {data.decidedBy !== null && (
          <div>
            <dt>transition</dt>
            <dd>
              <Said text={data.decidedBy} />
            </dd>
          </div>
        )}
      </dl>
      <Rules data={data} />
    </>
  )
}

function Event({ run, position }: { run: string; position: number }) {
  return <a href={`${pathOf(run, 'events')}?sel=${position}`}>event {count(position)}</a>
}

function usedText({ usedBy, role }: VersionPage): string {
  const does = role === 'policy' ? 'played' : 'judged'
  if (usedBy.length === 0) return 'No iteration has begun with it.'
  return `It ${does} in iteration${usedBy.length === 1 ? '' : 's'} ${usedBy.join(', ')}.`
}

function Evaluations({ data: { evaluations }, run }: Of) {
  return (
    <>
      <h2>Evaluated</h2>
      <Table names={['split', 'success', 'interval by rollout', 'rollouts', 'failed', 'mean steps', 'event']}>
        {evaluations.map((one) => (
          <tr key={one.position} data-row>
            <th scope="row">{one.split}</th>
            <td>{share(one.share.value)}</td>
            <td>
              [{share(one.share.low)}, {share(one.share.high)}]
            </td>
            <td>{count(one.share.n)}</td>
            <td>{count(one.failed)}</td>
            <td>{short(one.meanSteps)}</td>
            <td>
              <Event run={run} position={one.position} />
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

function Servers({ data: { published, retired, version }, run }: Of) {
  if (published === null) return null
  const { serving } = published
  return (
    <>
      <h2>Servers</h2>
      <p>
        {serving === version
          ? 'It answers since it was published.'
          : `No server answers with it: version ${serving} stands in.`}
      </p>
      <Replicas served={published} what="published" run={run} />
      {retired !== null && <Replicas served={retired} what="retired" run={run} />}
    </>
  )
}

const STATES = { done: '✓ done', refused: '✗ refused', 'timed-out': '✗ timed out' } as const

function Replicas({ served, what, run }: { served: Served; what: string; run: string }) {
  return (
    <>
      <h3>
        {what} as <Said text={served.name} />, <Event run={run} position={served.position} />
      </h3>
      <Table names={['server', 'state', 'why not']}>
        {served.replicas.map(({ url, state, error }) => (
          <tr key={url} data-row>
            <th scope="row">
              <Said text={url} />
            </th>
            <td class={state === 'done' ? 'good' : 'bad'}>{STATES[state]}</td>
            <td>{error !== null && <Said text={error} />}</td>
          </tr>
        ))}
      </Table>
    </>
  )
}

function Groups({ groups, run }: { groups: readonly TrainedGroup[]; run: string }) {
  if (groups.length === 0) return <Empty>It was trained on no rollout of this run.</Empty>
  return (
    <Table names={['task', 'rollouts', 'success']}>
      {groups.map(({ iteration, slot, members, successes, played }) => (
        <tr key={`${iteration}/${slot}`} data-row>
          <th scope="row">
            <a href={pathOf(run, 'g', iteration, slot)}>
              {iteration}/{slot}
            </a>
          </th>
          <td>
            {members.map((member) =>
              /^\d+$/.test(member) ? (
                <span key={member}>
                  <a class="cell" href={pathOfRollout(run, `${iteration}/${slot}/${member}`)}>
                    {member}
                  </a>{' '}
                </span>
              ) : (
                `${member} `
              ),
            )}
          </td>
          <td>{played === 0 ? '–' : `${successes} of ${played}`}</td>
        </tr>
      ))}
    </Table>
  )
}

function Rules({ data: { rules } }: { data: VersionPage }) {
  if (rules.length === 0) return <p class="muted">All rules were those of the code.</p>
  return (
    <>
      <h2>Rules of its own</h2>
      <Table names={['kind', 'name', 'version', 'digest of its file']}>
        {rules.map(({ kind, name, version, digest }) => (
          <tr key={`${kind} ${name}`} data-row>
            <th scope="row">{kind}</th>
            <td>
              <Said text={name} />
            </td>
            <td>{version}</td>
            <td>
              <code>{digest}</code>
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}
