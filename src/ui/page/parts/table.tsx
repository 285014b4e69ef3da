/** A table with the names of its columns. */
import type { ComponentChildren } from 'preact'
import { visible } from '../../logic/format.ts'

export function Table({ names, children }: { names: readonly string[]; children: ComponentChildren }) {
  return (
    <table>
      <thead>
        <tr>
          {names.map((name) => (
            <th scope="col" key={name}>
              {visible(name)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}
