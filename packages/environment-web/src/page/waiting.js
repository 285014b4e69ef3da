/**
 * What the browser does by itself (answers, stores, pictures, workers, the ends of animations) comes to its end before a page is read.
 * Files and frames on their way are known outside of the page, to who answers their requests.
 */
;(() => {
  const rl = globalThis.__rl
  const { add, nextFrame, pause, realNow, Unique } = rl
  const { document, window } = globalThis
  /** What does not come within so long, of real time, is waited for no more. */
  const GIVE_UP_MS = 3000
  /** Messages that lead to further ones come to their end within so many turns of the loop. */
  const QUIET_TURNS = 4
  const MOST_TURNS = 400
  /** Of these the loop's own are the fastest; behind so many it sleeps between. */
  const FAST_TURNS = 50

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
  const painted = () => new Promise((resolve) => nextFrame(() => nextFrame(() => resolve(true))))

  /** What has been begun and has no answer yet. */
  const open = new Unique()
  const counted = (promise) => {
    const one = {}
    open.add(one)
    const done = () => void open.delete(one)
    promise.then(done, done)
    return promise
  }
  const untilOne = (target, types) =>
    counted(
      new Promise((resolve) => {
        for (const type of types) add.call(target, type, resolve, { once: true })
      }),
    )

  /** Wraps functions of an object; `wait` sees what each call gave. */
  function watch(holder, names, wait) {
    for (const name of names) {
      const run = holder?.[name]
      if (typeof run !== 'function') continue
      holder[name] = function (...args) {
        const given = run.apply(this, args)
        wait(given, this)
        return given
      }
    }
  }
  const isPromise = (value) => value !== null && typeof value === 'object' && typeof value.then === 'function'
  const promised = (value) => isPromise(value) && counted(value)
  const methodsOf = (kind) =>
    kind
      ? Object.getOwnPropertyNames(kind.prototype).filter(
          (name) => typeof Object.getOwnPropertyDescriptor(kind.prototype, name)?.value === 'function',
        )
      : []

  const READS = ['arrayBuffer', 'blob', 'bytes', 'formData', 'json', 'text']
  watch(globalThis, ['fetch', 'createImageBitmap'], promised)
  // Nobody takes what a page sends away: it does not even leave the page, however large it is.
  const { fetch } = globalThis
  globalThis.fetch = (input, init) => {
    const method = init?.method ?? (input instanceof Request ? input.method : 'GET')
    return /^(get|head)$/i.test(method)
      ? fetch(input, init)
      : Promise.reject(new TypeError('Failed to fetch'))
  }
  if (typeof globalThis.Navigator?.prototype.sendBeacon === 'function')
    Navigator.prototype.sendBeacon = () => true
  watch(WebAssembly, ['compile', 'compileStreaming', 'instantiate', 'instantiateStreaming'], promised)
  for (const name of ['Response', 'Request', 'Blob']) watch(globalThis[name]?.prototype, READS, promised)
  for (const name of ['FontFace', 'FontFaceSet']) watch(globalThis[name]?.prototype, ['load'], promised)
  watch(globalThis.HTMLImageElement?.prototype, ['decode'], promised)
  for (const name of [
    'Cache',
    'CacheStorage',
    'IDBFactory',
    'StorageManager',
    'SubtleCrypto',
    'Permissions',
    'CookieStore',
  ])
    watch(globalThis[name]?.prototype, methodsOf(globalThis[name]), (value) => {
      if (value instanceof IDBRequest) untilOne(value, ['success', 'error', 'blocked'])
      else promised(value)
    })
  for (const name of ['IDBIndex', 'IDBObjectStore', 'IDBCursor'])
    watch(globalThis[name]?.prototype, methodsOf(globalThis[name]), (value, { request }) => {
      // What moves a cursor on gives nothing, and is answered by the request that the cursor came from.
      const asked = value instanceof IDBRequest ? value : value === undefined ? request : null
      if (asked) untilOne(asked, ['success', 'error'])
    })
  watch(globalThis.IDBDatabase?.prototype, ['transaction'], (made) =>
    untilOne(made, ['complete', 'abort', 'error']),
  )
  watch(
    globalThis.FileReader?.prototype,
    methodsOf(globalThis.FileReader).filter((name) => name.startsWith('readAs')),
    (_, reader) => untilOne(reader, ['loadend']),
  )
  const { send } = globalThis.XMLHttpRequest?.prototype ?? {}
  if (send)
    XMLHttpRequest.prototype.send = function () {
      send.call(this)
      if (this.readyState !== XMLHttpRequest.DONE) untilOne(this, ['loadend'])
    }
  const { toBlob } = globalThis.HTMLCanvasElement?.prototype ?? {}
  if (toBlob)
    HTMLCanvasElement.prototype.toBlob = function (told, ...args) {
      counted(
        new Promise((resolve) =>
          toBlob.call(
            this,
            (blob) => {
              resolve(null)
              told(blob)
            },
            ...args,
          ),
        ),
      )
    }
  /** @type {Record<string, any>} */
  const kinds = globalThis
  for (const [name, ends] of /** @type {const} */ ([
    ['WebSocket', ['close']],
    ['EventSource', ['error']],
  ]))
    if (kinds[name])
      kinds[name] = new Proxy(kinds[name], {
        construct(...made) {
          const socket = Reflect.construct(...made)
          untilOne(socket, ends)
          // A stream that fails would be asked for again by the browser's own clock.
          if (name === 'EventSource') add.call(socket, 'error', () => socket.close())
          return socket
        },
      })

  /** A message to all is on its way until an ear of the same name has heard it. */
  const Channel = globalThis.BroadcastChannel
  const { postMessage: broadcast } = Channel.prototype
  const ears = new rl.Table()
  /** @param {[any]} args */
  Channel.prototype.postMessage = function (...args) {
    broadcast.apply(this, args)
    if (!ears.has(this.name)) return
    untilOne(ears.get(this.name), ['message'])
  }
  globalThis.BroadcastChannel = new Proxy(Channel, {
    construct(...made) {
      const channel = Reflect.construct(...made)
      if (!ears.has(channel.name)) ears.set(channel.name, new Channel(channel.name))
      return channel
    },
  })

  /** Workers run beside the page: they are told how late it is, and answer when they have come to rest. */
  const workers = new rl.Table() // worker -> { from, asks, last }
  const { postMessage: post, terminate } = globalThis.Worker?.prototype ?? {}
  if (globalThis.Worker) {
    globalThis.Worker = new Proxy(Worker, {
      construct(...made) {
        const worker = Reflect.construct(...made)
        const one = { from: rl.now(), asks: new rl.Table(), last: 0 }
        workers.set(worker, one)
        const end = () => {
          workers.delete(worker)
          one.asks.clear()
        }
        one.end = end
        add.call(worker, 'message', (event) => {
          const answer = event.data?.__rl
          if (answer === undefined) return
          event.stopImmediatePropagation()
          if (answer === 'closed') end()
          else one.asks.get(answer)?.()
        })
        // One that cannot be loaded answers nothing.
        add.call(worker, 'error', (event) => {
          if (!('message' in event)) end()
        })
        return worker
      },
    })
    Worker.prototype.terminate = function () {
      workers.get(this)?.end()
      return terminate.call(this)
    }
  }
  /** Asks each worker; the answers come behind all that it has said before. */
  function askWorkers() {
    for (const [worker, one] of workers) {
      const id = ++one.last
      one.asks.set(id, () => one.asks.delete(id))
      post.call(worker, { __rl: { id, from: one.from, to: rl.now() } })
    }
  }
  const areAsked = () => [...workers.values()].some(({ asks }) => asks.size > 0)

  /** Whether the page is told of what is drawn. */
  let watches = false
  if (window)
    for (const name of ['IntersectionObserver', 'ResizeObserver'])
      window[name] = new Proxy(window[name], {
        construct(...made) {
          watches = true
          return Reflect.construct(...made)
        },
      })

  const late = new WeakSet()
  const pictures = () =>
    document
      ? [...document.images].filter((one) => !one.complete && one.loading !== 'lazy' && !late.has(one))
      : []
  const fontsLoading = () => document?.fonts.status === 'loading'
  let fontsLate = false
  const isWaiting = () => open.size > 0 || pictures().length > 0 || (!fontsLate && fontsLoading())
  function giveUp() {
    open.clear()
    for (const one of pictures()) late.add(one)
    fontsLate = fontsLoading()
    for (const [worker, { asks }] of workers) if (asks.size > 0) workers.delete(worker)
  }

  /** Animations and transitions run by the page's time; true: one has ended, which is told when the page is drawn. */
  const played = new WeakMap()
  function animate(ms) {
    let hasEnded = false
    for (const animation of document.getAnimations()) {
      if (animation.timeline !== document.timeline) continue
      if (animation.playState !== 'running' && !played.has(animation)) continue
      const time = (played.get(animation) ?? 0) + ms
      played.set(animation, time)
      const { endTime } = /** @type {AnimationEffect} */ (animation.effect).getComputedTiming()
      if (time < Number(endTime)) {
        animation.pause()
        animation.currentTime = time
      } else {
        animation.finish()
        hasEnded = true
      }
    }
    for (const svg of document.querySelectorAll('svg'))
      if (!svg.ownerSVGElement && svg.querySelector('animate,animateMotion,animateTransform,set')) {
        svg.pauseAnimations()
        svg.setCurrentTime(rl.elapsed() / 1000)
      }
    return hasEnded
  }

  Object.assign(rl, {
    counted,
    /** Resolves when what has come so far is done with. */
    async turns() {
      for (let count = 0; count < QUIET_TURNS; count++) await turn()
    },
    /** Resolves once the browser has drawn: what scrolled by input of a person has told its listeners then. */
    painted,
    /** Lets come what no timer of the page's brings, after so many milliseconds of the page's time. */
    async settle(ms) {
      if (document && animate(ms)) await painted()
      const until = realNow() + GIVE_UP_MS
      const waitWhile = async (isOpen) => {
        for (let count = 0; isOpen() && realNow() < until; count++)
          await (count < FAST_TURNS ? turn() : pause())
        if (isOpen()) giveUp()
      }
      let quiet = 0
      for (let count = 0; quiet < QUIET_TURNS && count < MOST_TURNS; count++) {
        if (watches) await painted()
        askWorkers()
        await waitWhile(areAsked)
        await turn()
        quiet = isWaiting() ? 0 : quiet + 1
        await waitWhile(isWaiting)
      }
    },
  })
})()
