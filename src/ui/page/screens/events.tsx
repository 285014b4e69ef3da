/** Every event: a list with filters, and one event with what led to it and what it led to. */
import type { EventPage, EventRow, EventsPage } from '../../logic/answers.ts'
import { clock, count, visible } from '../../logic/format.ts'
import { ofRun, useAnswer } from '../answers.ts'
import { Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { ask, query } from '../place.ts'

/** Most characters of an event's data on the page. */
const MOST_DATA = 60_000

export function Events() {
  const rows = useAnswer<EventsPage>(
    () =>
      ofRun('/events', {
        from: query.value.get('from'),
        type: query.value.get('type'),
        actor: query.value.get('actor'),
        text: query.value.get('q'),
      }),
    () => query.value.get('from') === null,
  )
  const chosen = query.value.get('sel')
  return (
    <div class="two">
      <section>
        <h1>Events</h1>
        <div class="filters">
          <Filter name="q" label="text" isMain />
          <Filter name="type" label="type" />
          <Filter name="actor" label="actor" />
          <Filter name="from" label="from position" />
        </div>
        <Shown answer={rows.value}>
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
              <Rows rows={rows} chosen={chosen} />
            </>
          )}
        </Shown>
      </section>
      {chosen !== null && <OneEvent />}
    </div>
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

function Rows({ rows, chosen }: { rows: readonly EventRow[]; chosen: string | null }) {
  return (
    <Table names={['position', 'time', 'type', 'actor', 'what']}>
      {rows.map((row) => (
        <tr key={row.position} data-row class={String(row.position) === chosen ? 'chosen' : ''}>
          <th scope="row">
            <button type="button" class="quiet" onClick={() => ask({ sel: String(row.position) })}>
              {count(row.position)}
            </button>
          </th>
          <td>{clock(row.time)}</td>
          <td>{row.type}</td>
          <td>{visible(row.actor)}</td>
          <td>
            <Said text={row.text} />
          </td>
        </tr>
      ))}
    </Table>
  )
}

function OneEvent() {
  const answer = useAnswer<EventPage>(() => {
    const sel = query.value.get('sel')
    return sel === null ? null : ofRun(`/events/${encodeURIComponent(sel)}`)
  })
  return (
    <section aria-label="one event">
      <Shown answer={answer.value}>
        {(page) => (
          <>
            <h2>{count(page.position)}</h2>
            <p>{page.summary}</p>
            <button type="button" onClick={() => ask({ at: String(page.position) })}>
              go to this moment
            </button>
            <h3>Caused by</h3>
            {page.cause === null ? (
              <p class="muted">nothing in the log</p>
            ) : (
              <Rows rows={[page.cause]} chosen={null} />
            )}
            <h3>Led to</h3>
            {page.led.length === 0 ? (
              <p class="muted">nothing near</p>
            ) : (
              <Rows rows={page.led} chosen={null} />
            )}
            <h3>Data</h3>
            <pre>{visible(JSON.stringify(page.event, null, 1)).slice(0, MOST_DATA)}</pre>
          </>
        )}
      </Shown>
    </section>
  )
}
