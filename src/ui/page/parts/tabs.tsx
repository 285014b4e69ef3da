/** Panels of which one is shown. The address tells which. */
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { ask, query } from '../place.ts'
import './tabs.css'

type Tab = { readonly name: string; readonly title: string; readonly panel: () => ComponentChildren }

/** @param part of the query that names the shown panel. Without it the first is shown. */
export function Tabs({ part, label, tabs }: { part: string; label: string; tabs: readonly Tab[] }) {
  const list = useRef<HTMLDivElement>(null)
  const asked = query.value.get(part)
  const shown = Math.max(
    0,
    tabs.findIndex(({ name }) => name === asked),
  )
  const show = (index: number) => ask({ [part]: index === 0 ? null : tabs[index].name }, 'replace')
  const move = (by: number) => {
    const next = (shown + by + tabs.length) % tabs.length
    show(next)
    list.current?.querySelectorAll('button')[next]?.focus()
  }
  return (
    <>
      <div
        ref={list}
        role="tablist"
        aria-label={label}
        class="tabs"
        onKeyDown={(event) => {
          if (event.key === 'ArrowRight') move(1)
          if (event.key === 'ArrowLeft') move(-1)
        }}
      >
        {tabs.map(({ name, title }, i) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`tab-${name}`}
            aria-selected={i === shown}
            aria-controls={`panel-${name}`}
            tabindex={i === shown ? 0 : -1}
            onClick={() => show(i)}
          >
            {title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`panel-${tabs[shown].name}`} aria-labelledby={`tab-${tabs[shown].name}`}>
        {tabs[shown].panel()}
      </div>
    </>
  )
}
