/** All rollouts of one task, side by side: how each ended, what each step earned, and where they part. */
import { signed } from '../../logic/format.ts'
import type { GroupPage, Member } from '../../logic/group-page.ts'
import { partingStep } from '../../logic/parting.ts'
import { pathOf, pathOfRollout } from '../../logic/route.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { has } from '../live.ts'
import { markOf } from '../parts/cells.tsx'
import { Said, Shown } from '../parts/states.tsx'
import { Walk } from '../parts/walk.tsx'
import { query, route } from '../place.ts'

export function Group({ head }: ScreenProps) {
  const answer = useAnswer<GroupPage>(
    () => {
      const { iteration = '', slot = '' } = route.value?.params ?? {}
      return ofRun(`/groups/${encodeURIComponent(iteration)}/${encodeURIComponent(slot)}`)
    },
    (tick) => has(tick, 'TrajectoryCompleted', 'RolloutFailed', 'StepScored', 'PolicyUpdated'),
  )
  return <Shown answer={answer.value}>{(data) => <Panels data={data} run={head?.run ?? ''} />}</Shown>
}

function Panels({ data, run }: { data: GroupPage; run: string }) {
  const { members } = data
  const wanted = Number(query.value.get('sel') ?? members.findIndex(({ steps }) => steps.length > 0))
  const chosen = members[wanted] === undefined ? 0 : wanted
  const here = pathOf(run, 'g', data.iteration, data.slot)
  const to = (index: number) => (members[index] === undefined ? null : `${here}?sel=${index}`)
  return (
    <>
      <h1>
        {data.slot} <span class="muted">in iteration {data.iteration}</span>
      </h1>
      <p>
        {data.purpose === 'evaluation' ? `held out: ${data.split}` : data.purpose}, task {data.task};{' '}
        <a href={pathOf(run, 'i', data.iteration)}>iteration {data.iteration}</a>
        {data.purpose !== 'evaluation' && (
          <>
            ; <a href={pathOf(run, 'tasks', data.slot)}>history of this task</a>
          </>
        )}
        {data.programs && (
          <>
            ; <a href={pathOf(run, 'problems', data.iteration, data.slot)}>programs by tests</a>
          </>
        )}
        {data.decision !== null && (
          <>
            ; <Said text={data.decision} />
          </>
        )}
      </p>
      {data.goal !== null && (
        <p>
          <Said text={data.goal} />
        </p>
      )}
      <p>{partingText(data)}</p>
      {data.unused !== null && (
        <p class="alarm">
          not learned from: <Said text={data.unused} />
        </p>
      )}
      {data.rule !== null && <p class="muted">{data.rule}</p>}
      <Walk before={to(chosen - 1)} after={to(chosen + 1)} what="rollout">
        <strong>rollout {chosen}</strong>
      </Walk>
      <div class="wide">
        <table class="side-by-side">
          <thead>
            <tr>
              <th scope="col">step</th>
              {members.map((member, index) => (
                <th key={member.cell.rollout} scope="col" class={index === chosen ? 'chosen' : ''}>
                  <MemberHead member={member} run={run} index={index} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Rows data={data} chosen={chosen} run={run} />
          </tbody>
        </table>
      </div>
      {data.begin !== null && (
        <details>
          <summary>what each of them saw first</summary>
          <pre>
            <Said text={data.begin} />
          </pre>
        </details>
      )}
    </>
  )
}

function partingText({ members, parting }: GroupPage): string {
  const played = members.filter(({ steps }) => steps.length > 0)
  const succeeded = played.filter(({ cell }) => cell.success).length
  const ended = `${succeeded} of ${played.length} rollouts succeeded.`
  if (played.length < 2) return ended
  return parting === null
    ? `${ended} All of them did the same.`
    : `${ended} They part at step ${parting}. ≠ marks the first step of each that differs from the chosen one.`
}

function MemberHead({ member, run, index }: { member: Member; run: string; index: number }) {
  const [glyph, word] = markOf(member.cell)
  return (
    <>
      {member.steps.length === 0 ? index : <a href={pathOfRollout(run, member.cell.rollout)}>{index}</a>}{' '}
      <span class={member.cell.success ? 'good' : 'bad'}>
        <span aria-hidden="true">{glyph}</span> {word}
      </span>
      <div class="muted">
        Σ R {signed(member.reward)}, Σ A {signed(member.advantage)}
        {member.cell.trained ? ', trained on' : ''}
      </div>
      {member.cell.error !== null && (
        <div>
          <Said text={member.cell.error} />
        </div>
      )}
    </>
  )
}

function Rows({ data: { members, parting }, chosen, run }: { data: GroupPage; chosen: number; run: string }) {
  const actions = members.map(({ steps }) => steps.map(({ action }) => action))
  const parts = actions.map((own, i) =>
    i === chosen || own.length === 0 ? null : partingStep(actions[chosen], own),
  )
  const most = Math.max(0, ...members.map(({ steps }) => steps.length))
  return Array.from({ length: most }, (_, step) => (
    <tr key={step} data-row class={step === parting ? 'parting' : ''}>
      <th scope="row">
        {step}
        {step === parting && <div class="muted">they part</div>}
      </th>
      {members.map((member, i) => (
        <td
          key={member.cell.rollout}
          class={`${i === chosen ? 'chosen' : ''}${parts[i] === step ? ' parts' : ''}`}
        >
          <MemberStep member={member} step={step} isParting={parts[i] === step} run={run} />
        </td>
      ))}
    </tr>
  ))
}

const VERDICTS = ['○', '·', '●'] as const
const WORDS = ['bad', 'undecided', 'good'] as const

type MemberStepProps = {
  readonly member: Member
  readonly step: number
  readonly isParting: boolean
  readonly run: string
}

function MemberStep({ member: { steps, cell }, step, isParting, run }: MemberStepProps) {
  const own = steps[step]
  if (own === undefined)
    return step === steps.length && steps.length > 0 ? (
      <span class="muted">{cell.ended ?? 'over'}</span>
    ) : null
  const sign = own.verdict === null ? null : 1 + Math.sign(own.verdict)
  return (
    <>
      {isParting && (
        <span class="parting-mark">
          <span aria-hidden="true">≠ </span>
          <span class="spoken">parts here: </span>
        </span>
      )}
      <a class="plain-link" href={`${pathOfRollout(run, cell.rollout)}?step=${step}`}>
        <Said text={own.action} />
      </a>
      <div class="muted">
        {sign !== null && (
          <span class={WORDS[sign]}>
            <span aria-hidden="true">{VERDICTS[sign]}</span>
            <span class="spoken">judged {WORDS[sign]}</span>{' '}
          </span>
        )}
        {own.reward !== null && `R ${signed(own.reward)} `}
        {own.advantage !== null && `A ${signed(own.advantage)}`}
      </div>
    </>
  )
}
