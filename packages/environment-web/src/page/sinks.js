/**
 * Each text that a page lets become markup or a program passes here, whatever it was spelled like before: the browser asks a policy of
 * that name (Trusted Types) for all of innerHTML, document.write, eval, handlers, addresses that are scripts and the like.
 */
;(() => {
  const rl = globalThis.__rl
  const { trustedTypes } = globalThis
  /** Characters, programs and elements that are kept of an episode. */
  const MOST = 4e6
  const MOST_PROGRAMS = 2000
  const MOST_ELEMENTS = 50_000
  const plain = trustedTypes.createPolicy('rl', { createHTML: (text) => text })
  const own = []
  let size = 0

  /** What of all frames that can be read. */
  function record(kind, text) {
    try {
      const { __rl } = /** @type {Window} */ (top)
      ;(__rl?.sink ?? sink)(kind, text)
    } catch {
      sink(kind, text)
    }
  }
  function sink(kind, text) {
    size += text.length + 1
    if (size < MOST) own.push([kind, text])
  }

  const passing = (kind) => (text) => {
    record(kind, text)
    return text
  }
  trustedTypes.createPolicy('default', {
    createHTML: passing('markup'),
    createScript: passing('program'),
    createScriptURL: (text) => {
      if (/^\s*(data|blob|javascript):/i.test(text)) record('program', text)
      return text
    },
  })

  /** An address that is a script; browsers overlook blanks in its name. */
  const isProgram = (text) => /^javascript:/i.test(text.replace(/[\0-\x20]/g, ''))

  /** Adds the programs of some markup, and its elements without their texts. */
  function read(markup, programs, elements) {
    const box = document.createElement('template')
    box.innerHTML = plain.createHTML(markup)
    for (const element of box.content.querySelectorAll('*')) {
      const names = []
      for (const { name, value } of element.attributes) {
        names.push(name)
        if (name === 'srcdoc') read(value, programs, elements)
        else if (/^on/i.test(name) || isProgram(value)) programs.push(value)
      }
      if (element.localName === 'script') programs.push(element.textContent)
      elements.push([element.localName, ...names.sort()].join(' '))
      // Inner templates keep their content apart.
      if (element.localName === 'template') read(element.innerHTML, programs, elements)
    }
  }

  Object.assign(rl, {
    sink,
    /** Programs and elements that texts have become since the episode began. */
    sinks() {
      /** @type {[string[], string[]]} */
      const [programs, elements] = [[], []]
      for (const [kind, text] of own)
        if (kind === 'program') programs.push(text)
        else read(text, programs, elements)
      const unique = [...new rl.Unique(programs)]
      const full = size >= MOST || unique.length > MOST_PROGRAMS || elements.length > MOST_ELEMENTS
      return { programs: unique.slice(0, MOST_PROGRAMS), elements: elements.slice(0, MOST_ELEMENTS), full }
    },
    forgetSinks() {
      own.length = 0
      size = 0
    },
  })
})()
