/** Keeps in the log how far its events are published, so that the next head publishes no more than it must. */
import type { EventLog } from '../../events/log.ts'
import { type EventPublisher, OLDEST_OPEN } from './publisher.ts'

export type PublishedCursor = {
  /** Appends, and stores the cursor in the same transaction if it has moved. */
  readonly storeWith: <Result>(append: (meta?: Readonly<Record<string, string>>) => Result) => Result
  /** Stores the cursor alone if it has moved. A full disk is no error. */
  readonly keep: () => void
}

export function openPublishedCursor(
  log: Pick<EventLog, 'meta' | 'setMeta'>,
  publisher: Pick<EventPublisher, 'confirmed' | 'oldestOpen'>,
): PublishedCursor {
  let saved = Number(log.meta('published') ?? 0)
  return {
    storeWith(append) {
      const confirmed = publisher.confirmed()
      if (confirmed <= saved) return append()
      const result = append({
        published: String(confirmed),
        [OLDEST_OPEN]: String(publisher.oldestOpen()),
      })
      saved = confirmed
      return result
    },
    keep() {
      const confirmed = publisher.confirmed()
      if (confirmed <= saved) return
      try {
        log.setMeta('published', String(confirmed))
        saved = confirmed
      } catch {
        // The disk is full. The cursor is kept later, and readers drop what is published twice.
      }
    },
  }
}
