/** A problem of the coding setting: programs by tests, the text of a program, and the written tests. */
import { count, cut } from '../../logic/format.ts'
import type { ProblemPage, Program, WrittenTest } from '../../logic/problem-page.ts'
import { pathOf, pathOfRollout } from '../../logic/route.ts'
import { ofRun, useAnswer } from '../answers.ts'
import type { ScreenProps } from '../frame.tsx'
import { has } from '../live.ts'
import { markOf } from '../parts/cells.tsx'
import { Empty, Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { Walk } from '../parts/walk.tsx'
import { ask, query, route } from '../place.ts'
import './problem.css'

export function Problem({ head }: ScreenProps) {
  const answer = useAnswer<ProblemPage>(
    () => {
      const { iteration = '', slot = '' } = route.value?.params ?? {}
      return ofRun(`/problems/${encodeURIComponent(iteration)}/${encodeURIComponent(slot)}`)
    },
    (tick) => has(tick, 'TrajectoryCompleted', 'ProgramTested', 'UnitTestWritten', 'StepScored'),
  )
  return <Shown answer={answer.value}>{(data) => <Panels data={data} run={head?.run ?? ''} />}</Shown>
}

function Panels({ data, run }: { data: ProblemPage; run: string }) {
  const { iteration, slot, programs, tests, best } = data
  const wanted = Number(query.value.get('sel') ?? best ?? 0)
  const chosen = programs[wanted] === undefined ? 0 : wanted
  const shown = tests[Number(query.value.get('test') ?? Number.NaN)]
  const here = pathOf(run, 'problems', iteration, slot)
  const to = (index: number) => (programs[index] === undefined ? null : `${here}?sel=${index}`)
  return (
    <>
      <h1>
        {slot} <span class="muted">in iteration {iteration}: programs by tests</span>
      </h1>
      <p>
        task {data.task}; {data.purpose === 'evaluation' ? `held out: ${data.split}` : data.purpose};{' '}
        {data.right} of {data.right + data.wrong} programs pass all of the problem's own tests;{' '}
        <a href={pathOf(run, 'g', iteration, slot)}>group</a>;{' '}
        <a href={pathOf(run, 'i', iteration)}>iteration {iteration}</a>
      </p>
      {data.problem !== null && (
        <details>
          <summary>the problem</summary>
          <pre>
            <Said text={data.problem} />
          </pre>
        </details>
      )}
      <h2>Programs by tests</h2>
      <p class="legend-line">
        <span>✓ passed</span>
        <span>✗ failed</span>
        <span>? undecided</span>
        <span>~ ended differently the second time</span>
        <span>★ best of {programs.length}: passes most of the written tests</span>
      </p>
      <div class="wide">
        <table class="programs">
          <thead>
            <tr>
              <th scope="col">program</th>
              <th scope="col">outcome</th>
              <th scope="col">own tests</th>
              <th scope="col">written tests</th>
              {tests.map(({ index, invalid }) => (
                <th key={index} scope="col" class={shown?.index === index ? 'chosen' : ''}>
                  <button
                    type="button"
                    class="quiet"
                    aria-label={`test ${index}${invalid === null ? '' : ', not valid'}`}
                    aria-pressed={shown?.index === index}
                    onClick={() => ask({ test: shown?.index === index ? null : String(index) }, 'replace')}
                  >
                    {invalid === null ? index : `${index}!`}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {programs.map((program, index) => (
              <Row
                key={program.cell.rollout}
                program={program}
                index={index}
                isBest={index === best}
                isChosen={index === chosen}
                shown={shown?.index ?? null}
              />
            ))}
          </tbody>
        </table>
      </div>
      {shown !== undefined && <OneTest test={shown} run={run} />}
      <Walk before={to(chosen - 1)} after={to(chosen + 1)} what="program">
        <strong>program {chosen}</strong>
      </Walk>
      {programs[chosen] !== undefined && (
        <OneProgram program={programs[chosen]} run={run} isBest={chosen === best} />
      )}
      <Tests data={data} />
    </>
  )
}

const MARKS: Readonly<Record<string, readonly [glyph: string, word: string, name: string]>> = {
  '1': ['✓', 'passed', 'good'],
  '-1': ['✗', 'failed', 'bad'],
  '0': ['?', 'undecided', 'muted'],
  null: ['·', 'not judged', 'muted'],
}

type RowProps = {
  readonly program: Program
  readonly index: number
  readonly isBest: boolean
  readonly isChosen: boolean
  readonly shown: number | null
}

function Row({ program, index, isBest, isChosen, shown }: RowProps) {
  const [glyph, word] = markOf(program.cell)
  const passed = program.own.filter((one) => one.passed).length
  return (
    <tr data-row class={isChosen ? 'chosen' : ''}>
      <th scope="row">
        <button
          type="button"
          class="quiet"
          aria-pressed={isChosen}
          onClick={() => ask({ sel: String(index) }, 'replace')}
        >
          {index}
          {isBest && (
            <>
              {' '}
              ★<span class="spoken"> best</span>
            </>
          )}
        </button>
      </th>
      <td>
        {glyph} {word}
      </td>
      <td title={program.own.map(({ verdict }) => verdict).join(', ')}>
        {program.own.length === 0 ? '–' : `${passed}/${program.own.length}`}
        {program.own.some(({ flaky }) => flaky) && ' ~'}
      </td>
      <td>{program.votes.length === 0 ? '–' : `${program.passed}/${program.votes.length}`}</td>
      {program.votes.map((vote, test) => {
        const [mark, said, name] = MARKS[String(vote)] ?? MARKS['0']
        return (
          <td key={test} class={`${name} ${shown === test ? 'chosen' : ''}`} title={program.notes[test]}>
            <span aria-hidden="true">{mark}</span>
            <span class="spoken">{said}</span>
          </td>
        )
      })}
    </tr>
  )
}

function OneProgram({ program, run, isBest }: { program: Program; run: string; isBest: boolean }) {
  const { cell, text, own } = program
  return (
    <section>
      <h2>
        {cell.rollout} {isBest && '★'}
      </h2>
      <p>
        <a href={pathOfRollout(run, cell.rollout)}>the rollout</a>
        {program.position !== null && (
          <>
            ; <a href={`${pathOf(run, 'events')}?sel=${program.position}`}>its verdicts</a>
          </>
        )}
      </p>
      {own.length > 0 && (
        <p>
          own tests:{' '}
          {own.map(({ passed, verdict, flaky }, i) => (
            <span key={i} class={passed ? 'good' : 'bad'} title={`test ${i}: ${verdict}`}>
              {passed ? '✓' : '✗'}
              {passed && verdict === 'ok' ? '' : ` ${verdict}`}
              {flaky ? '~' : ''}{' '}
            </span>
          ))}
        </p>
      )}
      {text === null ? (
        <Empty>The rollout has no program: {cell.error ?? cell.state}.</Empty>
      ) : (
        <pre class="program">
          <Said text={text === '' ? '(empty)' : text} />
        </pre>
      )}
    </section>
  )
}

function OneTest({ test, run }: { test: WrittenTest; run: string }) {
  return (
    <section class="one-test">
      <h2>
        Test {test.index} <span class="muted">by reward model {test.version}</span>
      </h2>
      {test.invalid !== null && (
        <p class="alarm">
          not valid: <Said text={test.invalid} />
        </p>
      )}
      <div class="two">
        {test.input !== null && (
          <section>
            <h3>input</h3>
            <pre>
              <Said text={test.input} />
            </pre>
          </section>
        )}
        {test.output !== null && (
          <section>
            <h3>output</h3>
            <pre>
              <Said text={test.output} />
            </pre>
          </section>
        )}
      </div>
      <details>
        <summary>what the reward model wrote</summary>
        <pre>
          <Said text={test.text} />
        </pre>
      </details>
      <p>
        <a href={`${pathOf(run, 'events')}?sel=${test.position}`}>event {count(test.position)}</a>
      </p>
    </section>
  )
}

function Tests({ data: { tests, right, wrong } }: { data: ProblemPage }) {
  if (tests.length === 0) return null
  return (
    <section>
      <h2>Written tests</h2>
      <Table names={['test', 'input', 'output', 'new input', 'right programs pass', 'wrong ones fail']}>
        {tests.map((test) => (
          <tr key={test.index} data-row>
            <th scope="row">
              <button
                type="button"
                class="quiet"
                onClick={() => ask({ test: String(test.index) }, 'replace')}
              >
                {test.index}
              </button>
            </th>
            <td>
              <Said text={cut(test.input ?? test.invalid ?? '', 80)} />
            </td>
            <td>
              <Said text={cut(test.output ?? '', 80)} />
            </td>
            <td>{test.novel === null ? '–' : test.novel ? 'yes' : 'no'}</td>
            <td>
              {test.rightPass}/{right}
            </td>
            <td>
              {test.wrongFail}/{wrong}
            </td>
          </tr>
        ))}
      </Table>
    </section>
  )
}
