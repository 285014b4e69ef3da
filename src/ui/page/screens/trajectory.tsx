/** One rollout, step by step. */
import { useEffect, useRef } from 'preact/hooks'
import type { Cell, StepRow, TrajectoryPage } from '../../logic/answers.ts'
import type { ChatCall, ChatPage } from '../../logic/chat-page.ts'
import { count, cut, share, signed } from '../../logic/format.ts'
import { pathOf, pathOfRollout } from '../../logic/route.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { has } from '../live.ts'
import { Cells } from '../parts/cells.tsx'
import { Chat } from '../parts/chat.tsx'
import { Film } from '../parts/film.tsx'
import { Playback, shownStep } from '../parts/playback.tsx'
import { AskPolicy, Fork, WhatIf } from '../parts/run-actions.tsx'
import { Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Tokens } from '../parts/tokens.tsx'
import { Walk } from '../parts/walk.tsx'
import { ask, route } from '../place.ts'
import { isReport } from '../report.ts'

export function Trajectory({ head }: ScreenProps) {
  const run = head?.run ?? ''
  const answer = useAnswer<TrajectoryPage>(
    () => ofRun(`/rollouts/${partsOfRollout()}`),
    (tick) => has(tick, 'StepScored', 'PolicyUpdated'),
  )
  const chats = useAnswer<ChatPage>(() =>
    answer.value.data?.chats && !isReport ? ofRun(`/chats/${partsOfRollout()}`) : null,
  )
  return (
    <Shown answer={answer.value}>
      {(data) => (
        <>
          <h1>{data.rollout}</h1>
          <p>
            <OutcomeOf data={data} />, {data.steps.length} steps, ended by {data.ended}; policy{' '}
            {data.policyVersion};{' '}
            {data.trainedBy === null ? 'not trained on' : `trained on by version ${data.trainedBy}`}
            {data.unused !== null && ` (${data.unused})`};{' '}
            <a href={pathOf(run, 'i', data.iteration)}>iteration {data.iteration}</a>;{' '}
            <a href={`${pathOf(run, 'events')}?sel=${data.position}`}>event {count(data.position)}</a>
          </p>
          {data.goal !== null && (
            <p>
              <Said text={data.goal} />
            </p>
          )}
          {data.group.length > 0 && (
            <Walk {...neighbours(data, run)} what="rollout">
              <a href={pathOf(run, 'g', data.iteration, data.slot)}>group</a>{' '}
              <Cells run={run} cells={data.group} shown={data.rollout} />
            </Walk>
          )}
          {data.rule !== null && <p class="muted">{data.rule}</p>}
          <Playback count={data.steps.length} />
          {data.frames.length > 0 && !isReport && (
            <Film
              rollout={data.rollout}
              frames={data.frames}
              actions={data.steps.map(({ action }) => action)}
              shown={shownStep(data.steps.length)}
            />
          )}
          <Table names={COLUMNS}>
            {data.steps.map((step) => (
              <Step
                key={step.step}
                step={step}
                run={run}
                rollout={data.rollout}
                isShown={shownStep(data.steps.length) === step.step}
                hasFilm={data.frames.length > 0}
                call={chats.value.data?.calls[step.step] ?? null}
              />
            ))}
          </Table>
          {data.tokensIn !== null && (
            <p class="muted">
              The tokens lie in <Said text={data.tokensIn} />. To see them here: rl log {run} fetch
            </p>
          )}
          {data.last !== '' && (
            <>
              <h2>Last observation</h2>
              <pre>
                <Said text={data.last} />
              </pre>
            </>
          )}
          {data.tests !== null && (
            <p>tests: {data.tests.map(({ passed, verdict }) => (passed ? '✓' : `✗ ${verdict}`)).join(' ')}</p>
          )}
        </>
      )}
    </Shown>
  )
}

/** The parts of the address that name the rollout. */
function partsOfRollout(): string {
  const { iteration = '', slot = '', index = '' } = route.value?.params ?? {}
  return [iteration, slot, index].map(encodeURIComponent).join('/')
}

