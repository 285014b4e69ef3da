/** Why success changed at a point of its curve. A part of the overview. */
import { useEffect, useRef } from 'preact/hooks'
import type { Overview } from '../../logic/answers.ts'
import { share, signed } from '../../logic/format.ts'
import { pathOf } from '../../logic/route.ts'
import type { WhyPage } from '../../logic/why-page.ts'
import { ofRun, useAnswer } from '../answers.ts'
import { Said, Shown } from '../parts/states.tsx'
import { Table } from '../parts/table.tsx'
import { ask, query } from '../place.ts'

/** Chooses a point by keyboard. A click on the curve does the same. */
export function WhyChoice({ success }: { success: Overview['success'] }) {
  const points = success.filter(({ series }) => series !== 'candidate')
  const nameOf = (point: { readonly series: string; readonly iteration: number }) =>
    `${point.iteration} ${point.series}`
  const chosen = query.value.get('why')
  if (points.length < 2) return null
  return (
    <p>
      <label>
        Why did it change at{' '}
        <select
          value={chosen === null ? '' : `${chosen} ${query.value.get('series') ?? 'train'}`}
          onChange={(event) => {
            const [why, ...series] = event.currentTarget.value.split(' ')
            ask({ why: why ?? null, series: series.join(' ') })
          }}
        >
          <option value="">a point of the curve</option>
          {points.map((point) => (
            <option key={nameOf(point)} value={nameOf(point)}>
              iteration {point.iteration}, {point.series}
            </option>
          ))}
        </select>
      </label>
    </p>
  )
}

export function Why({ run }: { run: string }) {
  const answer = useAnswer<WhyPage>(() => {
    const iteration = query.value.get('why')
    return iteration === null
      ? null
      : ofRun(`/why/${encodeURIComponent(iteration)}`, { series: query.value.get('series') })
  })
  const heading = useRef<HTMLHeadingElement>(null)
  const isLoaded = answer.value.data !== null
  useEffect(() => {
    if (isLoaded) heading.current?.focus()
  }, [isLoaded])
  return (
    <section class="why" aria-label="why success changed">
      <Shown answer={answer.value}>
        {(data) => (
          <>
            <h2 ref={heading} tabindex={-1}>
              Why did success{data.series === 'train' ? ' in training' : ` on ${data.series}`} change at
              iteration {data.iteration}?
            </h2>
            <p class={`verdict ${data.verdict.kind}`}>{data.verdict.text}</p>
            <Tests data={data} />
            <Changes data={data} run={run} />
            <p>
              <a href={pathOf(run, 'i', data.iteration)}>iteration {data.iteration}</a>
              {data.before !== null && (
                <>
                  , <a href={pathOf(run, 'i', data.before)}>iteration {data.before}</a>
                </>
              )}{' '}
              <button type="button" onClick={() => ask({ why: null, series: null })}>
                close
              </button>
            </p>
          </>
        )}
      </Shown>
    </section>
  )
}

function Tests({ data: { difference, byRollout, paired } }: { data: WhyPage }) {
  const tests = [
    ['by task', difference, 'tasks'],
    ['same tasks, in pairs', paired, 'pairs'],
    ['by rollout (claims too much)', byRollout, 'rollouts'],
  ] as const
  return (
    <dl class="figures">
      {tests.map(([name, test, unit]) =>
        test === null ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {signed(test.value)} [{share(test.low)}, {share(test.high)}], {test.n} {unit}
            </dd>
          </div>
        ),
      )}
    </dl>
  )
}

/** What stands out comes first. */
function Changes({ data: { changes, before, iteration }, run }: { data: WhyPage; run: string }) {
  if (changes.length === 0) return null
  const odd = changes.filter(({ isOdd }) => isOdd)
  return (
    <>
      <p>
        {odd.length === 0
          ? 'Nothing that was measured stands out.'
          : `${odd.length} of ${changes.length} figures stand out. They come first.`}
      </p>
      <Table names={['what', `iteration ${before}`, `iteration ${iteration}`, 'what it means']}>
        {[...odd, ...changes.filter(({ isOdd }) => !isOdd)].map(
          ({ what, was, now, meaning, isOdd, page }) => (
            <tr key={what} data-row class={isOdd ? 'odd' : ''}>
              <th scope="row">
                {isOdd && (
                  <>
                    <span aria-hidden="true">▲ </span>
                    <span class="spoken">stands out: </span>
                  </>
                )}
                {page === null ? what : <a href={pathOf(run, ...page)}>{what}</a>}
              </th>
              <td>
                <Said text={was} />
              </td>
              <td>
                <Said text={now} />
              </td>
              <td>{meaning}</td>
            </tr>
          ),
        )}
      </Table>
    </>
  )
}
