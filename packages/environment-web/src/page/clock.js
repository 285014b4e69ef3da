/**
 * Runs before a page's own scripts, in each of its frames and workers: time, timers, frames and random numbers become functions of the
 * seed and of the actions. The driver advances the clock after each action.
 */
;(() => {
  const START = Date.UTC(2024, 0, 8, 9)
  const FRAME_MS = 16
  /** A page whose timers never come to rest is stopped here; a second of one 1 ms timer fits. */
  const MOST_TIMERS = 4000
  const RealDate = Date
  /** Pages give things of their own these names. */
  const [Table, Unique] = [Map, Set]
  const { document } = globalThis
  const realNow = performance.now.bind(performance)
  const nextFrame = globalThis.requestAnimationFrame?.bind(globalThis)
  const realTimeout = globalThis.setTimeout.bind(globalThis)
  const pause = () => new Promise((resolve) => realTimeout(resolve, 1))
  let lastId = 0
  let timers = new Table() // id -> { id, at, every, run }
  let atLoad = null

  /** The clock of the page that a frame stands in; null for others' frames, which cannot be read. */
  function outer() {
    try {
      return globalThis.parent === globalThis.window ? null : (globalThis.parent?.__rl ?? null)
    } catch {
      return null
    }
  }
  let now = outer()?.now() ?? START

  /** @type {(when: number, run: Function, every?: number | null) => number} */
  const at = (when, run, every = null) => {
    timers.set(++lastId, { id: lastId, at: when, every, run })
    return lastId
  }
  const callable = (what, args) =>
    typeof what === 'function' ? () => what(...args) : new Function(String(what))
  const delay = (ms) => Math.max(1, Number(ms) || 0)
  const elapsed = () => now - START

  globalThis.setTimeout = (what, ms, ...args) => at(now + delay(ms), callable(what, args))
  globalThis.setInterval = (what, ms, ...args) => at(now + delay(ms), callable(what, args), delay(ms))
  globalThis.requestAnimationFrame = (what) => at(now + FRAME_MS, () => what(elapsed()))
  if (document)
    globalThis.requestIdleCallback = (what) =>
      at(now + FRAME_MS, () => what({ didTimeout: false, timeRemaining: () => 10 }))
  for (const name of ['clearTimeout', 'clearInterval', 'cancelAnimationFrame', 'cancelIdleCallback'])
    globalThis[name] = (id) => void timers.delete(id)
  AbortSignal.timeout = (ms) => {
    const controller = new AbortController()
    at(now + delay(ms), () => controller.abort(new DOMException('signal timed out', 'TimeoutError')))
    return controller.signal
  }

  globalThis.Date = new Proxy(RealDate, {
    // A class of the page's own that extends it makes what is of that class.
    construct: (_, args, made) =>
      Reflect.construct(RealDate, args.length === 0 ? [now] : args, made === VirtualDate ? RealDate : made),
    apply: () => new RealDate(now).toString(),
    get: (target, key) => (key === 'now' ? () => now : Reflect.get(target, key)),
  })
  const VirtualDate = globalThis.Date
  RealDate.prototype.constructor = VirtualDate
  Object.defineProperty(Event.prototype, 'timeStamp', { get: elapsed })
  const { DateTimeFormat } = Intl
  const { formatToParts } = DateTimeFormat.prototype
  const { get: formatOf } = /** @type {Required<PropertyDescriptor>} */ (
    Object.getOwnPropertyDescriptor(DateTimeFormat.prototype, 'format')
  )
  DateTimeFormat.prototype.formatToParts = function (date = now) {
    return formatToParts.call(this, date)
  }
  Object.defineProperty(DateTimeFormat.prototype, 'format', {
    configurable: true,
    get() {
      const format = formatOf.call(this)
      return (date = now) => format(date)
    },
  })

  if (globalThis.Temporal) {
    const zoned = (zone = 'UTC') => Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone)
    Object.assign(Temporal.Now, {
      instant: () => zoned().toInstant(),
      zonedDateTimeISO: zoned,
      plainDateTimeISO: (zone) => zoned(zone).toPlainDateTime(),
      plainDateISO: (zone) => zoned(zone).toPlainDate(),
      plainTimeISO: (zone) => zoned(zone).toPlainTime(),
    })
  }
  if (globalThis.scheduler)
    scheduler.postTask = (run, /** @type {{ delay?: number }} */ { delay: ms } = {}) =>
      new Promise((resolve) => at(now + delay(ms), resolve)).then(run)

  /** mulberry32: 32 bits of state, uniform in [0, 1). */
  let state = 1
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  let [seeded, branches] = [1, 0]
  /** Another seed for each frame; the page's own numbers do not depend on how many there are. */
  const branch = () => Math.imul(seeded ^ Math.imul(++branches, 0x9e3779b1), 0x85ebca6b) | 0
  const seed = (value) => {
    state = value | 0
    seeded = state
    branches = 0
  }
  const given = outer()
  if (given) seed(given.branch())
  Math.random = uniform
  const { Crypto } = globalThis
  Crypto.prototype.getRandomValues = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
    for (let i = 0; i < bytes.length; i++) bytes[i] = uniform() * 256
    return array
  }
  Crypto.prototype.randomUUID = () =>
    /** @type {ReturnType<Crypto['randomUUID']>} */ (
      '########-####-4###-8###-############'.replaceAll('#', () => Math.floor(uniform() * 16).toString(16))
    )

  const rl = {
    START,
    now: () => now,
    elapsed,
    uniform,
    branch,
    seed,
    /** As they are before the page's scripts. */
    Table,
    Unique,
    realNow,
    nextFrame,
    pause,
    add: EventTarget.prototype.addEventListener,
    /** Runs something when the page's time has come so far. */
    later: (ms, run) => at(now + delay(ms), run),
    /** Time and chance as at the start; timers are those that stood at the first call, others of an episode before are gone. */
    restart(value) {
      atLoad ??= [...timers.values()].map((timer) => ({ ...timer, at: timer.at - now + START }))
      now = START
      seed(value)
      timers = new Table(atLoad.map((timer) => [timer.id, { ...timer }]))
    },
    /** The clock stands at another time; timers are as far from it as they were. */
    shift(to) {
      for (const timer of timers.values()) timer.at += to - now
      now = to
    },
    /** Runs what falls due within so many milliseconds, in order, with promises settled between. */
    async advance(ms) {
      const until = now + ms
      for (let count = 0; count < MOST_TIMERS; count++) {
        let next = null
        for (const timer of timers.values())
          if (
            timer.at <= until &&
            (!next || timer.at < next.at || (timer.at === next.at && timer.id < next.id))
          )
            next = timer
        if (!next) break
        now = Math.max(now, next.at)
        if (next.every === null) timers.delete(next.id)
        else next.at = now + next.every
        try {
          next.run()
        } catch {
          // A page's own fault in a timer is what it would be without us: a line in the console.
        }
        await null
      }
      now = until
    },
  }
  Object.defineProperty(globalThis, '__rl', { value: rl })
})()
