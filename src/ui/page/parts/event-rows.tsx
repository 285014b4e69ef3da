/** Events as a table. Quiet ones in a row are one row, which can be opened. */
import { type ComponentChildren, Fragment } from 'preact'
import type { EventRow } from '../../logic/answers.ts'
import { clock, count, visible } from '../../logic/format.ts'
import { ask, query } from '../place.ts'
import { Said } from './states.tsx'
import { Table } from './table.tsx'

type RowsProps = {
  readonly rows: readonly EventRow[]
  readonly chosen: string | null
  /** Events of a folded row. */
  readonly inner?: (row: EventRow) => ComponentChildren
}

export function Rows({ rows, chosen, inner }: RowsProps) {
  const open = query.value.get('open')
  return (
    <Table names={['position', 'time', 'type', 'actor', 'what']}>
      {rows.map((row) => {
        const at = String(row.position)
        const isFolded = (row.count ?? 1) > 1
        return (
          <Fragment key={row.position}>
            <tr
              data-row
              class={at === chosen ? 'chosen' : isFolded ? 'folded' : ''}
              aria-selected={at === chosen}
            >
              <th scope="row">
                <button type="button" class="quiet" onClick={() => ask({ sel: at })}>
                  {count(row.position)}
                </button>
              </th>
              <td>{clock(row.time)}</td>
              <td>{row.type}</td>
              <td>{visible(row.actor)}</td>
              <td class="what" title={visible(row.text)}>
                {isFolded && inner !== undefined ? (
                  <button
                    type="button"
                    class="quiet"
                    aria-expanded={open === at}
                    onClick={() => ask({ open: open === at ? null : at }, 'replace')}
                  >
                    {open === at ? '▾' : '▸'} {count(row.count ?? 0)} in a row, to{' '}
                    {count(row.until ?? row.position)}
                  </button>
                ) : (
                  <Said text={row.text} />
                )}
              </td>
            </tr>
            {isFolded && open === at && (
              <tr>
                <td colSpan={5} class="inner-rows">
                  {inner?.(row)}
                </td>
              </tr>
            )}
          </Fragment>
        )
      })}
    </Table>
  )
}
