/** Every event: a list with filters and a search, and one event with its data, its causes, and what it changed. */
import type { EventRow, EventsPage } from '../../logic/answers.ts'
import { count } from '../../logic/format.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { Rows } from '../parts/event-rows.tsx'
import { FaultBox, Shown } from '../parts/states.tsx'
import { ask, query } from '../place.ts'
import { useSearch } from '../search.ts'
import { OneEvent } from './one-event.tsx'
import './events.css'

export function Events({ head }: ScreenProps) {
  const chosen = query.value.get('sel')
  return (
    <div class="two events">
      <section>
        <h1>Events</h1>
        <div class="filters">
          <Filter name="q" label="text" isMain />
          <Filter name="type" label="type" />
          <Filter name="actor" label="actor" />
          <Filter name="from" label="from position" />
          <label>
            <input
              type="checkbox"
              checked={query.value.get('fold') !== '0'}
              onChange={(event) => ask({ fold: event.currentTarget.checked ? null : '0' })}
            />{' '}
            fold quiet types
          </label>
        </div>
        {query.value.get('q') === null ? (
          <List chosen={chosen} />
        ) : (
          <Found chosen={chosen} end={head?.at ?? 0} />
        )}
      </section>
      {chosen !== null && <OneEvent />}
    </div>
  )
}

function filters(more: Readonly<Record<string, string | null>>): string {
  const { value } = query
  return ofRun('/events', { type: value.get('type'), actor: value.get('actor'), ...more })
}

function List({ chosen }: { chosen: string | null }) {
  const answer = useAnswer<EventsPage>(
    () => filters({ from: query.value.get('from'), fold: query.value.get('fold') }),
    () => query.value.get('from') === null,
  )
  // The end of the log is read from the newest event down.
  const isEnd = query.value.get('from') === null
  return (
    <Shown answer={answer.value}>
      {({ rows, previous, next }) => (
        <>
          <p>
            <button
              type="button"
              disabled={previous === null}
              onClick={() => ask({ from: String(previous) })}
            >
              earlier
            </button>{' '}
            <button type="button" disabled={next === null} onClick={() => ask({ from: String(next) })}>
              later
            </button>
          </p>
          {rows.length === 0 && <p class="empty">No event here passes the filters.</p>}
          <Rows
            rows={isEnd ? rows.toReversed() : rows}
            chosen={chosen}
            inner={(row) => <Inner row={row} chosen={chosen} />}
          />
        </>
      )}
    </Shown>
  )
}

/** The quiet events of a folded row. */
function Inner({ row, chosen }: { row: EventRow; chosen: string | null }) {
  const answer = useAnswer<EventsPage>(() =>
    filters({ from: String(row.position), until: String(row.until), fold: '0' }),
  )
  return <Shown answer={answer.value}>{({ rows }) => <Rows rows={rows} chosen={chosen} />}</Shown>
}

function Found({ chosen, end }: { chosen: string | null; end: number }) {
  const { search, stop, goOn } = useSearch((from) => {
    const q = query.value.get('q')
    return q === null ? null : filters({ q, from: String(from) })
  })
  const { rows, reached, isRunning, next, fault } = search.value
  return (
    <>
      <p role="status">
        {count(rows.length)} found in {count(reached)} of {count(end)} events{' '}
        {isRunning ? (
          <button type="button" onClick={stop}>
            stop
          </button>
        ) : (
          next !== null && (
            <button type="button" onClick={goOn}>
              go on
            </button>
          )
        )}
      </p>
      {fault !== null && <FaultBox fault={fault} />}
      <Rows rows={rows} chosen={chosen} />
    </>
  )
}

function Filter({ name, label, isMain = false }: { name: string; label: string; isMain?: boolean }) {
  return (
    <label>
      {label}{' '}
      <input
        data-filter={isMain ? 'main' : undefined}
        value={query.value.get(name) ?? ''}
        onChange={(event) => ask({ [name]: event.currentTarget.value })}
      />
    </label>
  )
}
