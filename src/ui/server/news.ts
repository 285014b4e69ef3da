/** News of a run for a person who does not look: a stall, a failure, a pause, the end, as `ui.notify` tells them. */
import { newsOf } from '../../actors/head/notify.ts'
import type { LogReader } from '../../events/log-reader.ts'
import type { NewsPage } from '../logic/news-page.ts'

const TYPES = ['StallDetected', 'RunFailed', 'RunPaused', 'RunCompleted'] as const
/** News of one answer, the last ones. */
const MOST = 10

/** @param after position of the last event that is known. Left out: nothing is new yet. */
export function newsPage(log: LogReader, at: number, after: number | undefined): NewsPage {
  if (after === undefined || after >= at) return { position: at, news: [] }
  const news = [...log.events({ from: Math.max(1, after + 1), until: at, types: [...TYPES] })].flatMap(
    (event) => {
      const text = newsOf(event)
      return text === null ? [] : [{ position: event.position, type: event.type, text: text.slice(0, 300) }]
    },
  )
  return { position: at, news: news.slice(-MOST) }
}
