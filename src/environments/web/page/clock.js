/**
 * Runs before a page's own scripts: time, timers, frames and random numbers become functions of the seed and of the actions, and
 * what would leave the page (dialogs, windows, downloads) does nothing. The driver advances the clock after each action.
 */
;(() => {
  const START = Date.UTC(2024, 0, 8, 9)
  const FRAME_MS = 16
  /** A page whose timers never come to rest is stopped here; a second of one 1 ms timer fits. */
  const MOST_TIMERS = 4000
  /** What the browser does by itself has so long, of real time, to come to rest. */
  const SETTLE_MS = 500
  /** Messages that lead to further ones come to their end within so many turns of the browser's loop. */
  const QUIET_TURNS = 4
  const RealDate = Date
  /** Pages give things of their own these names. */
  const [Table, Unique] = [Map, Set]
  let now = START
  let lastId = 0
  let timers = new Table() // id -> { id, at, every, run }
  let atLoad = null

  const nextFrame = window.requestAnimationFrame.bind(window)
  const realNow = performance.now.bind(performance)
  const painted = () => new Promise((resolve) => nextFrame(() => nextFrame(() => resolve(true))))

  const turns = []
  const { port1, port2 } = new MessageChannel()
  port1.onmessage = () => turns.shift()()
  const endTurn = port2.postMessage.bind(port2)
  /** Resolves when the browser's loop has come to what was asked of it before. */
  const turn = () =>
    new Promise((resolve) => {
      turns.push(resolve)
      endTurn(null)
    })

  /** Requests that have no answer yet, and answers that are being read. */
  let open = 0
  const counted = (promise) => {
    open++
    const less = () => void open--
    promise.then(less, less)
    return promise
  }
  const { fetch } = window
  window.fetch = (...args) => counted(fetch(...args))
  for (const name of ['arrayBuffer', 'blob', 'formData', 'json', 'text']) {
    const read = Response.prototype[name]
    Response.prototype[name] = function () {
      return counted(read.call(this))
    }
  }
  const { send } = XMLHttpRequest.prototype
  XMLHttpRequest.prototype.send = function (...args) {
    send.apply(this, args)
    if (this.readyState === XMLHttpRequest.DONE) return
    counted(new Promise((resolve) => add.call(this, 'loadend', resolve)))
  }
  /** A worker runs beside the page: its answer to what it is told comes before the next action. */
  const { postMessage } = Worker.prototype
  Worker.prototype.postMessage = function (...args) {
    postMessage.apply(this, args)
    counted(
      new Promise((resolve) => {
        for (const type of ['message', 'error']) add.call(this, type, resolve, { once: true })
      }),
    )
  }
  const isLoading = () =>
    open > 0 || [...document.images].some(({ complete, loading }) => !complete && loading !== 'lazy')

  /** Whether the page is told of what is drawn. */
  let watches = false
  for (const name of ['IntersectionObserver', 'ResizeObserver'])
    window[name] = new Proxy(window[name], {
      construct(...made) {
        watches = true
        return Reflect.construct(...made)
      },
    })

  /** Animations and transitions run by the page's time; true: one has ended, which is told when the page is drawn. */
  const played = new WeakMap()
  function animate(ms) {
    let hasEnded = false
    for (const animation of document.getAnimations()) {
      if (animation.timeline !== document.timeline) continue
      if (animation.playState !== 'running' && !played.has(animation)) continue
      const time = (played.get(animation) ?? 0) + ms
      played.set(animation, time)
      if (time < animation.effect.getComputedTiming().endTime) {
        animation.pause()
        animation.currentTime = time
      } else {
        animation.finish()
        hasEnded = true
      }
    }
    return hasEnded
  }

  const at = (when, run, every = null) => {
    timers.set(++lastId, { id: lastId, at: when, every, run })
    return lastId
  }
  const callable = (what, args) =>
    typeof what === 'function' ? () => what(...args) : new Function(String(what))
  const delay = (ms) => Math.max(1, Number(ms) || 0)

  window.setTimeout = (what, ms, ...args) => at(now + delay(ms), callable(what, args))
  window.setInterval = (what, ms, ...args) => at(now + delay(ms), callable(what, args), delay(ms))
  window.requestAnimationFrame = (what) => at(now + FRAME_MS, () => what(now - START))
  window.requestIdleCallback = (what) =>
    at(now + FRAME_MS, () => what({ didTimeout: false, timeRemaining: () => 10 }))
  for (const name of ['clearTimeout', 'clearInterval', 'cancelAnimationFrame', 'cancelIdleCallback'])
    window[name] = (id) => void timers.delete(id)

  window.Date = new Proxy(RealDate, {
    // A class of the page's own that extends it makes what is of that class.
    construct: (_, args, made) =>
      Reflect.construct(RealDate, args.length === 0 ? [now] : args, made === VirtualDate ? RealDate : made),
    apply: () => new RealDate(now).toString(),
    get: (target, key) => (key === 'now' ? () => now : Reflect.get(target, key)),
  })
  const VirtualDate = window.Date
  RealDate.prototype.constructor = VirtualDate
  performance.now = () => now - START
  Object.defineProperty(performance, 'timeOrigin', { value: START })
  Object.defineProperty(Event.prototype, 'timeStamp', { get: () => now - START })
  const { DateTimeFormat } = Intl
  const { formatToParts } = DateTimeFormat.prototype
  const { get: formatOf } = Object.getOwnPropertyDescriptor(DateTimeFormat.prototype, 'format')
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

  if (window.Temporal) {
    const zoned = (zone = 'UTC') => Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(zone)
    Object.assign(Temporal.Now, {
      instant: () => zoned().toInstant(),
      zonedDateTimeISO: zoned,
      plainDateTimeISO: (zone) => zoned(zone).toPlainDateTime(),
      plainDateISO: (zone) => zoned(zone).toPlainDate(),
      plainTimeISO: (zone) => zoned(zone).toPlainTime(),
    })
  }
  if (window.scheduler)
    scheduler.postTask = (run, { delay: ms } = {}) =>
      new Promise((resolve) => at(now + delay(ms), resolve)).then(run)

  /** mulberry32: 32 bits of state, uniform in [0, 1). */
  let state = 1
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  Math.random = uniform
  crypto.getRandomValues = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
    for (let i = 0; i < bytes.length; i++) bytes[i] = uniform() * 256
    return array
  }
  crypto.randomUUID = () =>
    '########-####-4###-8###-############'.replaceAll('#', () => Math.floor(uniform() * 16).toString(16))

  window.alert = () => {}
  window.confirm = () => true
  window.prompt = () => null
  window.print = () => {}
  window.open = () => null
  window.close = () => {}
  // Pages that were shown here before lie behind the first entry of this one.
  const { go } = history
  const { navigation } = window
  history.go = (by = 0) => {
    const { currentEntry } = navigation
    const wanted = navigation.entries()[currentEntry.index + Math.trunc(by)]
    if (!wanted?.sameDocument || wanted === currentEntry) return
    counted(new Promise((resolve) => add.call(window, 'popstate', resolve, { once: true })))
    go.call(history, by)
  }
  history.back = () => history.go(-1)
  history.forward = () => history.go(1)

  /** What a page has stored was for another episode. */
  if (top === window) {
    window.name = ''
    try {
      localStorage.clear()
      sessionStorage.clear()
    } catch {
      // A page of no origin, as it is before the first is loaded, has no storage.
    }
  }

  /** Elements by the events that they listen to: what can be clicked is seen from its listeners. */
  const listened = new WeakMap()
  const add = EventTarget.prototype.addEventListener
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    const types = listened.get(this) ?? new Unique()
    listened.set(this, types.add(type))
    return add.call(this, type, ...rest)
  }

  /** Trees that a page has closed to scripts, which people look into all the same. */
  const closed = new WeakMap()
  const { attachShadow } = Element.prototype
  Element.prototype.attachShadow = function (...options) {
    const root = attachShadow.apply(this, options)
    closed.set(this, root)
    return root
  }

  /** Events that the driver sends are of a pointer that the browser does not know: who captures it is kept here. */
  const SENT_POINTER = 0
  let captor = null
  const { setPointerCapture, releasePointerCapture, hasPointerCapture } = Element.prototype
  Element.prototype.setPointerCapture = function (id) {
    if (id === SENT_POINTER) captor = this
    else setPointerCapture.call(this, id)
  }
  Element.prototype.releasePointerCapture = function (id) {
    if (id === SENT_POINTER) captor = null
    else releasePointerCapture.call(this, id)
  }
  Element.prototype.hasPointerCapture = function (id) {
    return id === SENT_POINTER ? captor === this : hasPointerCapture.call(this, id)
  }

  // What would lead to another page ends here, behind all that the page itself does with it.
  add.call(window, 'submit', (event) => event.preventDefault())
  // By the middle button a link would open a window.
  for (const type of ['click', 'auxclick'])
    add.call(window, type, (event) => {
      const link = event.composedPath()[0]?.closest?.('a[href]')
      if (link && !/^(#|javascript:)/.test(link.getAttribute('href'))) event.preventDefault()
    })

  const rl = {
    /** Who gets the events of the pointer that is held down; null: what is below it. */
    captor: () => captor,
    releasePointer: () => {
      captor = null
    },
    listensTo: (element, type) => listened.get(element)?.has(type) || element[`on${type}`] != null,
    shadowOf: (element) => element.shadowRoot ?? closed.get(element) ?? null,
    uniform,
    /** Time and chance as at the start; timers are those that stood at the first call, others of an episode before are gone. */
    restart(seed) {
      atLoad ??= [...timers.values()].map((timer) => ({ ...timer, at: timer.at - now + START }))
      now = START
      state = seed | 0
      timers = new Table(atLoad.map((timer) => [timer.id, { ...timer }]))
    },
    /** Resolves once the browser has drawn: what scrolled by input of a person has told its listeners then. */
    painted,
    /** Lets come what no timer of the page's brings: messages, answers, pictures, the ends of animations after so many milliseconds. */
    async settle(ms) {
      const until = realNow() + SETTLE_MS
      if (animate(ms)) await painted()
      for (let quiet = 0; quiet < QUIET_TURNS && realNow() < until; quiet = isLoading() ? 0 : quiet + 1) {
        if (watches) await painted()
        await turn()
      }
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
  Object.defineProperty(window, '__rl', { value: rl })
})()
