/** Any plain value as a tree. Inner values are drawn when they are opened. */
import { useState } from 'preact/hooks'
import { visible } from '../../logic/format.ts'
import { branchesOf } from '../../logic/tree.ts'
import { Said } from './states.tsx'
import './tree.css'

/** Trees are open to this depth, if they are small. */
const OPEN_DEPTH = 2
const OPEN_SIZE = 30

export function Tree({ value, depth = 0 }: { value: unknown; depth?: number }) {
  if (typeof value !== 'object' || value === null) return <Said text={String(value)} />
  const { list, more } = branchesOf(value)
  return (
    <ul class="tree">
      {list.map(({ name, text, kind, size, value }) => (
        <li key={name}>
          {text === null ? (
            <Inner name={name} value={value} size={size} kind={kind} depth={depth} />
          ) : (
            <>
              <span class="field">{visible(name)}</span> <Said text={text} class={kind} />
            </>
          )}
        </li>
      ))}
      {more > 0 && <li class="muted">{more} more</li>}
    </ul>
  )
}

type InnerProps = {
  readonly name: string
  readonly value: unknown
  readonly size: number
  readonly kind: string
  readonly depth: number
}

function Inner({ name, value, size, kind, depth }: InnerProps) {
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH && size <= OPEN_SIZE)
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <span class="field">{visible(name)}</span>{' '}
        <span class="muted">
          {size} {kind === 'list' ? (size === 1 ? 'item' : 'items') : size === 1 ? 'field' : 'fields'}
        </span>
      </summary>
      {isOpen && <Tree value={value} depth={depth + 1} />}
    </details>
  )
}
