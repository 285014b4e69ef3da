/** What would leave the page (dialogs, windows, downloads, calls, other addresses) does nothing, and what it has stored goes. */
;(() => {
  const rl = globalThis.__rl
  const { add, counted, now } = rl

  window.alert = () => {}
  // Dialogs are answered as by somebody who agrees.
  window.confirm = () => true
  window.prompt = (_, text = '') => String(text)
  window.print = () => {}
  window.open = () => null
  window.close = () => {}

  // These go past the page's clock, and further than to its files.
  window.SharedWorker = /** @type {any} */ (
    class SharedWorker {
      constructor() {
        throw new DOMException('shared workers are refused', 'NotSupportedError')
      }
    }
  )
  for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection', 'WebTransport', 'WebSocketStream'])
    if (name in window)
      window[name] = class {
        constructor() {
          throw new DOMException('calls are refused', 'NotSupportedError')
        }
      }

  // Pages that were shown here before lie behind the first entry of this one.
  const { go } = history
  const { navigation } = window
  const { entries } = navigation
  const ownEntries = () => entries.call(navigation).filter(({ sameDocument }) => sameDocument)
  const place = () => ownEntries().indexOf(navigation.currentEntry)
  const { prototype: kind } = navigation.constructor
  kind.entries = ownEntries
  for (const [name, by] of /** @type {const} */ ([
    ['canGoBack', -1],
    ['canGoForward', 1],
  ]))
    Object.defineProperty(kind, name, {
      configurable: true,
      get: () => ownEntries()[place() + by] !== undefined,
    })
  Object.defineProperty(History.prototype, 'length', {
    configurable: true,
    get: () => Math.max(1, ownEntries().length),
  })
  history.go = (by = 0) => {
    const steps = Math.trunc(by)
    if (steps === 0 || ownEntries()[place() + steps] === undefined) return
    counted(new Promise((resolve) => add.call(window, 'popstate', resolve, { once: true })))
    go.call(history, steps)
  }
  history.back = () => history.go(-1)
  history.forward = () => history.go(1)

  // What would lead to another page ends here, behind all that the page itself does with it.
  add.call(window, 'submit', (event) => event.preventDefault())
  // By the middle button a link would open a window.
  for (const type of ['click', 'auxclick'])
    add.call(window, type, (event) => {
      const link = event.composedPath()[0]?.closest?.('a[href]')
      if (link && !/^(#|javascript:)/.test(link.getAttribute('href'))) event.preventDefault()
    })

  /** The browser would see by its own clock whether a cookie is over. */
  let hasCookies = false
  const cookies = /** @type {Required<PropertyDescriptor>} */ (
    Object.getOwnPropertyDescriptor(Document.prototype, 'cookie')
  )
  Object.defineProperty(Document.prototype, 'cookie', {
    ...cookies,
    set(text) {
      hasCookies = true
      const [pair, ...attributes] = String(text).split(';')
      const ends = attributes.flatMap((one) => {
        const [, name, value] = /^\s*(expires|max-age)\s*=\s*(.*)$/i.exec(one) ?? []
        if (name === undefined) return []
        return [/^max/i.test(name) ? now() + 1000 * Number(value) : Date.parse(value)]
      })
      const kept = attributes.filter((one) => !/^\s*(expires|max-age)\s*=/i.test(one))
      const over = ends.some((end) => end <= now()) ? ['max-age=0'] : []
      cookies.set.call(this, [pair, ...kept, ...over].join(';'))
    },
  })

  const storages = () => {
    try {
      return [localStorage, sessionStorage]
    } catch {
      // A page of no origin, as it is before the first is loaded, has no storage.
      return []
    }
  }
  function forgetCookies() {
    for (const one of document.cookie.split('; '))
      if (one !== '') cookies.set.call(document, `${one.split('=')[0]}=;max-age=0;path=/`)
  }
  if (top === window) {
    window.name = ''
    for (const one of storages()) one.clear()
  }
  let hasBase = false
  const { open } = IDBFactory.prototype
  /** @param {[string, number?]} args */
  IDBFactory.prototype.open = function (...args) {
    hasBase = true
    return open.apply(this, args)
  }
  let atLoad = null

  Object.assign(rl, {
    /** What is stored is as when the page was loaded: the rest was for another episode. */
    async forget() {
      if (atLoad === null) {
        atLoad = storages().map((one) => Object.entries(one))
        hasBase = false
        return
      }
      for (const [at, one] of storages().entries()) {
        one.clear()
        for (const [name, value] of atLoad[at]) one.setItem(name, value)
      }
      if (hasCookies) forgetCookies()
      hasCookies = false
      if (!hasBase) return
      hasBase = false
      for (const { name } of await indexedDB.databases())
        indexedDB.deleteDatabase(/** @type {string} */ (name))
    },
  })
})()
