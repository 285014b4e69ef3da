/** The adapter's decider: which active tasks need a harder or an easier candidate, and what their failures have in common. */
import { setup } from 'xstate'
import type { Config } from '../../config.ts'
import type { LoggedEvent } from '../../events/catalogue.ts'
import { seedOf } from '../../random.ts'
import { BOOK_ENTRIES, BOOK_EVENTS, type Books, bookkeeping } from '../decider/bookkeeping.ts'
import { type Group, groupOver, type IterationBook, inOrder, needOf, tallyOf } from '../decider/books.ts'
import type { Decider, Output } from '../decider/decider.ts'
import { askFor, doneBy, fold } from '../decider/fold.ts'
import type { RewriteTask } from '../decider/jobs.ts'
import { byText } from '../decider/names.ts'

export type AdapterContext = {
  readonly books: Books
  /** Complaints about a trajectory, by rollout, until its iteration is completed. */
  readonly complaints: Map<number, Map<string, readonly string[]>>
  /** Every task that a training slot ever held or was proposed, by slot. */
  readonly versions: Map<string, string[]>
  /** Rewrites that are asked for and not answered. */
  outstanding: number
}

type Context = AdapterContext

export function adapterDecider(config: Config): Decider {
  const judging = config.rewardModel.mode !== 'off'

  /** A rewrite as soon as all that is to be known of the group is known, once. */
  function rewriteIfDue(context: Context, iteration: number, slot: string): Output[] {
    const book = context.books.get(iteration)
    const group = book?.groups.get(slot)
    if (!book || !group || !groupOver(book, group)) return []
    if (judging && group.judged < group.scored.length) return []
    const direction = needOf(book, group, config)
    if (direction === null) return []
    context.outstanding++
    return [
      askFor<RewriteTask>(
        'rewrite',
        doneBy('TaskProposed', { slot, iteration }),
        {
          iteration,
          slot,
          parent: group.task,
          direction,
          parentAccuracy: tallyOf(group),
          critique: critiqueOf(context, book, group),
          taken: context.versions.get(slot) ?? [group.task],
          seed: seedOf(config.run.seed, 'rewrite', iteration, slot),
        },
        config.run.deadlines.rewriteSeconds,
      ),
    ]
  }

  /** The commonest complaints about the failed rollouts: each counts once a rollout. */
  function critiqueOf({ complaints }: Context, book: IterationBook, group: Group): string {
    const counts = new Map<string, number>()
    for (const { id, success } of inOrder(group.scored))
      if (!success)
        for (const text of new Set(complaints.get(book.iteration)?.get(id)))
          counts.set(text, (counts.get(text) ?? 0) + 1)
    return [...counts]
      .sort(([a, countA], [b, countB]) => countB - countA || byText(a, b))
      .slice(0, config.adaptation.critiques)
      .map(([text, count]) => `${count}x ${text}`)
      .join('\n')
  }

  const machine = setup({
    types: { context: {} as Context, events: {} as LoggedEvent, emitted: {} as Output },
    guards: {
      rewritesOutstanding: ({ context }) => context.outstanding > 0,
      allAnswered: ({ context }) => context.outstanding === 0,
    },
    actions: {
      ...bookkeeping<Context>(),
      rememberTask: fold('TaskAdded', ({ versions }: Context, { split, slot, task }) => {
        if (split === 'train') versions.set(slot, [task.id])
        return undefined
      }),
      rememberProposal: fold('TaskProposed', (context: Context, { slot, task }) => {
        context.versions.get(slot)?.push(task.id)
        context.outstanding--
        return undefined
      }),
      noteRefusal: fold('TaskRejected', (context: Context, { task }) => {
        if (task === null) context.outstanding--
        return undefined
      }),
      noteComplaints: fold(
        'TrajectoryJudged',
        (context: Context, { purpose, iteration, rollout, complaints }) => {
          if (purpose !== 'train' || complaints.length === 0 || !context.books.has(iteration))
            return undefined
          const ofIteration = context.complaints.get(iteration) ?? new Map<string, readonly string[]>()
          ofIteration.set(
            rollout,
            complaints.map(({ critique }) => critique),
          )
          context.complaints.set(iteration, ofIteration)
          return undefined
        },
      ),
      rewriteIfDue: fold('TrajectoryCompleted', (context: Context, { purpose, iteration, slot }) =>
        purpose === 'train' ? rewriteIfDue(context, iteration, slot) : [],
      ),
      rewriteIfDueAfterFailure: fold('RolloutFailed', (context: Context, { purpose, iteration, slot }) =>
        purpose === 'train' ? rewriteIfDue(context, iteration, slot) : [],
      ),
      rewriteIfDueAfterVerdict: fold('TrajectoryJudged', (context: Context, { purpose, iteration, slot }) =>
        purpose === 'train' ? rewriteIfDue(context, iteration, slot) : [],
      ),
      closeIteration: fold('IterationCompleted', (context: Context, { iteration }) => {
        context.books.delete(iteration)
        context.complaints.delete(iteration)
        return undefined
      }),
    },
  }).createMachine({
    id: 'adapter',
    description: 'Decides which tasks need a harder or an easier candidate.',
    context: () => ({ books: new Map(), complaints: new Map(), versions: new Map(), outstanding: 0 }),
    initial: 'idle',
    states: {
      idle: { description: 'No run yet.', on: { RunStarted: { target: 'serving' } } },
      serving: {
        initial: 'watching',
        on: {
          ...BOOK_ENTRIES,
          TaskAdded: { actions: 'rememberTask' },
          TrajectoryCompleted: { actions: ['enterTrajectory', 'rewriteIfDue'] },
          RolloutFailed: { actions: ['enterFailure', 'rewriteIfDueAfterFailure'] },
          TrajectoryJudged: { actions: ['enterJudged', 'noteComplaints', 'rewriteIfDueAfterVerdict'] },
          TaskProposed: { actions: 'rememberProposal' },
          TaskRejected: { actions: ['enterRejected', 'noteRefusal'] },
          IterationCompleted: { actions: 'closeIteration' },
          RunCompleted: { target: 'finished' },
        },
        states: {
          watching: {
            description: 'Accuracies and complaints come in.',
            always: { guard: 'rewritesOutstanding', target: 'rewriting' },
          },
          rewriting: {
            description: 'Rewrites are asked for and not all answered.',
            always: { guard: 'allAnswered', target: 'watching' },
          },
        },
      },
      finished: { description: 'The run is over.' },
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
    version: 1,
    withConfig: adapterDecider,
  }
}
