/**
 * The browser tells of a stall, a failure, a pause and the end of a run, also while the tab is hidden. It asks for the
 * permission once the button is pressed, and never before.
 */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { visible } from '../../logic/format.ts'
import { type NewsPage, toTell } from '../../logic/news-page.ts'
import { pathOf } from '../../logic/route.ts'
import { fetchAnswer } from '../answers.ts'
import { go } from '../place.ts'

/** A hidden tab has no stream of the log. It asks this often, or as often as the browser lets it. */
const LOOK_MS = 5_000

const canTell = typeof Notification !== 'undefined'

function keyOf(run: string): string {
  return `tell ${run}`
}

function isWanted(run: string): boolean {
  try {
    return canTell && Notification.permission === 'granted' && localStorage.getItem(keyOf(run)) === '1'
  } catch {
    return false
  }
}

/** @param isOpen whether the run may still have news */
export function TellMe({ run, isOpen }: { run: string; isOpen: boolean }) {
  const isOn = useSignal(isOpen && isWanted(run))
  const isDenied = useSignal(canTell && Notification.permission === 'denied')

  async function toggle(): Promise<void> {
    const wants = !isOn.value
    if (wants && Notification.permission !== 'granted') await Notification.requestPermission()
    isDenied.value = Notification.permission === 'denied'
    isOn.value = wants && Notification.permission === 'granted'
    try {
      if (isOn.value) localStorage.setItem(keyOf(run), '1')
      else localStorage.removeItem(keyOf(run))
    } catch {}
  }

  useEffect(() => (isOn.value ? follow(run) : undefined), [isOn.value, run])
  // What is on stays until the end is told.
  if (!canTell || (!isOpen && !isOn.value)) return null
  return (
    <button
      type="button"
      class="quiet"
      aria-pressed={isOn.value}
      disabled={isDenied.value}
      title={
        isDenied.value
          ? 'this browser was told not to'
          : 'the browser tells of a stall, a failure, a pause and the end'
      }
      onClick={() => void toggle()}
    >
      {isOn.value ? 'tells me' : 'tell me'}
    </button>
  )
}

/** Asks for news until the returned function is called. */
function follow(run: string): () => void {
  let timer = 0
  let isOver = false
  let after: number | null = null
  let stalledAt = Number.NEGATIVE_INFINITY

  async function look(): Promise<void> {
    const url = `/api/r/${encodeURIComponent(run)}/news${after === null ? '' : `?after=${after}`}`
    const page = await fetchAnswer<NewsPage>(url).catch(() => null)
    if (isOver) return
    if (page !== null) {
      after = page.position
      const { told, stalledAt: last } = toTell(page.news, Date.now(), stalledAt)
      stalledAt = last
      for (const { position, type, text } of told) {
        const shown = new Notification(`rl ${run}`, { body: visible(text), tag: `rl ${run} ${type}` })
        shown.onclick = () => {
          window.focus()
          go(`${pathOf(run, 'events')}?sel=${position}`)
        }
      }
      if (page.news.some(({ type }) => type === 'RunCompleted')) return
    }
    timer = setTimeout(() => void look(), LOOK_MS)
  }

  void look()
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
