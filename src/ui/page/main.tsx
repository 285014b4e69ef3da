/** The page: a session, the frame, and the screen that the address names. */
import { render } from 'preact'
import { readable } from '../logic/route.ts'
import { fetchAnswer, isStranger } from './answers.ts'
import { Frame } from './frame.tsx'
import { startKeys } from './keys.ts'
import { isReady } from './live.ts'
import { path } from './place.ts'
import { isReport, openReport } from './report.ts'
import './main.css'

async function begin(): Promise<void> {
  await openReport()
  const token = location.hash.slice(1)
  if (token !== '' && !isReport) {
    history.replaceState(null, '', location.pathname + location.search)
    await fetchAnswer('/api/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ token }),
    }).catch(() => {
      // A browser with a session goes on. Any other is told by the first answer.
      isStranger.value = false
    })
  }
  isReady.value = true
  startKeys()
  const page = document.getElementById('page')
  if (page) render(<Frame />, page)
  path.subscribe(() => {
    document.title = `rl ${readable(path.value).replace(/^\/(r\/)?/, '')}`
  })
}

void begin()
