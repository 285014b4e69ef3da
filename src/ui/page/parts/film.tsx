/** Screens of a rollout as a film strip, and those before and after the shown action. */
import { useSignal } from '@preact/signals'
import type { Frame } from '../../logic/answers.ts'
import { clickMarks } from '../../logic/click-marks.ts'
import { ofRun } from '../answers.ts'
import { ask } from '../place.ts'
import './film.css'

type FilmProps = {
  readonly rollout: string
  readonly frames: readonly Frame[]
  readonly actions: readonly string[]
  readonly shown: number | null
}

export function Film({ rollout, frames, actions, shown }: FilmProps) {
  const step = shown ?? 0
  const [before, after] = [frames[step], frames[step + 1]]
  return (
    <section class="film">
      <h2>Screens</h2>
      <ol class="strip-of-frames">
        {frames.map((frame, i) => (
          <li key={i}>
            <button
              type="button"
              class="quiet"
              aria-label={i < actions.length ? `screen before step ${i}` : 'the last screen'}
              aria-pressed={i === step}
              onClick={() => ask({ step: String(Math.min(i, actions.length - 1)) }, 'replace')}
            >
              <Picture frame={frame} rollout={rollout} alt="" isLazy />
            </button>
          </li>
        ))}
      </ol>
      {before !== undefined && (
        <Both
          key={step}
          rollout={rollout}
          before={before}
          after={after ?? null}
          step={step}
          action={actions[step] ?? ''}
        />
      )}
    </section>
  )
}

type BothProps = {
  readonly rollout: string
  readonly before: Frame
  readonly after: Frame | null
  readonly step: number
  readonly action: string
}

/** The screen after the action lies over the one before, up to the slider. */
function Both({ rollout, before, after, step, action }: BothProps) {
  const share = useSignal(0)
  const marks = clickMarks(action, before)
  return (
    <>
      <div class="both">
        <Picture frame={before} rollout={rollout} alt={`screen before step ${step}`} />
        {after !== null && share.value > 0 && (
          <span class="over" style={{ clipPath: `inset(0 ${100 - share.value}% 0 0)` }}>
            <Picture frame={after} rollout={rollout} alt={`screen after step ${step}`} />
          </span>
        )}
        {marks.map(({ x, y }, i) => (
          <span
            key={i}
            class="click-mark"
            style={{ left: `${100 * x}%`, top: `${100 * y}%` }}
            title={`${Math.round(x * before.width)}, ${Math.round(y * before.height)}`}
          />
        ))}
      </div>
      {after !== null && (
        <label class="slide">
          before{' '}
          <input
            type="range"
            min={0}
            max={100}
            value={share.value}
            aria-label="share of the screen after the action"
            aria-valuetext={`${share.value} % of the screen after the action`}
            onInput={(event) => (share.value = Number(event.currentTarget.value))}
          />{' '}
          after
        </label>
      )}
      {marks.length > 0 && (
        <p class="muted">
          {marks.length === 1 ? 'a mark' : `${marks.length} marks`} where the action points:{' '}
          {marks
            .map(({ x, y }) => `${Math.round(x * before.width)}, ${Math.round(y * before.height)}`)
            .join('; ')}
        </p>
      )}
    </>
  )
}

type PictureProps = {
  readonly frame: Frame
  readonly rollout: string
  readonly alt: string
  readonly isLazy?: boolean
}

function Picture({ frame, rollout, alt, isLazy = false }: PictureProps) {
  const isMissing = useSignal(false)
  if (isMissing.value) return <span class="no-picture">this screen cannot be read</span>
  return (
    <img
      src={ofRun(`/blobs/${frame.sha256}`, { rollout })}
      width={frame.width}
      height={frame.height}
      alt={alt}
      loading={isLazy ? 'lazy' : 'eager'}
      onError={() => (isMissing.value = true)}
    />
  )
}
