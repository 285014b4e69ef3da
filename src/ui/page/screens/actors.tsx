/** Actors: who waits for whom, queues, processes and hosts, and each decider's machine with its state. */
import type { ActorRow, ActorsPage, EventRow, WaitRow } from '../../logic/answers.ts'
import { clock, count, duration, share, short, visible } from '../../logic/format.ts'
import { hostsOf } from '../../logic/hosts.ts'
import { ofRun, useAnswer } from '../answers.ts'
import { has } from '../live.ts'
import { Machine } from '../parts/machine.tsx'
import { Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { ask } from '../place.ts'
import './actors.css'

/** Processes are asked this often while a head lives. */
const LIVE_MS = 2_000
const BUILDING_MS = 700
/** The quiet types change no state of a machine. */
const isLoud = (types: readonly string[] | null) =>
  types === null || types.some((type) => type !== 'StepScored')

export function Actors() {
  const answer = useAnswer<ActorsPage>(
    () => ofRun('/actors'),
    (tick) => isLoud(tick.types) || has(tick, 'StallDetected'),
    ({ unread, waits, live }) =>
      waits === null && unread === null ? BUILDING_MS : live !== null ? LIVE_MS : null,
  )
  return (
    <Shown answer={answer.value}>
      {(page) => (
        <>
          <h1>Actors</h1>
          <Waits page={page} />
          {page.live === null ? (
            <p class="muted">Heartbeats, memory, queues and work in hand are not recorded: {page.whyNot}.</p>
          ) : (
            <>
              <div class="two">
                <Queues queues={page.queues} />
                <Hosts live={page.live} />
              </div>
              <Processes live={page.live} />
            </>
          )}
          {page.hosts !== null && page.hosts.length > 0 && <HostRollouts hosts={page.hosts} />}
          <h2>Machines</h2>
          {page.unread !== null && <p class="alarm">{visible(page.unread)}</p>}
          {page.waits === null && page.unread === null && (
            <p role="status">
              States at this position are not built yet: {Math.floor(page.built * 100)} % of the log is read.
            </p>
          )}
          <div class="machines">
            {page.machines.map((machine) => (
              <Machine key={machine.role} machine={machine} />
            ))}
          </div>
          <div class="two">
            <EventList title="Failures and stalls" rows={page.troubles} none="none so far" />
            <EventList title="Processes that began" rows={page.started} none="none is in the log" />
          </div>
        </>
      )}
    </Shown>
  )
}

function Waits({ page: { waits, live } }: { page: ActorsPage }) {
  const all = [
    ...(waits ?? []),
    ...(live?.actors.flatMap((actor) => (actor.role === 'head' && waits !== null ? [] : actor.waits)) ?? []),
  ]
  return (
    <section>
      <h2>Who waits for whom</h2>
      {all.length === 0 ? (
        <p class="muted">{waits === null ? 'not built yet' : 'nobody waits'}</p>
      ) : (
        <ul class="plain waits">
          {all.map((wait) => (
            <Wait key={`${wait.owner} ${wait.waitingFor}`} wait={wait} />
          ))}
        </ul>
      )}
    </section>
  )
}

function Wait({ wait: { owner, waitingFor, from, seconds, of } }: { wait: WaitRow }) {
  const isLate = seconds > of
  return (
    <li class={isLate ? 'late' : ''}>
      <span class="party">{visible(owner)}</span>
      <span aria-hidden="true"> ← </span>
      <span>
        {visible(waitingFor)}{' '}
        <span class="muted">
          ({duration(seconds)} of {duration(of)}
          {isLate ? ', overdue' : ''})
        </span>
      </span>
      <span aria-hidden="true"> — </span>
      <span class="spoken"> from </span>
      <span class="party">{visible(from)}</span>
      <meter
        min={0}
        max={of}
        value={Math.min(seconds, of)}
        aria-label={`waited for ${duration(seconds)} of ${duration(of)}`}
      />
    </li>
  )
}

type Live = NonNullable<ActorsPage['live']>

function Queues({ queues }: { queues: ActorsPage['queues'] }) {
  return (
    <section>
      <h2>Queues</h2>
      {queues === null ? (
        <p class="muted">not measured yet, or this head does not tell</p>
      ) : (
        <Table names={['queue', 'waits', 'in hand', 'handed out again']}>
          {queues.map(({ name, pending, inHand, again }) => (
            <tr key={name}>
              <th scope="row">{visible(name)}</th>
              <td>{count(pending)}</td>
              <td>{count(inHand)}</td>
              <td>{count(again)}</td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

function Hosts({ live }: { live: Live }) {
  return (
    <section>
      <h2>Hosts</h2>
      <Table names={['host', 'processes', 'memory']}>
        {hostsOf(live.actors).map(({ host, processes, rssMb }) => (
          <tr key={host}>
            <th scope="row">{visible(host)}</th>
            <td>{processes}</td>
            <td>{count(rssMb)} MB</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function HostRollouts({ hosts }: { hosts: NonNullable<ActorsPage['hosts']> }) {
  return (
    <section>
      <h2>Rollouts for training by host</h2>
      <p class="muted">
        Ages are policy versions between the one that played and the one that learned. Weights are those of
        the trained tokens.
      </p>
      <Table
        names={[
          ...['host', 'rollouts', 'failed', 'trained', 'dropped', 'ages', 'mean age', 'mean weight'],
          ...['greatest', 'effective', 'cut off'],
        ]}
      >
        {hosts.map(({ host, place, rollouts, failed, trained, dropped, ages, meanAge, weights }) => (
          <tr key={place} data-row>
            <th scope="row">{visible(host)}</th>
            <td>{count(rollouts)}</td>
            <td>{count(failed)}</td>
            <td>{count(trained)}</td>
            <td>{count(dropped)}</td>
            <td>
              {Object.entries(ages)
                .map(([age, number]) => `${age}: ${count(number)}`)
                .join(', ') || '–'}
            </td>
            <td>{short(meanAge)}</td>
            <td>{short(weights?.mean)}</td>
            <td>{short(weights?.most)}</td>
            <td>{share(weights?.effectiveShare ?? null)}</td>
            <td>{short(weights?.cutShare)}</td>
          </tr>
        ))}
      </Table>
    </section>
  )
}

function Processes({ live }: { live: Live }) {
  return (
    <section>
      <h2>Processes</h2>
      <p class="muted">
        {count(live.openWork)} rollouts open, {count(live.deadLetters)} messages that could not be taken,{' '}
        {count(live.brokerRestarts)} restarts of the broker
      </p>
      <Table names={['process', 'host', 'state', 'heartbeat', 'memory', 'behind', 'counters']}>
        {live.actors.map((actor) => (
          <Process key={actor.worker} actor={actor} end={live.position} />
        ))}
      </Table>
    </section>
  )
}

function Process({ actor, end }: { actor: ActorRow; end: number }) {
  const { worker, host, pid, state, position, silentMs, stalled, rssMb, counters } = actor
  return (
    <tr class={stalled ? 'late' : ''} data-row>
      <th scope="row">{visible(worker)}</th>
      <td>
        {visible(host)} {pid}
      </td>
      <td>{visible(state)}</td>
      <td>
        {stalled ? '✗ silent for ' : '♥ '}
        {duration(silentMs / 1000)}
        {stalled ? '' : ' ago'}
      </td>
      <td>{count(rssMb)} MB</td>
      <td>{position === null ? '–' : count(Math.max(0, end - position))}</td>
      <td>
        {Object.entries(counters)
          .map(([name, value]) => `${visible(name)} ${count(Math.round(value))}`)
          .join(', ')}
      </td>
    </tr>
  )
}

function EventList({ title, rows, none }: { title: string; rows: readonly EventRow[]; none: string }) {
  return (
    <section>
      <h2>{title}</h2>
      {rows.length === 0 ? (
        <p class="muted">{none}</p>
      ) : (
        <Table names={['position', 'time', 'what']}>
          {rows.map(({ position, time, type, text }) => (
            <tr key={position} data-row>
              <th scope="row">
                <button type="button" class="quiet" onClick={() => ask({ at: String(position) })}>
                  {count(position)}
                </button>
              </th>
              <td>{clock(time)}</td>
              <td>
                {type} <Said text={text} />
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}
