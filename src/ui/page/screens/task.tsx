/** One task: its versions, what changed in each, and why each was accepted or not. */
import { count, visible } from '../../logic/format.ts'
import { pathOf, pathOfRollout } from '../../logic/route.ts'
import type { Change } from '../../logic/structural-diff.ts'
import type { TaskPage, TaskProposal, TaskRefusal, TaskTally, TaskVersion } from '../../logic/tasks-page.ts'
import { whyDecided } from '../../logic/why-decided.ts'
import { wordDiff } from '../../logic/word-diff.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { has } from '../live.ts'
import { Posteriors } from '../parts/posteriors.tsx'
import { Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { TaskLane } from '../parts/task-lane.tsx'
import { Walk } from '../parts/walk.tsx'
import { route } from '../place.ts'

export function Task({ head }: ScreenProps) {
  const run = head?.run ?? ''
  const answer = useAnswer<TaskPage>(
    () => ofRun(`/tasks/${encodeURIComponent(route.value?.params.slot ?? '')}`),
    (tick) => has(tick, 'TaskProposed', 'TaskAccepted', 'TaskRejected', 'IterationCompleted'),
  )
  const path = (slot: string | null) => (slot === null ? null : pathOf(run, 'tasks', slot))
  return (
    <Shown answer={answer.value}>
      {(data) => (
        <>
          <h1>{data.slot}</h1>
          <Walk before={path(data.before)} after={path(data.after)} what="rewritten task">
            <a href={pathOf(run, 'tasks')}>tasks</a>
          </Walk>
          <TaskLane lane={data.lane} last={data.last} width={520} />
          <p class="muted">
            {trainedText(data.lane.marks.filter(({ kind }) => kind === 'played').length)}, iterations 0 to{' '}
            {data.last}
          </p>
          {data.history.map((one) =>
            one.is === 'version' ? (
              <Version key={one.position} version={one} run={run} slot={data.slot} />
            ) : (
              <Refusal key={one.position} refusal={one} run={run} slot={data.slot} />
            ),
          )}
        </>
      )}
    </Shown>
  )
}

function trainedText(times: number): string {
  return times === 0 ? 'not trained on yet' : times === 1 ? 'trained on once' : `trained on ${times} times`
}

type Of<T> = { readonly run: string; readonly slot: string } & T

function Version({ version, run, slot }: Of<{ readonly version: TaskVersion }>) {
  const { proposal } = version
  const decision = proposal?.decision ?? null
  const state =
    proposal === null
      ? 'the first task'
      : decision === null
        ? 'a candidate, not decided yet'
        : decision.accepted
          ? '◆ accepted'
          : '○ rejected'
  return (
    <section class="task-version" aria-label={`task ${version.task}`}>
      <h2>
        {proposal === null ? '' : `${proposal.direction}: `}
        {state}
        {version.isActive && ' · played now'}
      </h2>
      <p class="muted">
        <Said text={version.task} />, <Said text={version.kind} />,{' '}
        <a href={`${pathOf(run, 'events')}?sel=${version.position}`}>event {count(version.position)}</a>
      </p>
      <h3>Goal</h3>
      <p>
        {version.parentGoal === null ? (
          <Said text={version.goal} />
        ) : (
          <WordDiff before={version.parentGoal} after={version.goal} />
        )}
      </p>
      {proposal !== null && <Why proposal={proposal} run={run} slot={slot} />}
      {version.changes.length > 0 && <Changes changes={version.changes} />}
      {proposal !== null && proposal.critique !== '' && <Critique proposal={proposal} run={run} />}
      <details>
        <summary>recipe</summary>
        <pre>
          <Said text={version.recipe} />
        </pre>
      </details>
    </section>
  )
}

function WordDiff({ before, after }: { before: string; after: string }) {
  return wordDiff(before, after).map(({ kind, text }, i) =>
    kind === 'same' ? (
      <Said key={i} text={text} />
    ) : kind === 'gone' ? (
      <del key={i}>
        <Said text={text} />
      </del>
    ) : (
      <ins key={i}>
        <Said text={text} />
      </ins>
    ),
  )
}

function Why({ proposal, run, slot }: Of<{ readonly proposal: TaskProposal }>) {
  const { decision, direction, parentAccuracy, iteration } = proposal
  if (decision === null)
    return (
      <div class="why-box">
        <p>
          The old task was solved {times(parentAccuracy)} in{' '}
          <Group run={run} iteration={iteration} slot={slot} />, so{' '}
          {direction === 'harder' ? 'a harder' : 'an easier'} one was asked for. The next iteration measures
          it.
        </p>
      </div>
    )
  const { accuracy, accepted, thresholds } = decision
  const said = whyDecided({
    ...decision,
    ...thresholds,
    direction,
    parent: parentAccuracy,
    candidate: accuracy,
  })
  return (
    <>
      <h3>Why was it {accepted ? 'accepted' : 'rejected'}?</h3>
      <div class={`why-box ${accepted ? 'yes' : 'no'}`}>
        {said.map((sentence, i) => (
          <p key={sentence}>{i === 0 ? <strong>{visible(sentence)}</strong> : visible(sentence)}</p>
        ))}
        <p>
          See the rollouts of the old task in <Group run={run} iteration={iteration} slot={slot} />, those of
          the new one in <Group run={run} iteration={decision.iteration} slot={slot} />, and{' '}
          <a href={`${pathOf(run, 'events')}?sel=${decision.position}`}>event {count(decision.position)}</a>.
        </p>
      </div>
      <Posteriors
        parent={decision.parent}
        candidate={decision.candidate}
        thresholds={thresholds}
        direction={direction}
      />
    </>
  )
}

function Group({ run, iteration, slot }: Of<{ readonly iteration: number }>) {
  return <a href={pathOf(run, 'g', iteration, slot)}>iteration {iteration}</a>
}

function times({ successes, n }: TaskTally): string {
  return `${successes} of ${n} times`
}

function Changes({ changes }: { changes: readonly Change[] }) {
  return (
    <>
      <h3>Recipe: what changed</h3>
      <Table names={['field', 'before', 'after']}>
        {changes.map(({ path, before, after }) => (
          <tr key={path} data-row>
            <th scope="row">
              <Said text={path} />
            </th>
            <td>
              {before !== null && (
                <del>
                  <Said text={before} />
                </del>
              )}
            </td>
            <td>
              {after !== null && (
                <ins>
                  <Said text={after} />
                </ins>
              )}
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

/** The lines that the rewriter was told, each with the steps that the judge said it of. */
function Critique({ proposal: { critique, quotes }, run }: { proposal: TaskProposal; run: string }) {
  return (
    <>
      <h3>What the judge had said</h3>
      <ul>
        {critique.split('\n').map((line) => {
          const own = quotes.filter((quote) => quote.critique === line.replace(/^\d+x /, ''))
          return (
            <li key={line}>
              <Said text={line} />{' '}
              {own.map(({ rollout, step }) => (
                <span key={`${rollout}#${step}`}>
                  <a href={`${pathOfRollout(run, rollout)}?step=${step}`}>
                    {rollout}#{step}
                  </a>{' '}
                </span>
              ))}
            </li>
          )
        })}
      </ul>
    </>
  )
}

function Refusal({ refusal, run, slot }: Of<{ readonly refusal: TaskRefusal }>) {
  return (
    <section class="task-version">
      <h2>{refusal.direction}: × none could be made</h2>
      <div class="why-box no">
        <p>
          The task was solved {times(refusal.parentAccuracy)} in{' '}
          <Group run={run} iteration={refusal.iteration} slot={slot} />, so{' '}
          {refusal.direction === 'harder' ? 'a harder' : 'an easier'} one was asked for. None could be made:{' '}
          <Said text={refusal.reason} />.{' '}
          <a href={`${pathOf(run, 'events')}?sel=${refusal.position}`}>event {count(refusal.position)}</a>
        </p>
      </div>
    </section>
  )
}
