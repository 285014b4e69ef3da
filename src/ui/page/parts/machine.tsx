/** A decider's machine as a chart, with its present state marked. */
import type { MachineChart } from '../../logic/answers.ts'
import { drawingOf, isIn } from '../../logic/chart.ts'
import { count, duration } from '../../logic/format.ts'
import { Table } from './table.tsx'

export function Machine({ machine }: { machine: MachineChart }) {
  const { role, description, state, since, states, arrows } = machine
  const { width, height, states: boxes, groups, arrows: lines } = drawingOf(machine)
  const now = state === null ? 'not known yet' : state
  const long =
    since === null || since.seconds === null
      ? ''
      : `, for ${duration(since.seconds)}, since ${count(since.position)}`
  const meaning = states.find(({ path }) => path === state)?.description ?? ''
  const label = `${role} is ${now}`
  return (
    <section class="machine-chart" aria-label={label}>
      <h3>
        {role}: <span class="now-state">{now}</span>
        <span class="muted">{long}</span>
      </h3>
      <p class="muted">{meaning === '' ? description : meaning}</p>
      <svg
        viewBox={`0 0 ${width} ${height}`}
        role="img"
        aria-label={label}
        style={{ maxWidth: `${width}px` }}
      >
        <defs>
          <marker
            id={`tip-${role}`}
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto"
          >
            <path d="M0 0L8 4L0 8z" class="arrow-tip" />
          </marker>
        </defs>
        {groups.map((box) => (
          <g key={box.path} class={isIn(state, box.path) ? 'group in' : 'group'}>
            <rect x={box.x} y={box.y} width={box.width} height={box.height} rx={6} />
            <text x={box.x + 6} y={box.y + 11}>
              {box.name}
            </text>
          </g>
        ))}
        {lines.map(({ from, to, labels, x1, y1, x2, y2 }) => (
          <line
            key={`${from} ${to}`}
            x1={x1}
            y1={y1}
            x2={x2}
            y2={y2}
            class="arrow"
            marker-end={`url(#tip-${role})`}
          >
            <title>{labels.join('\n')}</title>
          </line>
        ))}
        {boxes.map((box) => {
          const isNow = box.path === state
          return (
            <g key={box.path} class={isNow ? 'box now' : 'box'}>
              <title>{states.find(({ path }) => path === box.path)?.description}</title>
              <rect x={box.x} y={box.y} width={box.width} height={box.height} rx={12} />
              <text x={box.x + box.width / 2} y={box.y + box.height / 2 + 4} text-anchor="middle">
                {isNow ? `● ${box.name}` : box.name}
              </text>
            </g>
          )
        })}
      </svg>
      <details>
        <summary>as a table</summary>
        <Table names={['state', 'meaning', 'ways out']}>
          {states.map(({ path, description }) => (
            <tr key={path} aria-selected={path === state}>
              <th scope="row">
                {path === state ? '● ' : ''}
                {path}
              </th>
              <td>{description}</td>
              <td>
                {arrows
                  .filter(({ from }) => from === path)
                  .map(({ on }) => on.slice(path.length + 2))
                  .join('; ')}
              </td>
            </tr>
          ))}
        </Table>
      </details>
    </section>
  )
}
