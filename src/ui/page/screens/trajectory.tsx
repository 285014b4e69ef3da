/** One rollout, step by step. */
import type { StepRow, TrajectoryPage } from '../../logic/answers.ts'
import { count, cut, share, signed } from '../../logic/format.ts'
import { pathOf } from '../../logic/route.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { has } from '../live.ts'
import { Cells } from '../parts/cells.tsx'
import { Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { route } from '../place.ts'

export function Trajectory({ head }: ScreenProps) {
  const run = head?.run ?? ''
  const answer = useAnswer<TrajectoryPage>(
    () => {
      const { iteration = '', slot = '', index = '' } = route.value?.params ?? {}
      return ofRun(`/rollouts/${[iteration, slot, index].map(encodeURIComponent).join('/')}`)
    },
    (tick) => has(tick, 'StepScored', 'PolicyUpdated'),
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
            <p>
              group <Cells run={run} cells={data.group} shown={data.rollout} />
            </p>
          )}
          {data.rule !== null && <p class="muted">{data.rule}</p>}
          <Table names={COLUMNS}>
            {data.steps.map((step) => (
              <Step key={step.step} step={step} />
            ))}
          </Table>
          <h2>Last observation</h2>
          <pre>
            <Said text={data.last} />
          </pre>
          {data.tests !== null && (
            <p>tests: {data.tests.map(({ passed, verdict }) => (passed ? '✓' : `✗ ${verdict}`)).join(' ')}</p>
          )}
        </>
      )}
    </Shown>
  )
}

const COLUMNS = ['#', 'action', 'verdict', 'p', 'score', 'reward', 'advantage', 'progress', 'tokens']

function OutcomeOf({ data: { outcome } }: { data: TrajectoryPage }) {
  if (outcome.kind === 'scored')
    return <strong>{outcome.success ? '✓ success' : `✗ no success, worth ${outcome.value}`}</strong>
  return (
    <strong>
      ? no outcome: <Said text={outcome.reason} />
    </strong>
  )
}

const WORDS: Readonly<Record<string, string>> = { '1': '● good', '-1': '○ bad', '0': '? unreadable' }

function Step({ step }: { step: StepRow }) {
  const logprob = step.tokens.reduce((sum, token) => sum + token.logprob, 0)
  const forced = step.tokens.filter(({ allowed }) => allowed === 1).length
  return (
    <tr data-row>
      <th scope="row">{step.step}</th>
      <td>
        <details>
          <summary>
            <Said text={cut(step.action, 200)} />
          </summary>
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
        </details>
      </td>
      <td>{step.votes.map(({ score }) => WORDS[score]).join(' ') || '–'}</td>
      <td>{share(step.probability)}</td>
      <td>{signed(step.score)}</td>
      <td>{signed(step.reward)}</td>
      <td>{signed(step.advantage)}</td>
      <td>{step.progress === null ? 'not measured' : signed(step.progress)}</td>
      <td>
        {step.tokens.length === 0
          ? '–'
          : `${step.tokens.length}, log-prob ${logprob.toFixed(2)}, ${forced} forced`}
      </td>
    </tr>
  )
}
