/** One iteration: tasks by rollouts, when which work was done, and its updates. */
import type { GroupRow, IterationPage, Lane, UpdatePoint } from '../../logic/answers.ts'
import { cut, duration, share, short } from '../../logic/format.ts'
import { pathOf } from '../../logic/route.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { Cells } from '../parts/cells.tsx'
import { Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { route } from '../place.ts'

const PURPOSES = [
  ['train', 'Training tasks'],
  ['candidate', 'Candidates'],
  ['evaluation', 'Held-out tasks'],
] as const

export function Iteration({ head }: ScreenProps) {
  const answer = useAnswer<IterationPage>(
    () => ofRun(`/iterations/${encodeURIComponent(route.value?.params.iteration ?? '')}`),
    () => true,
  )
  return (
    <Shown answer={answer.value}>
      {(data) => (
        <>
          <h1>
            Iteration {data.iteration}
            {data.endedAt === null && <span class="muted"> · open</span>}
          </h1>
          <p class="muted">
            policy{' '}
            <a href={pathOf(head?.run ?? '', 'versions', 'policy', data.policyVersion ?? 0)}>
              {data.policyVersion}
            </a>
            , reward model{' '}
            <a href={pathOf(head?.run ?? '', 'versions', 'reward-model', data.rewardModelVersion ?? 0)}>
              {data.rewardModelVersion}
            </a>
            , {data.groups.length} tasks
            {data.endedAt !== null &&
              data.startedAt !== null &&
              `, ${duration((data.endedAt - data.startedAt) / 1000)}`}
          </p>
          {PURPOSES.map(([purpose, name]) => (
            <Groups
              key={purpose}
              run={head?.run ?? ''}
              name={name}
              iteration={data.iteration}
              groups={data.groups.filter((group) => group.purpose === purpose)}
            />
          ))}
          <Lanes lanes={data.lanes} from={data.startedAt ?? 0} />
          <Update name="Policy" update={data.update} />
          <Update name="Reward model" update={data.rewardUpdate} />
        </>
      )}
    </Shown>
  )
}

type GroupsProps = {
  readonly run: string
  readonly iteration: number
  readonly name: string
  readonly groups: readonly GroupRow[]
}

function Groups({ run, iteration, name, groups }: GroupsProps) {
  if (groups.length === 0) return null
  return (
    <section>
      <h2>{name}</h2>
      <Table names={['task', 'rollouts', 'success', 'goal', 'what followed']}>
        {groups.map((group) => (
          <tr key={`${group.split}/${group.slot}`} data-row>
            <th scope="row">
              <a href={pathOf(run, 'g', iteration, group.slot)}>{group.slot}</a>
              {group.programs && (
                <>
                  {' '}
                  <a
                    href={pathOf(run, 'problems', iteration, group.slot)}
                    aria-label={`programs by tests of ${group.slot}`}
                  >
                    tests
                  </a>
                </>
              )}
            </th>
            <td>
              <Cells run={run} cells={group.cells} />
            </td>
            <td>{share(group.share.value)}</td>
            <td>{group.goal !== null && <Said text={cut(group.goal, 90)} />}</td>
            <td>{group.decision !== null && <Said text={cut(group.decision, 90)} />}</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function Lanes({ lanes, from }: { lanes: readonly Lane[]; from: number }) {
  const until = Math.max(...lanes.map(({ to }) => to), from + 1)
  const percent = (time: number) => `${(100 * (time - from)) / (until - from)}%`
  return (
    <section>
      <h2>Work</h2>
      <ul class="lanes">
        {lanes.map((lane) => (
          <li key={lane.name}>
            <span>{lane.name}</span>
            <span class="lane">
              <span style={{ left: percent(lane.from), right: `calc(100% - ${percent(lane.to)})` }} />
            </span>
            <span>
              {lane.count}, {duration((lane.to - lane.from) / 1000)}
            </span>
          </li>
        ))}
      </ul>
    </section>
  )
}

function Update({ name, update }: { name: string; update: UpdatePoint | null }) {
  if (update === null) return null
  return (
    <section>
      <h2>
        {name} version {update.version}
      </h2>
      {update.stopped !== null && (
        <p class="alarm">
          stopped: <Said text={update.stopped} />
        </p>
      )}
      <dl class="figures">
        {Object.entries(update.metrics).map(([metric, value]) => (
          <div key={metric}>
            <dt>{metric}</dt>
            <dd>{short(value)}</dd>
          </div>
        ))}
      </dl>
    </section>
  )
}
