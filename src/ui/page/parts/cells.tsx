/** The rollouts of a group, a cell each. */
import type { Cell } from '../../logic/answers.ts'
import { pathOfRollout } from '../../logic/route.ts'

type CellsProps = { readonly run: string; readonly cells: readonly Cell[]; readonly shown?: string }

export function Cells({ run, cells, shown }: CellsProps) {
  return (
    <span class="cells">
      {cells.map((cell) => (
        <OneCell key={cell.rollout} run={run} cell={cell} isShown={cell.rollout === shown} />
      ))}
    </span>
  )
}

function OneCell({ run, cell, isShown }: { run: string; cell: Cell; isShown: boolean }) {
  const [glyph, word] = markOf(cell)
  const steps = cell.steps === null ? '' : `, ${cell.steps} steps`
  const label = `${cell.rollout}: ${word}${steps}${cell.trained ? ', trained on' : ''}`
  if (cell.state !== 'played')
    return (
      <span class={`cell ${cell.state}`} title={cell.error ?? label}>
        <span aria-hidden="true">{glyph}</span>
        <span class="spoken">{label}</span>
      </span>
    )
  return (
    <a
      class={`cell ${word.replace(' ', '-')}${cell.trained ? ' trained' : ''}`}
      href={pathOfRollout(run, cell.rollout)}
      aria-label={label}
      aria-current={isShown ? 'true' : undefined}
      title={label}
    >
      {glyph}
    </a>
  )
}

/** Glyph and word of a rollout's end. No meaning is told by colour alone. */
export function markOf({ state, success, value }: Cell): readonly [glyph: string, word: string] {
  if (state === 'open') return ['·', 'open']
  if (state === 'failed') return ['!', 'failed']
  if (success === null) return ['?', 'no outcome']
  if (success) return ['✓', 'success']
  return value === 0 ? ['✗', 'no success'] : ['◐', 'partial credit']
}
