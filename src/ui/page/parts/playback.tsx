/** Plays the steps of a rollout back in time. Space plays, j and k step. The shown step is in the address. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { paceOf, SPEEDS } from '../../logic/playback.ts'
import { playback } from '../keys.ts'
import { ask, query } from '../place.ts'
import './playback.css'

/** Returns the step that the address names, or null. */
export function shownStep(count: number): number | null {
  const asked = query.value.get('step')
  const step = Number(asked)
  return asked !== null && Number.isSafeInteger(step) && step >= 0 && step < count ? step : null
}

export function Playback({ count }: { count: number }) {
  const plays = useSignal(false)
  const speed = useSignal(1)
  const shown = shownStep(count)

  const show = (step: number) =>
    ask({ step: String(Math.max(0, Math.min(count - 1, step))), token: null }, 'replace')
  // The address is ahead of what is drawn if keys come fast.
  const stepBy = (by: number) => {
    const now = shownStep(count)
    show(now === null ? 0 : now + by)
  }
  const toggle = () => {
    if (!plays.value && shownStep(count) === count - 1) show(0)
    plays.value = !plays.value
  }
  useEffect(() => {
    playback.value = { step: stepBy, toggle }
    return () => {
      playback.value = null
    }
  })
  useEffect(() => {
    if (!plays.value) return
    const { everyMs, steps } = paceOf(speed.value)
    const timer = setTimeout(
      () => {
        if (shown !== null && shown >= count - 1) plays.value = false
        else stepBy(steps)
      },
      shown === null ? 0 : everyMs,
    )
    return () => clearTimeout(timer)
  }, [plays.value, speed.value, shown])

  return (
    <fieldset class="playback">
      <legend class="spoken">play the steps back</legend>
      <button type="button" aria-label="the step before" onClick={() => stepBy(-1)}>
        ◀
      </button>
      <button type="button" aria-pressed={plays.value} onClick={toggle}>
        {plays.value ? '❚❚ stop' : '▶ play'}
      </button>
      <button type="button" aria-label="the next step" onClick={() => stepBy(1)}>
        ▶
      </button>
      <input
        type="range"
        min={0}
        max={Math.max(0, count - 1)}
        value={shown ?? 0}
        aria-label="step"
        aria-valuetext={shown === null ? 'none' : `step ${shown} of ${count - 1}`}
        onInput={(event) => show(Number(event.currentTarget.value))}
      />
      <span class="muted">{shown === null ? `${count} steps` : `step ${shown} of ${count - 1}`}</span>
      <label>
        speed{' '}
        <select
          value={String(speed.value)}
          onChange={(event) => (speed.value = Number(event.currentTarget.value))}
        >
          {SPEEDS.map((one) => (
            <option key={one} value={String(one)}>
              {one}×
            </option>
          ))}
        </select>
      </label>
    </fieldset>
  )
}
