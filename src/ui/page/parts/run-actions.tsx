/** Actions on runs: pause and go on, fork, go on from a step, ask two judges. */
import type { RunHead } from '../../logic/answers.ts'
import { count, cut, share, signed } from '../../logic/format.ts'
import { pathOf, pathOfRollout } from '../../logic/route.ts'
import { Action } from './action.tsx'
import { Said } from './states.tsx'
import { Table } from './table.tsx'
import './run-actions.css'

/** Shown while a head runs. */
export function PauseOrResume({ head }: { head: RunHead }) {
  if (head.state === 'running')
    return (
      <Action
        key="pause"
        hotkey="p"
        run={head.run}
        kind="pause"
        label="pause"
        title="Pause the run"
        does="No new rollout and no new iteration begins. Rollouts and updates in hand end. Nothing is lost."
      />
    )
  if (head.state !== 'paused') return null
  return (
    <Action
      key="resume"
      hotkey="p"
      run={head.run}
      kind="resume"
      label="resume"
      title="Resume the run"
      does="The run goes on where it stands."
    />
  )
}

type Forked = { readonly run: string; readonly position: number }

/** @param at last position that the fork shares */
export function Fork({ run, at, label }: { run: string; at: number; label: string }) {
  return (
    <Action
      run={run}
      kind="fork"
      hotkey="f"
      label={label}
      title="Make a fork"
      does={`A new run shares the events up to position ${count(at)}. The run itself never changes.`}
      input={{ at }}
      fields={[
        { name: 'as', label: 'name', value: '', kind: 'text', hint: `empty: ${run.slice(0, 20)}-at-${at}` },
        {
          name: 'set',
          label: 'changed keys',
          value: '',
          kind: 'lines',
          hint: 'one a line, e.g. learning.lambda=0',
        },
      ]}
    >
      {(result) => {
        const fork = result as Forked
        return (
          <>
            <p>
              <a href={pathOf(fork.run)}>{fork.run}</a> shares {count(fork.position)} events. It goes on with:
            </p>
            <pre class="command">npm start -- --role head --run {fork.run}</pre>
          </>
        )
      }}
    </Action>
  )
}

type Share = { readonly value: number; readonly low: number; readonly high: number; readonly n: number }
type Credits = {
  readonly policyVersion: number
  readonly child: string
  readonly credits: readonly {
    readonly action: string
    readonly kept: Share
    readonly open: Share
    readonly credit: Share
    readonly vote: number | null
  }[]
}

const interval = ({ value, low, high }: Share, format: (value: number) => string) =>
  `${format(value)} [${format(low)}, ${format(high)}]`

export function WhatIf({ run, rollout, step }: { run: string; rollout: string; step: number }) {
  return (
    <Action
      run={run}
      kind="whatif"
      label="what if?"
      title="Go on from this step"
      does="The episode is brought back to this step. It goes on many times after the recorded action, and as often with the policy choosing here too. A run that plays on this machine gets slower meanwhile."
      input={{ rollout, step }}
      fields={[
        { name: 'n', label: 'times each', value: '16', kind: 'number' },
        { name: 'policy', label: 'policy version', value: '', kind: 'number', hint: 'empty: the newest' },
      ]}
    >
      {(result) => {
        const { credits, policyVersion, child } = result as Credits
        return credits.map((one) => (
          <dl key={one.action} class="facts">
            <dt>success after it</dt>
            <dd>{interval(one.kept, share)}</dd>
            <dt>if policy {policyVersion} chooses</dt>
            <dd>{interval(one.open, share)}</dd>
            <dt>credit of the step</dt>
            <dd>{interval(one.credit, signed)}</dd>
            <dt>the judge voted</dt>
            <dd>{one.vote === null ? 'not judged' : signed(one.vote)}</dd>
            <dt>kept in</dt>
            <dd>
              <a href={pathOf(child)}>{child}</a>
            </dd>
          </dl>
        ))
      }}
    </Action>
  )
}

type Asked = {
  readonly policyVersion: number
  readonly entropy: number
  readonly draws: number | null
  readonly choices: readonly {
    readonly action: string
    readonly probability: number
    readonly count: number | null
    readonly recorded: boolean
  }[]
}

/** Choices that are listed. */
const MOST_CHOICES = 60

