/** What a page's elements listen to, which trees it has closed, and who holds the pointer: what people can do is seen from them. */
;(() => {
  const rl = globalThis.__rl
  const { add, Unique } = rl

  /** Elements by the events that they listen to: what can be clicked is seen from its listeners. */
  const listened = new WeakMap()
  /** @param {[any, any]} rest */
  EventTarget.prototype.addEventListener = function (type, ...rest) {
    const types = listened.get(this) ?? new Unique()
    listened.set(this, types.add(type))
    return add.call(this, type, ...rest)
  }

  /** Trees that a page has closed to scripts, which people look into all the same. */
  const closed = new WeakMap()
  const { attachShadow } = Element.prototype
  /** @param {[ShadowRootInit]} options */
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

  Object.assign(rl, {
    /** Who gets the events of the pointer that is held down; null: what is below it. */
    captor: () => captor,
    releasePointer: () => {
      captor = null
    },
    listensTo: (element, type) => listened.get(element)?.has(type) || element[`on${type}`] != null,
    shadowOf: (element) => element.shadowRoot ?? closed.get(element) ?? null,
  })
})()
