/** The time machine at the foot: the log as a strip. Dragging goes to any event, and every panel follows. */
import { useEffect } from 'preact/hooks'
import type { RunHead } from '../logic/answers.ts'
import { clock, count } from '../logic/format.ts'
import { steps } from './keys.ts'
import { link } from './live.ts'
import { ask, at } from './place.ts'

const HEIGHT = 26

export function TimeMachine({ head }: { head: RunHead }) {
  const { position } = head
  const shown = at.value === null ? position : Number(at.value)
  const show = (wanted: number, how: 'push' | 'replace' = 'push') => {
    const next = Math.max(1, Math.min(position, wanted))
    ask({ at: next === position ? null : String(next) }, how)
  }
  const iteration = (by: number) => {
    const ends = head.ends.map((end) => end.position)
    const next = by < 0 ? ends.findLast((end) => end < shown) : ends.find((end) => end > shown)
    show(next ?? (by < 0 ? 1 : position))
  }
  useEffect(() => {
    steps.value = { event: (by) => show(shown + by), iteration }
  })
  const place = `${count(shown)}${head.iteration === null ? '' : ` · iteration ${head.iteration}`}${head.type === null ? '' : ` · ${head.type}`} · ${clock(head.time)}`
  return (
    <footer class={at.value === null ? 'machine' : 'machine past'}>
      <div class="steps">
        <button type="button" aria-label="the end of the iteration before" onClick={() => iteration(-1)}>
          «
        </button>
        <button type="button" aria-label="the event before" onClick={() => show(shown - 1)}>
          ◀
        </button>
      </div>
      <div class="strip">
        <Strip head={head} shown={shown} />
        <input
          type="range"
          min={1}
          max={Math.max(1, position)}
          value={shown}
          aria-label="position in the log"
          aria-valuetext={`position ${place}`}
          onInput={(event) => show(Number(event.currentTarget.value), 'replace')}
        />
      </div>
      <div class="steps">
        <button type="button" aria-label="the next event" onClick={() => show(shown + 1)}>
          ▶
        </button>
        <button type="button" aria-label="the end of the next iteration" onClick={() => iteration(1)}>
          »
        </button>
      </div>
      <span class="place">{place}</span>
      <button
        type="button"
        class={at.value === null ? 'live-button on' : 'live-button'}
        aria-pressed={at.value === null}
        onClick={() => ask({ at: null })}
      >
        {at.value !== null ? 'past – go live' : link.value === 'lost' ? '○ no link' : '● live'}
      </button>
    </footer>
  )
}

/** Ends of rollouts as bars, ends of iterations as ticks, what stands out as marks. */
function Strip({ head, shown }: { head: RunHead; shown: number }) {
  const most = Math.max(1, ...head.density)
  const width = head.density.length
  const x = (position: number) => ((position - 1) / Math.max(1, head.position - 1)) * width
  return (
    <svg viewBox={`0 0 ${width} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {head.density.map((value, i) => (
        <rect
          key={i}
          x={i + 0.1}
          y={HEIGHT - (value / most) * 18}
          width={0.8}
          height={(value / most) * 18}
          class="bar-mark"
        />
      ))}
      {head.ends.map(({ iteration, position }) => (
        <line
          key={iteration}
          x1={x(position)}
          x2={x(position)}
          y1={HEIGHT - 5}
          y2={HEIGHT}
          class="tick-mark"
        />
      ))}
      {head.marks.map(({ position, type }) => (
        <line key={position} x1={x(position)} x2={x(position)} y1={0} y2={7} class={`event-mark ${type}`} />
      ))}
      <line x1={x(shown)} x2={x(shown)} y1={0} y2={HEIGHT} class="shown-mark" />
    </svg>
  )
}
