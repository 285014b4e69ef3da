/** One event: its data in plain fields, what led to it and what it led to, and what it changed in the deciders. */
import type { Change, DeciderAt, EventPage, StatesPage } from '../../logic/answers.ts'
import { clock, count, visible } from '../../logic/format.ts'
import { ofRun, useAnswer } from '../answers.ts'
import { Rows } from '../parts/event-rows.tsx'
import { Notes } from '../parts/notes.tsx'
import { Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { Tree } from '../parts/tree.tsx'
import { ask, query } from '../place.ts'

/** Most characters of an event's JSON on the page. */
const MOST_JSON = 60_000
const BUILDING_MS = 700

export function OneEvent() {
  const answer = useAnswer<EventPage>(() => {
    const sel = query.value.get('sel')
    return sel === null
      ? null
      : ofRun(`/events/${encodeURIComponent(sel)}`, { columns: query.value.get('columns') })
  })
  return (
    <section aria-label="one event" class="one-event">
      <Shown answer={answer.value}>
        {(page) => (
          <>
            <h2>
              {count(page.position)} · {String(page.event.type)}
            </h2>
            <p>{page.summary}</p>
            <p>
              <button type="button" onClick={() => ask({ at: String(page.position) })}>
                go to this moment
              </button>{' '}
              <button type="button" class="quiet" onClick={() => ask({ sel: null, tab: null })}>
                close
              </button>
            </p>
            <Notes key={page.position} position={page.position} />
            <Tabs
              part="tab"
              label="about this event"
              tabs={[
                { name: 'event', title: 'Event', panel: () => <Plain page={page} /> },
                { name: 'causes', title: 'Led to, caused by', panel: () => <Causes page={page} /> },
                { name: 'state', title: 'State', panel: () => <States /> },
              ]}
            />
          </>
        )}
      </Shown>
    </section>
  )
}

/** The screen of every type of event: its fields, whatever they are. */
function Plain({ page: { event, key } }: { page: EventPage }) {
  const { data, ...envelope } = event
  const isWhole = query.value.get('columns') === '1'
  return (
    <>
      <Tree value={data} />
      <h3>Envelope</h3>
      <dl class="figures">
        {Object.entries({
          ...envelope,
          time: clock(Number(envelope.time)),
          'natural key': key ?? 'none',
        }).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              <Said text={value === null ? 'none' : String(value)} />
            </dd>
          </div>
        ))}
      </dl>
      <details>
        <summary>as JSON</summary>
        <button type="button" onClick={() => ask({ columns: isWhole ? null : '1' }, 'replace')}>
          {isWhole ? 'numbers of columns: hide' : 'numbers of columns: show'}
        </button>
        <pre>{visible(JSON.stringify(event, null, 1)).slice(0, MOST_JSON)}</pre>
      </details>
    </>
  )
}

function Causes({ page: { causes, led, unread } }: { page: EventPage }) {
  return (
    <>
      <h3>Caused by</h3>
      {causes.length === 0 ? <p class="muted">nothing in the log</p> : <Rows rows={causes} chosen={null} />}
      <h3>Led to</h3>
      {unread !== null && <p class="alarm">the events after it cannot be read: {visible(unread)}</p>}
      {led.length === 0 ? (
        <p class="muted">nothing in the 3,000 events after it</p>
      ) : (
        <Rows rows={led} chosen={null} />
      )}
    </>
  )
}

/** States of the deciders after the event, and the difference to the position before. */
function States() {
  const answer = useAnswer<StatesPage>(
    () => {
      const sel = query.value.get('sel')
      const url = sel === null ? null : ofRun('/states', { at: sel, context: query.value.get('context') })
      return url
    },
    undefined,
    ({ deciders }) => (deciders === null ? BUILDING_MS : null),
  )
  return (
    <Shown answer={answer.value}>
      {({ deciders, built }) =>
        deciders === null ? (
          <p role="status">not built yet: {Math.floor(built * 100)} % of the log is read</p>
        ) : (
          deciders.map((decider) => <Decider key={decider.role} decider={decider} />)
        )
      }
    </Shown>
  )
}

function Decider({ decider }: { decider: DeciderAt }) {
  const { role, state, before, since, reads, changes, changed, context } = decider
  const isOpen = query.value.get('context') === role
  return (
    <section class="decider-state" aria-label={role}>
      <h3>
        {role}: {before !== null && before !== state && <span class="muted">{before} → </span>}
        <span class="now-state">{state}</span>
      </h3>
      <p class="muted">
        {since !== null && `in this state since ${count(since)}. `}
        {reads
          ? changed === 0
            ? 'The event changed nothing in it.'
            : `The event changed ${count(changed)} ${changed === 1 ? 'value' : 'values'}.`
          : 'It does not read events of this type.'}
      </p>
      {changes.length > 0 && <Changes changes={changes} changed={changed} />}
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => ask({ context: isOpen ? null : role }, 'replace')}
      >
        {isOpen ? 'hide what it knows' : 'all that it knows'}
      </button>
      {isOpen && context !== null && <Tree value={context} />}
    </section>
  )
}

function Changes({ changes, changed }: { changes: readonly Change[]; changed: number }) {
  return (
    <>
      <Table names={['value', 'before', 'after']}>
        {changes.map(({ path, before, after }) => (
          <tr key={path}>
            <th scope="row">
              <Said text={path} />
            </th>
            <td>
              <Said text={before ?? '–'} />
            </td>
            <td>
              <Said text={after ?? '–'} />
            </td>
          </tr>
        ))}
      </Table>
      {changed > changes.length && <p class="muted">{count(changed - changes.length)} more</p>}
    </>
  )
}
