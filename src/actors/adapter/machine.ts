/** The adapter's decider: which active tasks need a harder or an easier candidate, and what their failures have in common. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { Direction } from '../../environments/port.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { seedOf } from '../../random.ts'
import {
  BOOK_ENTRIES,
  BOOK_EVENTS,
  type Books,
  bookkeeping,
  bookOf,
  type Group,
  groupKnown,
  type IterationBook,
  inOrder,
  needOf,
  tallyOf,
} from '../decider/books.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { askFor, decide, doneBy, fold } from '../decider/fold.ts'
import { byText } from '../decider/names.ts'

type AdapterContext = {
  readonly books: Books
  /** Complaints about a trajectory, by rollout, until its iteration is completed. */
  readonly complaints: Map<number, Map<string, readonly string[]>>
  /** Every task that a training slot ever held or was proposed, by slot. */
  readonly versions: Map<string, string[]>
  /** The group of which everything is known since the last event, until it is weighed. */
  known: { readonly book: IterationBook; readonly group: Group } | null
  /** Rewrites that are asked for and not answered. */
  outstanding: number
}

type Context = AdapterContext

export function adapterDecider(config: Config): Decider {
  const judging = config.rewardModel.mode !== 'off'

  function needs(context: Context): Direction | null {
    return context.known && needOf(context.known.book, context.known.group, config)
  }

  function rewrite(direction: Direction) {
    return decide((context: Context) => {
      const { book, group } = context.known!
      context.known = null
      context.outstanding++
      const { iteration } = book
      const { slot, task } = group
      return [
        askFor(
          'rewrite',
          doneBy('TaskProposed', { slot, iteration }),
          {
            iteration,
            slot,
            parent: task,
            direction,
            parentAccuracy: tallyOf(group),
            critique: critiqueOf(context, iteration, group),
            taken: context.versions.get(slot) ?? [task],
            seed: seedOf(config.run.seed, 'rewrite', iteration, slot),
          },
          config.run.deadlines.expert.rewriteSeconds,
        ),
      ]
    })
  }

  /** The commonest complaints about the failed rollouts: each counts once a rollout. */
  function critiqueOf({ complaints }: Context, iteration: number, group: Group): string {
    const counts = new Map<string, number>()
    for (const { id, success } of inOrder(group.scored))
      if (!success)
        for (const text of new Set(complaints.get(iteration)?.get(id)))
          counts.set(text, (counts.get(text) ?? 0) + 1)
    return [...counts]
      .sort(([a, countA], [b, countB]) => countB - countA || byText(a, b))
      .slice(0, config.adaptation.expert.critiques)
      .map(([text, count]) => `${count}x ${text}`)
      .join('\n')
  }

  const machine = setup({
    types: { context: {} as Context, events: {} as LoggedEvent, emitted: {} as Output },
    guards: {
      groupKnown: ({ context }) => context.known !== null,
      isTooEasy: ({ context }) => needs(context) === 'harder',
      isTooHard: ({ context }) => needs(context) === 'easier',
      rewritesOutstanding: ({ context }) => context.outstanding > 0,
      allAnswered: ({ context }) => context.outstanding === 0,
    },
    actions: {
      ...bookkeeping<Context>(),
      rememberTask: fold('TaskAdded', ({ versions }: Context, { split, slot, task }) => {
        if (split === 'train') versions.set(slot, [task.id])
      }),
      rememberProposal: fold('TaskProposed', (context: Context, { slot, task }) => {
        context.versions.get(slot)?.push(task.id)
        context.outstanding--
      }),
      noteRefusal: fold('TaskRejected', (context: Context, { task }) => {
        if (task === null) context.outstanding--
      }),
      noteComplaints: fold(
        'TrajectoryJudged',
        ({ books, complaints: kept }: Context, { purpose, iteration, rollout, complaints }) => {
          if (purpose !== 'train' || complaints.length === 0 || !books.has(iteration)) return
          const ofIteration = kept.get(iteration) ?? new Map<string, readonly string[]>()
          ofIteration.set(
            rollout,
            complaints.map(({ critique }) => critique),
          )
          kept.set(iteration, ofIteration)
        },
      ),
      noteGroup: fold(
        ['TrajectoryCompleted', 'RolloutFailed', 'TrajectoryJudged'],
        (context: Context, about) => {
          const book = bookOf(context.books, about)
          const group = book?.groups.get(about.slot)
          if (book && group && groupKnown(book, group, judging)) context.known = { book, group }
        },
      ),
      askForHarder: rewrite('harder'),
      askForEasier: rewrite('easier'),
      leaveTask: decide((context: Context) => {
        context.known = null
        return []
      }),
      closeIteration: fold('IterationCompleted', (context: Context, { iteration }) => {
        context.books.delete(iteration)
        context.complaints.delete(iteration)
      }),
    },
  }).createMachine({
    id: 'adapter',
    description: 'Decides which tasks need a harder or an easier candidate.',
    context: () => ({
      books: new Map(),
      complaints: new Map(),
      versions: new Map(),
      known: null,
      outstanding: 0,
    }),
    initial: 'idle',
    states: {
      idle: { description: 'No run yet.', on: { RunStarted: { target: 'serving' } } },
      serving: {
        initial: 'watching',
        on: {
          ...BOOK_ENTRIES,
          TaskAdded: { actions: 'rememberTask' },
          TrajectoryCompleted: { actions: ['enterRollout', 'noteGroup'] },
          RolloutFailed: { actions: ['enterRollout', 'noteGroup'] },
          TrajectoryJudged: { actions: ['enterJudged', 'noteComplaints', 'noteGroup'] },
          TaskProposed: { actions: 'rememberProposal' },
          TaskRejected: { actions: ['enterDecision', 'noteRefusal'] },
          IterationCompleted: { actions: 'closeIteration' },
          RunCompleted: { target: 'finished' },
        },
        states: {
          watching: {
            description: 'Accuracies and complaints come in; no rewrite is outstanding.',
            always: [
              { guard: 'groupKnown', target: 'weighing' },
              { guard: 'rewritesOutstanding', target: 'rewriting' },
            ],
          },
          rewriting: {
            description: 'Rewrites are asked for and not all answered.',
            always: [
              { guard: 'groupKnown', target: 'weighing' },
              { guard: 'allAnswered', target: 'watching' },
            ],
          },
          weighing: {
            description: 'All is known of a group of rollouts: whether its task needs another beside it.',
            always: [
              { guard: 'isTooEasy', target: 'rewriting', actions: 'askForHarder' },
              { guard: 'isTooHard', target: 'rewriting', actions: 'askForEasier' },
              { target: 'watching', actions: 'leaveTask' },
            ],
          },
        },
      },
      finished: { type: 'final', description: 'The run is over.' },
    },
  })

  return {
    role: 'adapter',
    machine,
    interests: new Set([
      ...BOOK_EVENTS,
      'RunStarted',
      'TaskAdded',
      'TaskProposed',
      'IterationCompleted',
      'RunCompleted',
    ] as const),
    decides: {
      TaskProposed: ({ direction }) => askForA(direction),
      TaskRejected: ({ task, direction }) => (task === null ? askForA(direction) : null),
    },
    version: 2,
    withConfig: adapterDecider,
  }
}

function askForA(direction: Direction): 'askForHarder' | 'askForEasier' {
  return direction === 'harder' ? 'askForHarder' : 'askForEasier'
}
