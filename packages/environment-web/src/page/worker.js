/** In a worker: hears from its page how late it is, and answers when it has come to rest. Stands behind clock.js and waiting.js. */
;(() => {
  const rl = globalThis.__rl
  const tell = globalThis.postMessage.bind(globalThis)
  const close = globalThis.close.bind(globalThis)
  // It inherits from its page that texts which become programs are asked about.
  const through = (text) => text
  globalThis.trustedTypes?.createPolicy('default', { createScript: through, createScriptURL: through })
  let begun = false
  let last = Promise.resolve()

  async function goOn({ id, from, to }) {
    // It was made when the page's clock stood there.
    if (!begun) rl.shift(from)
    begun = true
    const ms = Math.max(0, to - rl.now())
    await rl.advance(ms)
    await rl.settle(ms)
    tell({ __rl: id })
  }

  rl.add.call(globalThis, 'message', (event) => {
    const asked = event.data?.__rl
    if (asked === undefined) return
    event.stopImmediatePropagation()
    last = last.then(() => goOn(asked))
  })
  globalThis.close = () => {
    tell({ __rl: 'closed' })
    close()
  }
})()
