/** The actors of a run: their machines at a position, what is awaited from whom, and the processes as the head hears of them. */
import type { AnyStateMachine } from 'xstate'
import { describe, statesOf, transitionsOf } from '../../actors/decider/chart.ts'
import { decidersOf } from '../../actors/deciders.ts'
import { askHead, type LiveRun } from '../../actors/head/liveness.ts'
import type { WatchedActor } from '../../actors/head/watch.ts'
import { parseConfig } from '../../config.ts'
import { explain } from '../../errors.ts'
import { hostRows } from '../../projections/host-rows.ts'
import type { ActorRow, ActorsPage, EventRow, MachineChart } from '../logic/answers.ts'
import { knownLives } from './lives.ts'
import { textOf } from './notable.ts'
import type { OpenRun } from './open-runs.ts'
import type { Answers } from './past/asks.ts'

const MOST_ROWS = 12

/** @param isLive false if a past moment is shown: its heartbeats are not recorded */
export async function actorsPage(run: OpenRun, at: number, isLive: boolean): Promise<ActorsPage> {
  const { log, past } = run
  const [{ built, states, waits, unread }, live] = await Promise.all([
    past
      .askSoon('waits', { at })
      .then((found) => ({ ...(found ?? UNBUILT), unread: null }))
      .catch((error: unknown) => ({ ...UNBUILT, unread: explain(error) })),
    isLive ? liveOf(run) : { unreachable: 'this is the past' },
  ])
  const time = log.row(at)?.time ?? null
  const beats = new Map(
    'actors' in live
      ? live.actors.filter(({ decider }) => decider).map(({ role, state }) => [role as string, state])
      : [],
  )
  const rows = (types: Parameters<typeof log.newest>[0]): EventRow[] => {
    const found: EventRow[] = []
    for (let until = at; found.length < MOST_ROWS; ) {
      const event = log.newest(types, until)
      if (event === null) break
      const { position, time, type, actor } = event
      found.push({ position, time, type, actor, text: textOf(event).slice(0, 300) })
      until = position - 1
    }
    return found
  }
  return {
    position: at,
    built,
    unread,
    machines: charts().map((chart) => {
      const now = states[chart.role]
      const began = now === undefined ? null : (log.row(now.since)?.time ?? null)
      return {
        ...chart,
        // Until the log is read, a living decider tells its state itself.
        state: now?.state ?? beats.get(chart.role) ?? null,
        since:
          now === undefined
            ? null
            : {
                position: now.since,
                seconds: time === null || began === null ? null : (time - began) / 1000,
              },
      }
    }),
    waits,
    ...('unreachable' in live
      ? { live: null, whyNot: live.unreachable, queues: null }
      : {
          live: {
            actors: live.actors.map(actorRow),
            openWork: live.openWork,
            position: live.position,
            deadLetters: live.deadLetters,
            brokerRestarts: live.brokerRestarts,
          },
          whyNot: null,
          queues: live.queues ?? null,
        }),
    hosts: isLive ? hostsOf(run) : null,
    started: rows(['ActorStarted']),
    troubles: rows(['ActorFailed', 'StallDetected', 'WorkFailed', 'HostSetAside']),
  }
}

/** Lines of a page are few. */
const MOST_HOSTS = 200

function hostsOf({ figures }: OpenRun): ActorsPage['hosts'] {
  const folded = figures.read()
  if (folded === null) return null
  return hostRows(folded.db, MOST_HOSTS).map(({ weights, mostAge, ...row }) => ({
    ...row,
    weights: weights && {
      mean: weights.mean,
      most: weights.most,
      effectiveShare: weights.effective / weights.tokens,
      cutShare: weights.cutShare,
    },
  }))
}

const UNBUILT: Answers['waits'] = { built: 0, states: {}, waits: null }

async function liveOf({ folder }: OpenRun): Promise<LiveRun | { readonly unreachable: string }> {
  return (await knownLives(folder)) ? askHead(folder) : { unreachable: 'no head is running' }
}

function actorRow(actor: WatchedActor): ActorRow {
  const { worker, role, host, pid, state, decider, position, silentMs, stalled, rssMb, startedAt } = actor
  const now = Date.now()
  return {
    worker,
    role,
    host,
    pid,
    state,
    decider,
    position,
    silentMs,
    stalled,
    rssMb,
    startedAt,
    counters: actor.counters,
    waits: actor.waits.map(({ owner, waitingFor, from, since, deadline }) => ({
      owner,
      waitingFor,
      from,
      seconds: (now - since) / 1000,
      of: (deadline - since) / 1000,
    })),
  }
}

let made: readonly Chart[] | undefined

/** Charts of all machines. Their states and arrows are the same under every config. */
function charts(): readonly Chart[] {
  made ??= decidersOf(parseConfig({})).map(({ role, machine }) => ({ role, ...chartOf(machine) }))
  return made
}

type Chart = Pick<MachineChart, 'role' | 'description' | 'states' | 'arrows'>

/** Arrows of a state lead to inner states by their full path. */
function chartOf(machine: AnyStateMachine): Omit<Chart, 'role'> {
  const states = statesOf(machine)
  return {
    description: machine.root.description ?? '',
    states: states.map((node) => ({
      path: node.path.join('.'),
      description: node.description ?? '',
      initial: node.parent?.initial?.target?.includes(node) ?? false,
      final: node.type === 'final',
      inner: node.path.length > 1,
    })),
    arrows: states.flatMap((node) =>
      transitionsOf(node).flatMap((transition) =>
        (transition.target ?? []).map((target) => ({
          from: node.path.join('.'),
          to: target.path.join('.'),
          on: describe(transition),
        })),
      ),
    ),
  }
}
