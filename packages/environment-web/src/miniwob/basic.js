/** Oracles of pages on which the right thing is clicked, checked or chosen. Each sees the page and gives the next action. */
;(() => {
  const { solve } = window.__rl
  const $$ = (selector) => [...document.querySelectorAll(selector)]
  const $1 = (selector) => document.querySelector(selector)
  const text = (element) => (element?.textContent ?? '').replace(/\s+/g, ' ').trim()
  const shown = (element) => element?.checkVisibility({ visibilityProperty: true })
  /** Whether a click comes to it as the page stands: what has opened over it is closed first. */
  const reached = (element) => shown(element) && window.__rl.isReachable(element)
  const quoted = (goal) => [...goal.matchAll(/"([^"]*)"/g)].map((match) => match[1])
  /** Throws if the text does not match, as the oracle was made for another form of the page. */
  const match = (pattern, text) => {
    const found = pattern.exec(text)
    if (!found) throw new Error(`${pattern} does not match`)
    return found
  }
  const click = (element) => element && ['click', element]
  const buttonNamed = (name) => $$('#area button').find((button) => text(button) === name && shown(button))
  const submit = () => click($1('#subbtn') ?? $1('#submit') ?? $$('#area button').findLast(shown))
  Object.defineProperty(window.__rl, 'help', {
    value: { $$, $1, text, shown, reached, quoted, match, click, buttonNamed, submit },
  })

  solve(/^(click-button|unicode-test|click-test.*)$/, ({ goal }) => {
    const [named] = quoted(goal)
    const all = $$('#area button')
    if (named !== undefined) return click(all.find((button) => button.innerHTML === named))
    return click(all.find((button) => goal.includes(`button ${text(button)}`)) ?? all[0])
  })

  solve(/^click-button-sequence$/, () =>
    click($1(window.buttonsPushed.length === 0 ? '#subbtn' : '#subbtn2')),
  )

  solve(/^button-delay$/, ({ goal }) => {
    if (window.buttonsPushed.length === 0) return click($1('#subbtn'))
    const seconds = Number(match(/wait (\d+)/, goal)[1])
    return Date.now() - window.currentTime < seconds * 1000 ? ['wait'] : click($1('#subbtn2'))
  })

  /** Links in sections or tabs that may have to be opened. */
  solve(/^(click-link|click-tab-2.*|click-collapsible-2.*)$/, ({ goal }) => {
    const [named] = quoted(goal)
    const links = $$('.alink').filter((link) => text(link) === named)
    const open = links.find(shown)
    if (open) return click(open)
    if (links.length === 0) return click($$('.ui-tab a')[1])
    const panel = links[0].closest('.ui-tabs-panel,.ui-accordion-content')
    return click($1(`.ui-tab a[href="#${panel.id}"]`) ?? panel.previousElementSibling)
  })

  solve(/^click-tab$/, ({ goal }) => click($$('.ui-tab a').find((tab) => goal.includes(text(tab)))))

  solve(/^click-collapsible(-nodelay)?$/, () =>
    $$('.ui-accordion-content').some(shown) ? submit() : click($1('.ui-accordion-header')),
  )

  solve(/^(click-checkboxes.*|click-option)$/, ({ goal }) => {
    const listed = match(/Select (?:words similar to )?(.*) and click Submit/, goal)[1].split(', ')
    const alike = (name, wanted) =>
      name === wanted ||
      (window.SYNONYMS ?? []).some((group) => group.includes(name) && group.includes(wanted))
    for (const box of $$('#area input')) {
      const wanted = listed.some((name) => alike(text(box.labels[0]), name))
      if (box.checked !== wanted && (wanted || box.type === 'checkbox')) return click(box)
    }
    return submit()
  })

  solve(/^click-color$/, () => {
    const asked = $1('#query .color') ?? $1('#query .bold')
    const colour = asked.style.backgroundColor || text(asked)
    return click(
      $$('#area .color').find((one) => one.dataset.color === colour || one.style.backgroundColor === colour),
    )
  })

  solve(/^click-dialog.*$/, ({ goal }) => {
    const [named] = quoted(goal)
    return click(
      named === 'x'
        ? $1('.ui-dialog-titlebar button')
        : $$('.ui-dialog-buttonset button').find((one) => text(one) === named),
    )
  })

  solve(/^click-widget$/, ({ goal }) => click($1(`#area [data-type="${quoted(goal)[0]}"]`)))

  solve(/^click-menu$/, ({ goal }) => {
    const way = goal.replace(/^Select /, '').split('>')
    let items = $$('#menu > li')
    for (const [depth, name] of way.entries()) {
      const item = items.find((one) => text(one.firstElementChild) === name)
      if (depth === way.length - 1) return click(item.firstElementChild)
      const below = item.querySelector('ul')
      if (!shown(below)) return ['hover', item.firstElementChild]
      items = [...below.children]
    }
    return null
  })

  solve(/^(click-scroll-list|choose-list)$/, ({ goal }) => {
    const list = $1('#options')
    const wanted = match(/^Select (.*?) from the/, goal)[1].split(', ')
    const names = list.multiple ? wanted : [wanted.join(', ')]
    const wrong = [...list.options].find(
      (option) => option.selected !== names.includes(text(option)) && (list.multiple || !option.selected),
    )
    return wrong ? ['select', list, text(wrong)] : submit()
  })

  solve(/^focus-text(-2)?$/, ({ goal }) => {
    const at = Number(/(\d)(?:st|nd|rd)/.exec(goal)?.[1] ?? 1)
    return click($$('#area input')[at - 1])
  })

  solve(/^grid-coordinate$/, ({ goal }) => click(document.getElementById(match(/\(.*\)/, goal)[0])))

  solve(/^odd-or-even$/, () => {
    for (const row of $$('#area .row')) {
      const odd = Number(text(row.querySelector('.display-number'))) % 2 !== 0
      const button = row.querySelector(odd ? '.odd' : '.even')
      if (!button.classList.contains('selected')) return click(button)
    }
    return submit()
  })

  solve(/^navigate-tree$/, ({ goal }) => {
    const [named] = quoted(goal)
    const all = $$('#tree span').filter((one) => text(one) === named)
    const open = all.find(shown)
    if (open) return click(open)
    let folder = all[0].closest('ul').closest('li')
    while (!shown(folder)) folder = folder.parentElement.closest('li')
    return click(folder.querySelector(':scope > span'))
  })

  /** What is drawn is seen by its lines. */
  let lines = 0
  const canvas = CanvasRenderingContext2D.prototype
  for (const [name, count] of /** @type {const} */ ([
    ['beginPath', () => 0],
    ['lineTo', () => lines + 1],
  ])) {
    const draw = /** @type {Function} */ (canvas[name])
    canvas[name] = function (...args) {
      lines = count()
      return draw.apply(this, args)
    }
  }
  solve(/^count-sides$/, () => click($1(`#form button[data-sides="${lines}"]`)))

  solve(/^ascending-numbers$/, () => {
    const first = $$('svg text').find((one) => text(one) === '1')
    return click(first ?? $1('svg rect'))
  })

  solve(/^tic-tac-toe$/, () => {
    const lines = ['012', '345', '678', '036', '147', '258', '048', '246']
    const state = window.gameState
    const cell = (at) => click($1(`#ttt-${at}`))
    for (const mark of [1, -1])
      for (const line of lines) {
        const at = [...line].map(Number)
        const free = at.filter((one) => state[one] === 0)
        if (free.length === 1 && at.filter((one) => state[one] === mark).length === 2) return cell(free[0])
      }
    return cell([4, 0, 2, 6, 8, 1, 3, 5, 7].find((one) => state[one] === 0))
  })
})()