export function AskPolicy({ run, rollout, step }: { run: string; rollout: string; step: number }) {
  return (
    <Action
      run={run}
      kind="ask"
      label="ask the policy"
      title="Ask the policy"
      does="The episode is brought back to this step, and the policy tells the probability of each choice. A policy without a closed list of choices is asked several times, and its answers are counted."
      input={{ rollout, step }}
      fields={[
        {
          name: 'policy',
          label: 'policy version',
          value: '',
          kind: 'number',
          hint: 'empty: the one that played',
        },
        {
          name: 'n',
          label: 'draws',
          value: '',
          kind: 'number',
          hint: 'for a policy without a list of choices',
        },
      ]}
    >
      {(result) => <Choices answer={result as Asked} />}
    </Action>
  )
}

function Choices({ answer: { choices, entropy, policyVersion, draws } }: { answer: Asked }) {
  return (
    <>
      <p>
        policy {policyVersion}, {draws === null ? `${choices.length} choices` : `${draws} drawn answers`},
        entropy {entropy.toFixed(3)}
      </p>
      <Table names={['action', draws === null ? 'probability' : 'share', '']}>
        {choices.slice(0, MOST_CHOICES).map(({ action, probability, count: drawn, recorded }) => (
          <tr key={action}>
            <th scope="row">
              <Said text={cut(action, 300)} />
              {recorded && <strong> ← recorded</strong>}
            </th>
            <td>
              {probability.toFixed(3)}
              {drawn !== null && ` (${drawn})`}
            </td>
            <td class="share-bar">
              <span style={{ width: `${100 * probability}%` }} />
            </td>
          </tr>
        ))}
      </Table>
      {choices.length > MOST_CHOICES && <p class="muted">{choices.length - MOST_CHOICES} more</p>}
    </>
  )
}

export function CompareJudges({ run, newest }: { run: string; newest: number }) {
  return (
    <Action
      run={run}
      kind="compare-judges"
      label="compare two versions"
      title="Ask two judges"
      does="Both versions judge the same logged rollouts with the same random draws. A run that plays on this machine gets slower meanwhile."
      fields={[
        { name: 'a', label: 'version a', value: '0', kind: 'number' },
        { name: 'b', label: 'version b', value: String(newest), kind: 'number' },
        { name: 'rollouts', label: 'rollouts', value: '64', kind: 'number' },
        { name: 'heldOut', label: 'held-out alone', value: 'yes', kind: 'tick' },
      ]}
    >
      {(result) => <Flips found={result as Judged} run={run} />}
    </Action>
  )
}

type Both = { readonly a: number; readonly b: number }
type Judged = Both & {
  readonly steps: number
  readonly rollouts: number
  readonly matrix: readonly (readonly number[])[]
  readonly flips: Share
  readonly right: { readonly a: Share; readonly b: Share } | null
  readonly process: Both | null
  readonly outcome: Both
  readonly flipped: readonly {
    readonly rollout: string
    readonly step: number
    readonly action: string
    readonly a: string
    readonly b: string
    readonly critiques: readonly string[]
  }[]
}

const VERDICTS = ['bad', 'undecided', 'good']
const MOST_FLIPS = 100

function Flips({ found, run }: { found: Judged; run: string }) {
  const { a, b, steps, rollouts, matrix, flips, right, process, outcome, flipped } = found
  const both = (pair: Both) => `${share(pair.a)}, now ${share(pair.b)}`
  return (
    <>
      <p>
        {count(steps)} steps of {rollouts} rollouts; {interval(flips, share)} of the verdicts became another
      </p>
      <Table names={[`version ${a} \\ ${b}`, ...VERDICTS]}>
        {matrix.map((row, i) => (
          <tr key={VERDICTS[i]}>
            <th scope="row">{VERDICTS[i]}</th>
            {row.map((cell, j) => (
              <td key={VERDICTS[j]}>{count(cell)}</td>
            ))}
          </tr>
        ))}
      </Table>
      <dl class="facts">
        {right !== null && (
          <>
            <dt>right</dt>
            <dd>
              {interval(right.a, share)}, now {interval(right.b, share)}
            </dd>
          </>
        )}
        {process !== null && (
          <>
            <dt>against true progress</dt>
            <dd>{both(process)}</dd>
          </>
        )}
        <dt>against outcomes</dt>
        <dd>{both(outcome)}</dd>
      </dl>
      <ul class="plain">
        {flipped.slice(0, MOST_FLIPS).map((step) => (
          <li key={`${step.rollout}#${step.step}`} data-row>
            <a href={`${pathOfRollout(run, step.rollout)}?step=${step.step}`}>
              {step.rollout}#{step.step}
            </a>{' '}
            <Said text={step.action} />: {step.a} (<Said text={step.critiques[0] ?? ''} />
            ), now {step.b} (
            <Said text={step.critiques[1] ?? ''} />)
          </li>
        ))}
      </ul>
    </>
  )
}
