/** Rules of the adapter's decider: what its machine asks before a transition, and what it does on one. */
import type { Direction } from '../../environments/port.ts'
import { seedOf } from '../../random.ts'
import {
  type Books,
  bookkeeping,
  bookOf,
  type Group,
  groupKnown,
  type IterationBook,
  inOrder,
  type NeedConfig,
  needOf,
  tallyOf,
} from '../decider/books.ts'
import { askFor, decide, doneBy, fold } from '../decider/fold.ts'
import { byText, firstSlotOf } from '../decider/names.ts'

export type AdapterContext = {
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
type Guarded = { readonly context: Context }

export function emptyAdapterContext(): AdapterContext {
  return { books: new Map(), complaints: new Map(), versions: new Map(), known: null, outstanding: 0 }
}

export function adapterGuards(config: NeedConfig) {
  return {
    groupKnown: ({ context }: Guarded) => context.known !== null,
    isTooEasy: ({ context }: Guarded) => directionOf(context, config) === 'harder',
    isTooHard: ({ context }: Guarded) => directionOf(context, config) === 'easier',
    rewritesOutstanding: ({ context }: Guarded) => context.outstanding > 0,
    allAnswered: ({ context }: Guarded) => context.outstanding === 0,
  }
}

/** @param judging whether rollouts are judged */
export function adapterActions(judging: boolean, config: NeedConfig) {
  return {
    ...bookkeeping<Context>(),
    rememberTask: fold('TaskAdded', ({ versions }: Context, { split, slot, task }) => {
      if (split === 'train') versions.set(slot, [task.id])
    }),
    rememberProposal: fold('TaskProposed', (context: Context, { slot, task }) => {
      context.versions.get(firstSlotOf(slot))?.push(task.id)
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
        if (book && group && groupKnown(group, judging)) context.known = { book, group }
      },
    ),
    askForHarder: askForRewrite('harder', config),
    askForEasier: askForRewrite('easier', config),
    leaveTask: decide((context: Context) => {
      context.known = null
      return []
    }),
    closeIteration: fold('IterationCompleted', (context: Context, { iteration }) => {
      context.books.delete(iteration)
      context.complaints.delete(iteration)
    }),
  }
}

/** Returns which candidate the task of the known group needs. Returns null if it needs none. */
function directionOf({ known }: Context, config: NeedConfig): Direction | null {
  return known && needOf(known.book, known.group, config)
}

function askForRewrite(direction: Direction, { run, adaptation }: NeedConfig) {
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
          critique: critiqueOf(context, iteration, group, adaptation.expert.critiques),
          // A copy: the job is asked for now, and versions come later.
          taken: [...(context.versions.get(firstSlotOf(slot)) ?? [task])],
          seed: seedOf(run.seed, 'rewrite', iteration, slot),
        },
        run.deadlines.expert.rewriteSeconds,
      ),
    ]
  })
}

/** Returns at most `most` complaints about the failed rollouts, the commonest first. Each counts once a rollout. */
export function critiqueOf(
  { complaints }: Pick<AdapterContext, 'complaints'>,
  iteration: number,
  group: Group,
  most: number,
): string {
  const counts = new Map<string, number>()
  for (const { id, success } of inOrder(group.scored))
    if (!success)
      for (const text of new Set(complaints.get(iteration)?.get(id)))
        counts.set(text, (counts.get(text) ?? 0) + 1)
  return [...counts]
    .sort(([a, countA], [b, countB]) => countB - countA || byText(a, b))
    .slice(0, most)
    .map(([text, count]) => `${count}x ${text}`)
    .join('\n')
}
