/** A slot over the iterations: what was tried on its task, and how that ended. */
import { share, visible } from '../../logic/format.ts'
import type { TaskLane as Lane, LaneMark } from '../../logic/tasks-page.ts'

export const MARKS: Readonly<Record<LaneMark['kind'], string>> = {
  played: '·',
  proposed: '◇',
  accepted: '◆',
  rejected: '○',
  refused: '×',
}

const HEIGHT = 20
const PAD = 8

/** Colour of a share: five steps from never solved to always solved. */
function colourOf(accuracy: number | null): string {
  return accuracy === null ? '' : `acc${Math.min(4, Math.floor(accuracy * 5))}`
}

function wordsOf({ iteration, kind, direction, accuracy, reason }: LaneMark): string {
  const what = direction === null ? kind : `${direction} ${kind}`
  const solved = accuracy === null ? '' : `, solved ${share(accuracy)}`
  return `${iteration}: ${what}${solved}${reason === null ? '' : `, ${visible(reason)}`}`
}

type TaskLaneProps = { readonly lane: Lane; readonly last: number; readonly width: number }

export function TaskLane({ lane: { slot, marks }, last, width }: TaskLaneProps) {
  const x = (iteration: number) => PAD + (iteration / Math.max(1, last)) * (width - 2 * PAD)
  return (
    <svg
      class="task-lane"
      width={width}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role="img"
      aria-label={`${slot}: ${marks
        .filter(({ kind }) => kind !== 'played')
        .map(wordsOf)
        .join('; ')}`}
    >
      <line x1={PAD} x2={width - PAD} y1={HEIGHT / 2} y2={HEIGHT / 2} />
      {marks.map((mark) =>
        mark.kind === 'played' ? (
          <circle
            key={`${mark.iteration} played`}
            class={`played ${colourOf(mark.accuracy)}`}
            cx={x(mark.iteration)}
            cy={HEIGHT / 2}
            r={2.5}
          >
            <title>{wordsOf(mark)}</title>
          </circle>
        ) : (
          <text
            key={`${mark.iteration} ${mark.kind}`}
            class={`mark ${colourOf(mark.accuracy)}`}
            // A refusal belongs to the iteration that played the task.
            x={x(mark.iteration) + (mark.kind === 'refused' ? 7 : 0)}
            y={HEIGHT / 2 + 5}
            text-anchor="middle"
          >
            {MARKS[mark.kind]}
            <title>{wordsOf(mark)}</title>
          </text>
        ),
      )}
    </svg>
  )
}
