/** Words and figures as people read them. */

/**
 * Returns a share with two digits, without the leading zero.
 * @example share(0.425) // '.43'
 */
export function share(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return '–'
  const text = value.toFixed(2)
  return text.replace(/^(-?)0\./, '$1.')
}

/** Returns a number with three significant digits. */
export function short(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–'
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return count(value)
  return String(Number(value.toPrecision(3)))
}

/**
 * Returns a whole number with its thousands apart.
 * @example count(90233) // '90,233'
 */
export function count(value: number): string {
  return String(value).replace(/\B(?=(\d{3})+$)/g, ',')
}

/** Returns a signed number with three significant digits. */
export function signed(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return '–'
  const text = Math.abs(value) < 0.005 ? '0.00' : Math.abs(value).toFixed(2)
  return `${value < 0 && text !== '0.00' ? '−' : '+'}${text}`
}

export function duration(seconds: number | null): string {
  if (seconds === null || !Number.isFinite(seconds)) return '–'
  if (seconds < 10) return `${seconds.toFixed(1)} s`
  if (seconds < 90) return `${Math.round(seconds)} s`
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${(seconds / 3600).toFixed(1)} h`
  return `${Math.round(seconds / 86_400)} days`
}

/** Returns the time of day, e.g. `19:43:47`. */
export function clock(ms: number | null): string {
  if (ms === null) return '–'
  const date = new Date(ms)
  return Number.isNaN(date.getTime()) ? '–' : date.toTimeString().slice(0, 8)
}

/** Returns the day and the minute, e.g. `2026-11-26 19:43`. */
export function day(ms: number | null): string {
  if (ms === null || Number.isNaN(new Date(ms).getTime())) return '–'
  const date = new Date(ms)
  const two = (value: number) => String(value).padStart(2, '0')
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`
}

const STEERING = /[^\P{Cc}\n\t]|[\p{Zl}\p{Zp}\p{Bidi_Control}\u{feff}\u{200b}-\u{200d}]/gu

/**
 * Returns text with its control and direction characters shown. Agents write what we show.
 * @example visible("a\u0007b") // "a␛0007b"
 */
export function visible(text: string): string {
  return text.replace(STEERING, (mark) => `␛${(mark.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`)
}

/** Returns the text cut to a number of characters. */
export function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text
}
