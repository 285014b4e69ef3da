/**
 * The frame of our own pages. A type is `define(name, family, params, make)`: `params` names each parameter with its least and most
 * value, `make(random, values, page)` builds the page and gives `{ goal, oracle }`. `page.finish(ok)` ends the part. An oracle gives
 * the next action from what the page shows, so it knows the way from any state. Several parts follow one another.
 */
;(() => {
  const types = {}
  const own = {
    types,
    define(name, family, params, make) {
      types[name] = { name, family, params, make }
    },
  }
  Object.defineProperty(window, '__own', { value: own })

  const STYLE = `*{transition:none!important;animation:none!important}
body{font:13px sans-serif;margin:6px;width:330px}h1{font-size:15px;margin:2px 0}button,input,select{font:inherit;margin:2px}
table{border-collapse:collapse}td,th{border:1px solid #bbb;padding:1px 5px;text-align:left}.bar{margin:3px 0}.card{border:1px solid #ccc;margin:3px;padding:3px}`

  /** Draws of one part. `draws` holds values that replace some of them, by their place. */
  function randomOf(seed, draws) {
    window.__rl.restart(seed)
    let count = 0
    const uniform = () => {
      const value = window.__rl.uniform()
      return draws?.[count++] ?? value
    }
    const below = (n) => Math.floor(uniform() * n)
    const shuffle = (list) => {
      const copy = [...list]
      for (let i = copy.length - 1; i > 0; i--) {
        const j = below(i + 1)
        ;[copy[i], copy[j]] = [copy[j], copy[i]]
      }
      return copy
    }
    return {
      uniform,
      below,
      shuffle,
      between: (least, most) => least + below(most - least + 1),
      pick: (list) => list[below(list.length)],
      some: (list, count) => shuffle(list).slice(0, count),
    }
  }

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag)
    for (const [name, value] of Object.entries(attributes)) {
      if (typeof value === 'function') made.addEventListener(name, value)
      else if (value === true) made.setAttribute(name, '')
      else if (value !== false && value !== null) made.setAttribute(name, value)
    }
    made.append(...children)
    return made
  }

  let parts = []
  let at = 0
  let live = null
  let outcome = null

  /** What a type builds with; all of it lands in one box, which the next part replaces. */
  function pageOf(root, finish) {
    const put = (made) => {
      root.append(made)
      return made
    }
    const labelled = (name, control) => {
      control.setAttribute('aria-label', name)
      put(element('div', {}, element('label', {}, name, control)))
      return control
    }
    const page = {
      root,
      element,
      finish,
      add: put,
      title: (text) => put(element('h1', {}, text)),
      text: (text) => put(element('p', { class: 'bar' }, text)),
      button: (name, click) => put(element('button', { type: 'button', click }, name)),
      link: (name, click) => put(element('a', { href: 'javascript:void 0', click }, name)),
      field: (name) => labelled(name, element('input', { autocomplete: 'off' })),
      check: (name, checked = false, change = () => {}) =>
        labelled(name, element('input', { type: 'checkbox', checked, change })),
      radio: (group, name) => labelled(name, element('input', { type: 'radio', name: group })),
      select: (name, options) =>
        labelled(name, element('select', {}, ...options.map((option) => element('option', {}, option)))),
      table: (head, rows) =>
        put(
          element(
            'table',
            {},
            element('tr', {}, ...head.map((text) => element('th', {}, text))),
            ...rows.map((row) => element('tr', {}, ...row.map((cell) => element('td', {}, cell)))),
          ),
        ),
      box: (...children) => put(element('div', { class: 'card' }, ...children)),
      clear: () => root.replaceChildren(),
      show: (made, shown) => {
        made.style.display = shown ? '' : 'none'
      },
    }
    return page
  }

  function enter(index) {
    at = index
    document.body.replaceChildren(element('style', {}, STYLE), element('div'))
    const { type, seed, params, draws } = parts[index]
    let open = true
    const finish = (ok) => {
      if (!open) return
      open = false
      if (ok && at + 1 < parts.length) enter(at + 1)
      else outcome = ok ? 1 : 0
    }
    live = types[type].make(randomOf(seed, draws), params, pageOf(document.body.lastChild, finish))
  }

  const ORDER = ['first', 'then', 'then', 'then']

  const goalsOf = (request) => {
    parts = request.parts
    const goals = []
    for (let index = parts.length - 1; index >= 0; index--) {
      enter(index)
      goals.unshift(live.goal)
    }
    return goals.length === 1 ? goals[0] : goals.map((goal, index) => `${ORDER[index]} ${goal}`).join(' ')
  }

  Object.defineProperty(window.__rl, 'page', {
    value: {
      start(_, request) {
        outcome = null
        return goalsOf(request)
      },
      state: () => ({ done: outcome !== null, reward: outcome ?? 0 }),
      oracle: () => live.oracle(),
      texts: () => live.texts ?? [],
    },
  })

  /** Types with their families and parameters, for who makes tasks. */
  window.__rl.catalogue = () =>
    Object.values(types).map(({ name, family, params }) => ({ name, family, params }))
})()