const COLUMNS = ['#', 'action', 'verdict', 'p', 'score', 'reward', 'advantage', 'progress', 'tokens']

/** The rollouts of the group that ended, before and after this one. */
function neighbours({ group, rollout }: TrajectoryPage, run: string) {
  const own = group.findIndex((cell) => cell.rollout === rollout)
  const path = (found: Cell | undefined) => (found ? pathOfRollout(run, found.rollout) : null)
  return {
    before: path(group.slice(0, own).findLast(({ state }) => state === 'played')),
    after: path(group.slice(own + 1).find(({ state }) => state === 'played')),
  }
}

function OutcomeOf({ data: { outcome } }: { data: TrajectoryPage }) {
  if (outcome.kind === 'scored')
    return (
      <>
        <strong>{outcome.success ? '✓ success' : `✗ no success, worth ${outcome.value}`}</strong>
        {outcome.reason !== undefined && (
          <span class="muted">
            {' '}
            <Said text={outcome.reason} />
          </span>
        )}
      </>
    )
  return (
    <strong>
      ? no outcome: <Said text={outcome.reason} />
    </strong>
  )
}

const WORDS: Readonly<Record<string, string>> = { '1': '● good', '-1': '○ bad', '0': '? unreadable' }

type StepProps = {
  readonly step: StepRow
  readonly run: string
  readonly rollout: string
  readonly isShown: boolean
  readonly call: ChatCall | null
  /** Whether screens are shown above, which a step must not push away. */
  readonly hasFilm: boolean
}

function Step({ step, run, rollout, isShown, call, hasFilm }: StepProps) {
  const sampled = step.tokens.filter(({ logprob }) => logprob !== null)
  const logprob = sampled.reduce((sum, token) => sum + (token.logprob ?? 0), 0)
  const own = useRef<HTMLTableRowElement>(null)
  useEffect(() => {
    if (isShown) own.current?.scrollIntoView({ block: hasFilm ? 'nearest' : 'center' })
  }, [isShown])
  return (
    <tr ref={own} data-row aria-selected={isShown ? 'true' : undefined}>
      <th scope="row">{step.step}</th>
      <td>
        <details
          open={isShown}
          onToggle={({ currentTarget }) => {
            if (currentTarget.open !== isShown)
              ask({ step: currentTarget.open ? String(step.step) : null }, 'replace')
          }}
        >
          <summary>
            <Said text={cut(step.action, 200)} />
          </summary>
          {isShown && <Tokens tokens={step.tokens} />}
          {isShown && call !== null && <Chat call={call} />}
          {step.reasoning !== null && (
            <p class="muted">
              <Said text={step.reasoning} />
            </p>
          )}
          <pre>
            <Said text={step.before} />
          </pre>
          {step.votes.map((vote, i) => (
            <p key={i}>
              {WORDS[vote.score]}: <Said text={vote.critique === '' ? 'no words' : vote.critique} />
            </p>
          ))}
          <p>
            <AskPolicy run={run} rollout={rollout} step={step.step} />{' '}
            <WhatIf run={run} rollout={rollout} step={step.step} />{' '}
            {step.position !== null && (
              <Fork run={run} at={step.position - 1} label="fork before its verdict" />
            )}
          </p>
        </details>
      </td>
      <td>
        {step.votes.length === 0
          ? '–'
          : step.votes.map(({ score }, i) => (
              <span key={i} class="vote">
                {WORDS[score]}{' '}
              </span>
            ))}
        {step.isMisjudged === true && <div class="bad">≠ progress</div>}
      </td>
      <td>{share(step.probability)}</td>
      <td>{signed(step.score)}</td>
      <td>{signed(step.reward)}</td>
      <td>{signed(step.advantage)}</td>
      <td>{step.progress === null ? 'not measured' : signed(step.progress)}</td>
      <td>
        {step.tokens.length === 0
          ? '–'
          : `${step.tokens.length}, log-prob ${logprob.toFixed(2)}, ${step.tokens.length - sampled.length} forced`}
      </td>
    </tr>
  )
}
