/** The one before and the next one of a row of things. The keys h and l go there too. */
import type { ComponentChildren } from 'preact'

type WalkProps = {
  /** Addresses. Null at an end. */
  readonly before: string | null
  readonly after: string | null
  readonly what: string
  readonly children: ComponentChildren
}

export function Walk({ before, after, what, children }: WalkProps) {
  return (
    <nav class="walk" aria-label={`other ${what}s`}>
      {before === null ? (
        <span class="muted">‹</span>
      ) : (
        <a href={before} data-walk="before" aria-label={`the ${what} before`}>
          ‹
        </a>
      )}{' '}
      {children}{' '}
      {after === null ? (
        <span class="muted">›</span>
      ) : (
        <a href={after} data-walk="after" aria-label={`the next ${what}`}>
          ›
        </a>
      )}
    </nav>
  )
}
