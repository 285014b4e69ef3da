/** The time machine at the foot: the log as a strip. Dragging goes to any event, and every panel follows. */
import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { DensityPage, RunHead } from '../logic/answers.ts'
import { clock, count, cut, visible } from '../logic/format.ts'
import { pathOf } from '../logic/route.ts'
import { barsOf, FAMILY_CLASSES, marksApart, partText } from '../logic/strip.ts'
import { ofRun, useAnswer } from './answers.ts'
import { steps } from './keys.ts'
import { has, link, ticks } from './live.ts'
import { noted } from './noted.ts'
import { Fork } from './parts/run-actions.tsx'
import { ask, at } from './place.ts'
import './time-machine.css'

/** A drag shows a new moment this often at most: each one asks for every panel anew. */
const SCRUB_MS = 120
const HEIGHT = 26

export function TimeMachine({ head }: { head: RunHead }) {
  const density = useAnswer<DensityPage>(
    () => `${ofRun('/density').split('?')[0]}${noted.value === 0 ? '' : `?notes=${noted.value}`}`,
    (tick) => has(tick, 'IterationCompleted', 'StallDetected', 'RunFailed', 'ActorFailed', 'WorkFailed'),
    ({ built }) => (built < 1 ? 700 : null),
  )
  const position = Math.max(head.position, ticks.value?.position ?? 0)
  /** Where the thumb is while it is dragged. */
  const dragged = useSignal<number | null>(null)
  const timer = useRef(0)
  /** The moment that this strip asked for last. */
  const asked = useRef<string | null>(null)
  const shown = dragged.value ?? (at.value === null ? position : Number(at.value))

  const endDrag = () => {
    clearTimeout(timer.current)
    timer.current = 0
    dragged.value = null
  }
  const show = (wanted: number, how: 'push' | 'replace' = 'push') => {
    const next = Math.max(1, Math.min(position, Math.round(wanted)))
    asked.current = next === position ? null : String(next)
    ask({ at: asked.current }, how)
    endDrag()
  }
  const scrub = (wanted: number) => {
    dragged.value = wanted
    if (timer.current !== 0) return
    timer.current = setTimeout(() => show(dragged.value ?? shown, 'replace'), SCRUB_MS)
  }
  const iteration = (by: number) => {
    const ends = (density.value.data?.ends ?? []).map((end) => end.position)
    const next = by < 0 ? ends.findLast((end) => end < shown) : ends.find((end) => end > shown)
    show(next ?? (by < 0 ? 1 : position))
  }
  useEffect(() => {
    steps.value = { event: (by) => show(shown + by), iteration }
  })
  // A moment that somebody chose elsewhere, e.g. by a mark, ends a drag. This effect runs late: the next
  // key of this strip may have come before it.
  useSignalEffect(() => {
    if (at.value === asked.current) return
    asked.current = at.value
    endDrag()
  })
  useEffect(() => () => clearTimeout(timer.current), [])
  const place =
    dragged.value !== null
      ? count(shown)
      : `${count(shown)}${head.iteration === null ? '' : ` · iteration ${head.iteration}`}${head.type === null ? '' : ` · ${head.type}`} · ${clock(head.time)}`
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
        <Strip density={density.value.data} position={position} shown={shown} />
        <input
          type="range"
          min={1}
          max={Math.max(1, position)}
          value={shown}
          aria-label="position in the log"
          aria-valuetext={`position ${place}${at.value === null ? ', live' : ', past'}`}
          onInput={(event) => scrub(Number(event.currentTarget.value))}
          onKeyDown={(event) => {
            if (event.key !== 'PageUp' && event.key !== 'PageDown') return
            event.preventDefault()
            iteration(event.key === 'PageUp' ? 1 : -1)
          }}
        />
        <Hints density={density.value.data} position={position} />
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
      <Fork run={head.run} at={shown} label="fork here" />
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

type StripProps = {
  readonly density: DensityPage | null
  readonly position: number
  readonly shown: number
}

/** Events by family as bars, ends of iterations as ticks, what stands out as marks. */
function Strip({ density, position, shown }: StripProps) {
  const bars = density === null ? [] : barsOf(density, HEIGHT - 8)
  const ends = thinned(density?.ends ?? [])
  const x = (at: number) => (1000 * (at - 1)) / Math.max(1, position - 1)
  return (
    <svg viewBox={`0 0 1000 ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      {bars.map(({ from, to, parts }) =>
        parts.map(({ family, low, high }) => (
          <rect
            key={`${from} ${family}`}
            x={x(from)}
            y={HEIGHT - high}
            width={Math.max(0.5, (x(to) - x(from)) * 0.9)}
            height={high - low}
            class={`part ${FAMILY_CLASSES[family]}`}
          />
        )),
      )}
      {ends.map(({ iteration, position }) => (
        <line
          key={iteration}
          x1={x(position)}
          x2={x(position)}
          y1={HEIGHT - 5}
          y2={HEIGHT}
          class="tick-mark"
        />
      ))}
      {density?.marks.map(({ position, kind }, i) => (
        <line key={i} x1={x(position)} x2={x(position)} y1={0} y2={7} class={`event-mark ${kind}`} />
      ))}
      <line x1={x(shown)} x2={x(shown)} y1={0} y2={HEIGHT} class="shown-mark" />
    </svg>
  )
}

/** Ticks that can be told apart. */
const MOST_TICKS = 120

function thinned<T>(ticks: readonly T[]): readonly T[] {
  const step = Math.ceil(ticks.length / MOST_TICKS)
  return ticks.filter((_, i) => (i + 1) % step === 0)
}

const GLYPHS = { fork: '↗', stall: '‖', failure: '✗', turn: '·', note: '✎' } as const

/** Marks that can be read and clicked, and the share of the log that is read so far. */
function Hints({ density, position }: Omit<StripProps, 'shown'>) {
  if (density === null) return null
  const marks = density.marks.filter(({ kind }) => kind !== 'turn').slice(-40)
  const left = (at: number) => ({ left: `${(100 * (at - 1)) / Math.max(1, position - 1)}%` })
  return (
    <>
      {marksApart(marks, position).map(({ position, kind, text, run }, i) => (
        <a
          key={i}
          class={`strip-mark ${kind}`}
          style={left(position)}
          href={run === null ? `${location.pathname}?at=${position}` : pathOf(run)}
          title={`${count(position)}: ${cut(visible(text), 160)}`}
          aria-label={`${kind} at ${count(position)}: ${cut(visible(text), 160)}`}
        >
          {GLYPHS[kind]}
        </a>
      ))}
      {density.built < 1 && (
        <span class="strip-share" role="status">
          reading the log: {Math.floor(density.built * 100)} %
        </span>
      )}
      <span class="spoken">{partText(density)}</span>
    </>
  )
}
