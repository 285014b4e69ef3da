/** What a panel shows while it waits, and if it cannot be shown. */

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Fault, Near } from '../../logic/answers.ts'
import { visible } from '../../logic/format.ts'
import { readable } from '../../logic/route.ts'
import type { Answer } from '../answers.ts'

/** Shown after 150 ms, so that a fast answer does not flicker. */
export function Loading() {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150)
    return () => clearTimeout(timer)
  }, [])
  return isLate ? (
    <p class="loading" role="status">
      loading …
    </p>
  ) : null
}

export function FaultBox({ fault }: { fault: Fault }) {
  const text = `${fault.code}: ${fault.message}${fault.hint === null ? '' : ` (${fault.hint})`}`
  return (
    <section class="fault" role="alert">
      <p>
        <code>{fault.code}</code> {visible(fault.message)}
      </p>
      {fault.hint !== null && <p>{visible(fault.hint)}</p>}
      {fault.near !== undefined && <NearLink near={fault.near} />}
      <button type="button" onClick={() => void navigator.clipboard?.writeText(text)}>
        copy
      </button>
    </section>
  )
}

/** A link to what is nearest to what was asked for. */
function NearLink({ near: { path, ...parts } }: { near: Near }) {
  if (path === undefined && Object.keys(parts).length === 0) return null
  const url = new URL(path ?? location.href, location.href)
  for (const [name, value] of Object.entries(parts)) url.searchParams.set(name, value ?? '')
  const href = url.pathname + url.search
  return (
    <p>
      <a href={href}>
        {href === '/'
          ? 'Go to the list of runs'
          : parts.at === null
            ? 'Go to the end of the log'
            : `Go to the nearest: ${readable(href)}`}
      </a>
    </p>
  )
}

/** Shows an answer as soon as it is there, or what went wrong with it. */
export function Shown<T>({
  answer,
  children,
}: {
  answer: Answer<T>
  children: (data: T) => ComponentChildren
}) {
  if (answer.fault !== null) return <FaultBox fault={answer.fault} />
  if (answer.data === null) return <Loading />
  return <>{children(answer.data)}</>
}

/** Says that there is nothing yet, and what brings it. */
export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}

/** Text of an agent, a model or a user: shown as text, with its steering marks visible. */
export function Said({ text, class: name }: { text: string; class?: string }) {
  return <span class={`said ${name ?? ''}`}>{visible(text)}</span>
}
