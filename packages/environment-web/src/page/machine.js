/** What a page could read of the machine, of real time and of the browser's memory: the same on every machine and in every run. */
;(() => {
  const rl = globalThis.__rl
  const { START, elapsed } = rl
  const { document } = globalThis

  /** Properties of a class that pages read; what the browser does not have stays away. */
  function tells(kind, values) {
    for (const [name, value] of Object.entries(values))
      if (kind && name in kind.prototype)
        Object.defineProperty(kind.prototype, name, {
          configurable: true,
          get: typeof value === 'function' ? value : () => value,
        })
  }

  const { mark, measure } = Performance.prototype
  const memory = { jsHeapSizeLimit: 2 ** 29, totalJSHeapSize: 2 ** 24, usedJSHeapSize: 2 ** 23 }
  tells(Performance, { timeOrigin: START, memory: () => memory, interactionCount: 0 })
  Performance.prototype.now = elapsed
  Performance.prototype.mark = function (name, options) {
    return mark.call(this, name, { startTime: elapsed(), ...options })
  }
  const isMoment = (name) => !(globalThis.PerformanceTiming && name in PerformanceTiming.prototype)
  Performance.prototype.measure = function (name, from, to) {
    const options = from !== null && typeof from === 'object' ? { ...from } : { start: from, end: to }
    for (const side of ['start', 'end'])
      if (typeof options[side] === 'string' && !isMoment(options[side])) options[side] = 0
    const isWhole = options.duration !== undefined && (options.start ?? options.end) !== undefined
    if (!isWhole) options.end ??= elapsed()
    if (!isWhole && options.duration === undefined) options.start ??= 0
    return measure.call(this, name, options)
  }
  /** Of entries those that the page itself makes: the others tell when something was loaded or drawn. */
  const MADE = ['mark', 'measure']
  for (const name of ['getEntries', 'getEntriesByName', 'getEntriesByType']) {
    const entries = Performance.prototype[name]
    Performance.prototype[name] = function (...args) {
      return entries.apply(this, args).filter(({ entryType }) => MADE.includes(entryType))
    }
  }
  const { observe } = PerformanceObserver.prototype
  /** @param {PerformanceObserverInit} [options] */
  PerformanceObserver.prototype.observe = function ({ entryTypes, type, ...rest } = {}) {
    const types = entryTypes?.filter((one) => MADE.includes(one))
    if (types && types.length > 0) observe.call(this, { entryTypes: types })
    else if (type && MADE.includes(type)) observe.call(this, { type, ...rest })
  }
  Object.defineProperty(PerformanceObserver, 'supportedEntryTypes', { get: () => [...MADE] })
  Performance.prototype.toJSON = () => ({ timeOrigin: START })
  if (globalThis.PerformanceTiming) {
    const never = /^(unload|redirect|secure)/
    const moments = Object.getOwnPropertyNames(PerformanceTiming.prototype).filter((name) =>
      /(Start|End|Loading|Interactive|Complete)$/.test(name),
    )
    const times = Object.fromEntries(moments.map((name) => [name, never.test(name) ? 0 : START]))
    tells(PerformanceTiming, times)
    PerformanceTiming.prototype.toJSON = () => ({ ...times })
  }

  const AGENT =
    '5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
  for (const kind of [globalThis.Navigator, globalThis.WorkerNavigator])
    tells(kind, {
      appVersion: AGENT,
      deviceMemory: 8,
      hardwareConcurrency: 2,
      maxTouchPoints: 0,
      onLine: true,
      platform: 'Linux x86_64',
      userAgent: `Mozilla/${AGENT}`,
      webdriver: false,
    })
  tells(globalThis.NetworkInformation, { downlink: 10, effectiveType: '4g', rtt: 50, saveData: false })
  if (globalThis.speechSynthesis)
    Object.assign(SpeechSynthesis.prototype, { getVoices: () => [], speak() {}, cancel() {} })
  tells(globalThis.BaseAudioContext, { currentTime: () => elapsed() / 1000 })

  if (document) {
    const two = (number) => String(number).padStart(2, '0')
    const told = new Date(START)
    tells(Document, {
      lastModified: `${two(told.getUTCMonth() + 1)}/${two(told.getUTCDate())}/${told.getUTCFullYear()} ${two(told.getUTCHours())}:00:00`,
    })
    const { get: timeOf } = /** @type {Required<PropertyDescriptor>} */ (
      Object.getOwnPropertyDescriptor(AnimationTimeline.prototype, 'currentTime')
    )
    Object.defineProperty(AnimationTimeline.prototype, 'currentTime', {
      configurable: true,
      get() {
        return this === document.timeline ? elapsed() : timeOf.call(this)
      },
    })
  }

  /** When memory is given back is nobody's business: what is referred to weakly stays. */
  const held = new WeakMap()
  globalThis.WeakRef = /** @type {any} */ (
    class {
      constructor(target) {
        held.set(this, target)
      }
      deref() {
        return held.get(this)
      }
    }
  )
  globalThis.FinalizationRegistry = /** @type {any} */ (
    class {
      register() {}
      unregister() {
        return false
      }
    }
  )
})()
