/** All tasks that were rewritten, a lane each. */
import { count, cut, visible } from '../../logic/format.ts'
import { pathOf } from '../../logic/route.ts'
import type { TaskLane as Lane, LaneMark, TasksPage } from '../../logic/tasks-page.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { has } from '../live.ts'
import { Empty, Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { MARKS, TaskLane } from '../parts/task-lane.tsx'
import { ask, query } from '../place.ts'

const KINDS = ['accepted', 'rejected', 'refused', 'proposed'] as const

export function Tasks({ head }: ScreenProps) {
  const answer = useAnswer<TasksPage>(
    () => ofRun('/tasks', { all: query.value.get('all') }),
    (tick) => has(tick, 'TaskProposed', 'TaskAccepted', 'TaskRejected', 'IterationCompleted'),
  )
  return (
    <section>
      <h1>Tasks</h1>
      <Shown answer={answer.value}>{(data) => <Lanes data={data} run={head?.run ?? ''} />}</Shown>
    </section>
  )
}

function Lanes({ data, run }: { data: TasksPage; run: string }) {
  const all = query.value.get('all') === '1'
  const only = query.value.get('only') as LaneMark['kind'] | null
  const lanes =
    only === null ? data.lanes : data.lanes.filter((lane) => lane.marks.some(({ kind }) => kind === only))
  const { accepted, rejected, refused } = data
  const numbers: Readonly<Record<string, number>> = { accepted, rejected, refused }
  return (
    <>
      <p>
        {count(data.accepted)} candidates were accepted, {count(data.rejected)} rejected, and{' '}
        {count(data.refused)} could not be made, on {count(data.slots)} tasks.
      </p>
      <p class="legend-line">
        {KINDS.map((kind) => (
          <button
            key={kind}
            type="button"
            aria-pressed={only === kind}
            onClick={() => ask({ only: only === kind ? null : kind })}
          >
            <span aria-hidden="true">{MARKS[kind]}</span> {kind}
            {kind in numbers && ` ${count(numbers[kind])}`}
          </button>
        ))}
        <button type="button" aria-pressed={all} onClick={() => ask({ all: all ? null : '1' })}>
          all tasks
        </button>
        <span>
          solved:{' '}
          {['never', 'seldom', 'half', 'often', 'always'].map((word, i) => (
            <span key={word} class={`mark acc${i}`}>
              <span aria-hidden="true">◆</span> {word}{' '}
            </span>
          ))}
        </span>
      </p>
      {lanes.length === 0 ? (
        <Empty>No task has been rewritten. The page shows all tasks if you ask for them.</Empty>
      ) : (
        <div class="lanes-of-tasks">
          <Table names={['task', `iterations 0 to ${data.last}`, 'kind', 'goal now', 'last']}>
            {lanes.map((lane) => (
              <Row key={lane.slot} lane={lane} run={run} last={data.last} />
            ))}
          </Table>
        </div>
      )}
    </>
  )
}

function Row({ lane, run, last }: { lane: Lane; run: string; last: number }) {
  const newest = lane.marks.findLast(({ kind }) => kind !== 'played')
  return (
    <tr data-row>
      <th scope="row">
        <a href={pathOf(run, 'tasks', lane.slot)}>{lane.slot}</a>
      </th>
      <td>
        <TaskLane lane={lane} last={last} width={360} />
      </td>
      <td>
        <Said text={lane.kind} />
      </td>
      <td>
        <Said text={cut(lane.goal, 70)} />
      </td>
      <td>
        {newest !== undefined &&
          `${newest.direction ?? ''} ${newest.kind}${newest.reason === null ? '' : `: ${visible(cut(newest.reason, 60))}`}`}
      </td>
    </tr>
  )
}
