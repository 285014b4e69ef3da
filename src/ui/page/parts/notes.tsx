/** Notes on a run or on one event, and a field for the next one. */
import { useSignal } from '@preact/signals'
import type { Fault } from '../../logic/answers.ts'
import { count, day } from '../../logic/format.ts'
import type { NotesPage } from '../../logic/notes-page.ts'
import { pathOf } from '../../logic/route.ts'
import { fetchAnswer, mayAct, ofRun, useAnswer } from '../answers.ts'
import { noted } from '../noted.ts'
import { route } from '../place.ts'
import { isReport } from '../report.ts'
import { FaultBox, Said } from './states.tsx'
import './notes.css'

/** @param position the event, or null for the run */
export function Notes({ position }: { position: number | null }) {
  const answer = useAnswer<NotesPage>(() =>
    isReport
      ? null
      : ofRun('/notes', {
          on: position === null ? null : String(position),
          kept: noted.value === 0 ? null : String(noted.value),
        }),
  )
  if (isReport) return null
  const { data, fault } = answer.value
  const run = route.value?.run ?? ''
  const content = (
    <>
      {fault !== null && <FaultBox fault={fault} />}
      <ul class="plain">
        {data?.notes.map((note) => (
          <li key={`${note.time} ${note.text}`} data-row>
            <a href={`${pathOf(run, 'events')}?sel=${note.position}`}>{count(note.position)}</a>{' '}
            <span class="muted">
              {day(note.time)}
              {position === null && note.about === 'event' ? ', on the event' : ''}
            </span>
            <div>
              <Said text={note.text} />
            </div>
          </li>
        ))}
      </ul>
      {data !== null && data.total > data.notes.length && (
        <p class="muted">{count(data.total - data.notes.length)} older ones are left out</p>
      )}
      {mayAct.value && <NewNote position={position} />}
    </>
  )
  if (position === null)
    return (
      <section class="notes">
        <h2>Notes</h2>
        {content}
      </section>
    )
  // An event is read more often than a note is written on it.
  const total = data?.total ?? 0
  return (
    <details class="notes" open={total > 0 || fault !== null}>
      <summary>notes: {count(total)}</summary>
      {content}
    </details>
  )
}

function NewNote({ position }: { position: number | null }) {
  const text = useSignal('')
  const fault = useSignal<Fault | null>(null)
  async function keep(): Promise<void> {
    try {
      await fetchAnswer(ofRun('/notes').split('?')[0], {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ text: text.value, position }),
      })
      text.value = ''
      fault.value = null
      noted.value++
    } catch (error) {
      fault.value = error as Fault
    }
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void keep()
      }}
    >
      <label>
        {position === null ? 'a note on this run' : `a note on event ${count(position)}`}
        <textarea
          rows={2}
          maxLength={4000}
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
      </label>
      {fault.value !== null && <FaultBox fault={fault.value} />}
      <button type="submit" disabled={text.value.trim() === ''}>
        keep the note
      </button>
    </form>
  )
}
