/**
 * Numbers as they are written. They are equal by exact value, or near by a tolerance. Time is linear in their
 * texts.
 */

/** A decimal number without zeros at either end of its digits: `digits` x 10 ^ `power`. Zero has no digits and no sign. */
export type Decimal = { readonly negative: boolean; readonly digits: string; readonly power: bigint }

const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,20}))?$/i
const WHOLE = /^[+-]?\d+$/

/** Whether a number is written without a point and without an exponent. */
const isWhole = (text: string) => WHOLE.test(text)

/** Returns null if the text is no number. */
export function decimalOf(text: string): Decimal | null {
  const [, sign, whole, part = '', exponent = '0'] = DECIMAL.exec(text) ?? []
  if (whole === undefined || whole.length + part.length === 0) return null
  const digits = `${whole}${part}`.replace(/^0+/, '')
  let end = digits.length
  while (digits[end - 1] === '0') end--
  if (end === 0) return { negative: false, digits: '', power: 0n }
  const power = BigInt(exponent) + BigInt(digits.length - end - part.length)
  return { negative: sign === '-', digits: digits.slice(0, end), power }
}

export const sameDecimal = (a: Decimal, b: Decimal) =>
  a.negative === b.negative && a.power === b.power && a.digits === b.digits

/**
 * Returns a text that two finite numbers share if and only if they are equal. If the number is a double, it
 * is the double's shortest text. Else it is the digits after a mark.
 */
export function decimalKey(decimal: Decimal): string {
  const { negative, digits, power } = decimal
  if (digits === '') return '0'
  return isDouble(decimal) ? doubleKey(numberOf(decimal)) : `~${negative ? '-' : ''}${digits}e${power}`
}

/** The key of a double that is finite. */
export const doubleKey = (double: number) => String(double === 0 ? 0 : double)

const numberOf = ({ negative, digits, power }: Decimal) =>
  Number(`${negative ? '-' : ''}${digits || '0'}e${power}`)

/** 5 ^ 23 has more bits than a double. */
const MOST_TENS = 22n
const MOST_BITS = 1n << 53n
/** No double has more places after the point, or more digits. */
const MOST_PLACES = 1074n
const MOST_DIGITS = 1100

/** Whether a double has exactly this value. Most answers need no look at the digits. */
function isDouble({ digits, power }: Decimal): boolean {
  if (power >= 0n) {
    if (power > MOST_TENS || digits.length > 309) return false
    if (digits.length + Number(power) <= 15) return true
    const value = BigInt(digits) * 10n ** power
    const nearest = Number(value)
    return Number.isFinite(nearest) && BigInt(nearest) === value
  }
  // The value is a whole number times 2 ^ power if 5 ^ -power divides the digits. Then there are at least as
  // many digits as in 5 ^ -power.
  if (power < -MOST_PLACES || digits.length > MOST_DIGITS) return false
  if (digits.length < Math.floor(-Number(power) * Math.log10(5))) return false
  const fives = 5n ** -power
  const whole = BigInt(digits)
  return whole % fives === 0n && whole / fives < MOST_BITS
}

export type Tolerance = {
  readonly absolute: number
  readonly relative: number
  /**
   * Applies the tolerance also to numbers that are expected without a point. By default these must be met
   * exactly.
   */
  readonly wholesToo?: boolean
}

/** Whether both texts are numbers, and the second is near enough to the first. */
export function isNear(expected: string, output: string, tolerance: Tolerance): boolean {
  const a = decimalOf(expected)
  const b = decimalOf(output)
  if (a === null || b === null) return false
  if (sameDecimal(a, b)) return true
  if (isWhole(expected) && !tolerance.wholesToo) return false
  return isWithin(a, b, tolerance)
}

/** Slack for the rounding of doubles: a few bits. */
const SLACK = 2 ** -50
const MOST_POWERS = 400

function isWithin(a: Decimal, b: Decimal, { absolute, relative }: Tolerance): boolean {
  const [x, y] = [numberOf(a), numberOf(b)]
  const bound = Math.max(absolute, relative * Math.abs(x))
  const distance = Math.abs(x - y)
  if (Number.isFinite(distance) && Number.isFinite(bound)) {
    const open = SLACK * (Math.abs(x) + Math.abs(y) + bound)
    if (distance > bound + open) return false
    if (distance < bound - open) return true
  }
  const [p, q] = [Number(a.power), Number(b.power)]
  // Numbers that are so far apart, or so long, are compared as doubles. Nothing is near a number beyond the
  // doubles.
  if (Math.abs(p - q) > MOST_POWERS || [p, q].some((power) => Math.abs(power) > 2000))
    return Number.isFinite(distance) && distance <= bound
  if (Math.max(a.digits.length, b.digits.length) > MOST_DIGITS)
    return Number.isFinite(distance) && distance <= bound
  return isExactlyWithin(a, b, absolute) || isExactlyWithin(a, b, relative, a)
}

/** Whether the distance is at most `share`, or at most `share` x |of|. */
function isExactlyWithin(a: Decimal, b: Decimal, share: number, of?: Decimal): boolean {
  const part = decimalOf(String(share))
  if (part === null) return share > 0
  const boundPower = part.power + (of?.power ?? 0n)
  const least = [a.power, b.power, boundPower].reduce((one, other) => (one < other ? one : other))
  const scaled = (digits: string, power: bigint) => BigInt(digits || '0') * 10n ** (power - least)
  const signed = ({ negative, digits, power }: Decimal) =>
    negative ? -scaled(digits, power) : scaled(digits, power)
  const distance = signed(a) - signed(b)
  const bound = scaled(part.digits, boundPower) * BigInt(of ? of.digits || '0' : '1')
  return (distance < 0n ? -distance : distance) <= bound
}
