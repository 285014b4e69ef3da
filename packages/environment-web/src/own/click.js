/** Pages on which the right thing has to be clicked. */
;(() => {
  const { define } = window.__own
  const { labels, tabs, items, words, names } = window.__pools

  define('click-button', 'click', { buttons: [2, 10] }, (random, { buttons }, page) => {
    const shown = random.some(labels, buttons)
    const wanted = random.pick(shown)
    const made = new Map(shown.map((name) => [name, page.button(name, () => page.finish(name === wanted))]))
    return { goal: `click the button ${wanted} .`, oracle: () => ['click', made.get(wanted)] }
  })

  define('click-link', 'click', { links: [2, 8] }, (random, { links }, page) => {
    const shown = random.some(words, links)
    const wanted = random.pick(shown)
    const made = new Map(shown.map((name) => [name, page.link(name, () => page.finish(name === wanted))]))
    return { goal: `follow the link ${wanted} .`, oracle: () => ['click', made.get(wanted)] }
  })

  define(
    'click-sequence',
    'click',
    { buttons: [3, 9], length: [2, 4] },
    (random, { buttons, length }, page) => {
      const shown = random.some(labels, Math.max(buttons, length))
      const order = random.some(shown, length)
      let done = 0
      const made = new Map(
        shown.map((name) => [
          name,
          page.button(name, () => {
            if (name !== order[done]) return page.finish(false)
            done++
            made.get(name).disabled = true
            if (done === order.length) page.finish(true)
          }),
        ]),
      )
      return {
        goal: `click the buttons ${order.join(' , ')} in this order .`,
        oracle: () => ['click', made.get(order[done])],
      }
    },
  )

  define(
    'click-checkboxes',
    'click',
    { boxes: [3, 10], chosen: [1, 4] },
    (random, { boxes, chosen }, page) => {
      const shown = random.some(items, Math.max(boxes, chosen))
      const wanted = random.some(shown, chosen)
      const made = new Map(shown.map((name) => [name, page.check(name)]))
      const wrong = () => shown.find((name) => made.get(name).checked !== wanted.includes(name))
      const submit = page.button('submit', () => page.finish(wrong() === undefined))
      return {
        goal: `check ${wanted.join(' , ')} and click submit .`,
        oracle: () => ['click', wrong() ? made.get(wrong()) : submit],
      }
    },
  )

  define('click-tab', 'click', { tabs: [2, 4], links: [1, 4] }, (random, { tabs: count, links }, page) => {
    const shown = random.some(tabs, count)
    const all = random.some(words, Math.min(words.length, count * links))
    const wantedTab = random.pick(shown)
    /** @type {Map<string, any>} */
    const own = new Map(shown.map((name, i) => [name, all.slice(i * links, (i + 1) * links)]))
    const wanted = random.pick(own.get(wantedTab))
    const heads = new Map(shown.map((name) => [name, page.button(name, () => open(name))]))
    const panel = page.box()
    let current = null
    let made = new Map()
    function open(name) {
      current = name
      for (const [tab, head] of heads) head.setAttribute('aria-selected', String(tab === name))
      made = new Map(
        own
          .get(name)
          .map((text) => [
            text,
            page.element('button', { type: 'button', click: () => page.finish(text === wanted) }, text),
          ]),
      )
      panel.replaceChildren(...made.values())
    }
    return {
      goal: `open the tab ${wantedTab} and click ${wanted} .`,
      oracle: () => ['click', current === wantedTab ? made.get(wanted) : heads.get(wantedTab)],
    }
  })

  define('click-dialog', 'click', { buttons: [2, 6] }, (random, { buttons }, page) => {
    const [wanted, ...rest] = random.some(labels, buttons)
    const opener = page.button('dialog', () => {
      page.show(opener, false)
      page.show(dialog, true)
    })
    const made = new Map(
      random
        .shuffle([wanted, ...rest])
        .map((name) => [
          name,
          page.element('button', { type: 'button', click: () => page.finish(name === wanted) }, name),
        ]),
    )
    const dialog = page.box(...made.values())
    page.show(dialog, false)
    return {
      goal: `open the dialog and click ${wanted} .`,
      oracle: () => ['click', dialog.style.display === 'none' ? opener : made.get(wanted)],
    }
  })

  define('click-menu', 'click', { menus: [2, 5], entries: [2, 4] }, (random, { menus, entries }, page) => {
    const shown = random.some(names, menus)
    const texts = random.some(labels, menus * entries)
    /** @type {Map<string, any>} */
    const under = new Map(shown.map((name, i) => [name, texts.slice(i * entries, (i + 1) * entries)]))
    const menu = random.pick(shown)
    const wanted = random.pick(under.get(menu))
    let opened = null
    const made = new Map()
    const heads = new Map(
      shown.map((name) => {
        const head = page.button(name, () => {
          opened = opened === name ? null : name
          for (const [other, list] of lists) page.show(list, other === opened)
        })
        return [name, head]
      }),
    )
    const lists = new Map(
      shown.map((name) => {
        const buttons = under.get(name).map((text) => {
          const click = () => page.finish(name === menu && text === wanted)
          made.set(`${name}/${text}`, page.element('button', { type: 'button', click }, text))
          return made.get(`${name}/${text}`)
        })
        const list = page.box(...buttons)
        page.show(list, false)
        return [name, list]
      }),
    )
    return {
      goal: `open the menu ${menu} and click ${wanted} .`,
      oracle: () => ['click', opened === menu ? made.get(`${menu}/${wanted}`) : heads.get(menu)],
    }
  })
})()
