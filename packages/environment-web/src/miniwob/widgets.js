/** Oracles of sliders, dates, lists that are sorted, shapes that are dragged, bookings. */
;(() => {
  const { solve, help } = window.__rl
  const { $$, $1, text, shown, reached, quoted, match, click, buttonNamed, submit } = help

  /** One key towards a value; null where it stands there. */
  function slide(slider, wanted) {
    const { value, min, max } = window.$(slider).slider('option')
    if (value === wanted) return null
    const handle = slider.querySelector('.ui-slider-handle')
    const page = (max - min) / 5
    const by = wanted - value
    if (Math.abs(by) >= page) return ['press', handle, by > 0 ? 'PageUp' : 'PageDown']
    return ['press', handle, by > 0 ? 'ArrowRight' : 'ArrowLeft']
  }

  solve(/^use-slider(-2)?$/, ({ goal }) => {
    const list = /\[(.*)\]/.exec(goal)?.[1].split(',').map(Number)
    const wanted = list ?? [Number(match(/Select (-?\d+)/, goal)[1])]
    for (const [i, slider] of $$('#area .ui-slider').entries()) {
      const next = slide(slider, wanted[i])
      if (next) return next
    }
    return submit()
  })

  solve(/^use-spinner$/, ({ goal }) => {
    const field = $1('#area input')
    const wanted = match(/-?\d+/, goal)[0]
    return field.value === wanted ? submit() : ['type', field, wanted]
  })

  solve(/^form-sequence$/, ({ goal }) => {
    const next = slide($1('#slider'), Number(match(/Select (-?\d+)/, goal)[1]))
    if (next) return next
    const at = Number(match(/the (\d)/, goal)[1])
    const wrong = $$('#area input[type=checkbox]').find((box, i) => box.checked !== (i + 1 === at))
    return wrong ? click(wrong) : submit()
  })

  solve(/^form-sequence-2$/, ({ goal }) => {
    const [radio, field] = [...goal.matchAll(/(\d)(?:st|nd|rd)/g)].map((match) => Number(match[1]))
    const button = $$('#area input[type=radio]')[radio - 1]
    if (!button.checked) return click(button)
    const target = $$('#area input[type=text]')[field - 1]
    return target.value === quoted(goal)[0] ? submit() : ['type', target, quoted(goal)[0]]
  })

  solve(/^form-sequence-3$/, ({ goal }) => {
    const [option, button] = quoted(goal)
    const list = $1('#area select')
    const chosen = text(list.selectedOptions[0]) === option
    return chosen ? click(buttonNamed(button)) : ['select', list, option]
  })

  /** Moves an open calendar of jQuery UI to a date and chooses it. */
  function pick(field, month, day, year) {
    const wanted = [month, day, year].map((one) => String(one).padStart(2, '0')).join('/')
    if (field.value === wanted) return null
    const calendar = $1('#ui-datepicker-div')
    if (!shown(calendar)) return ['click', field]
    const months =
      'January February March April May June July August September October November December'.split(' ')
    const at =
      months.indexOf(text($1('.ui-datepicker-month'))) + 1 + 12 * Number(text($1('.ui-datepicker-year')))
    const to = Number(month) + 12 * Number(year)
    if (to !== at) return click($1(to > at ? '.ui-datepicker-next' : '.ui-datepicker-prev'))
    return click($$('.ui-datepicker-calendar td a').find((one) => Number(text(one)) === Number(day)))
  }

  solve(/^choose-date.*$/, ({ goal }) => {
    const [month, day, year] = match(/\d+\/\d+\/\d+/, goal)[0].split('/')
    return pick($1('#datepicker'), month, day, year) ?? submit()
  })

  solve(/^use-autocomplete.*$/, ({ goal }) => {
    const [start, end = ''] = quoted(goal)
    const field = $1('#tags')
    const item = window.ui_utils.COUNTRIES.find((one) => one.startsWith(start) && one.endsWith(end))
    if (field.value !== item) return ['type', field, item]
    // The list lies over the button until one of it is chosen.
    const listed = $$('.ui-menu-item > *').find((one) => text(one) === item && reached(one))
    return listed ? click(listed) : submit()
  })

  solve(/^book-flight.*$/, ({ goal }) => {
    const [, kind, from, to, date] = match(
      /Book the (\w+) one-way flight from: (.*) to: (.*) on (\d+\/\d+\/\d+)/,
      goal,
    )
    const flights = $$('#results .flight')
    if (flights.length > 0) {
      const worth = (flight) =>
        Number(
          kind === 'cheapest'
            ? flight.querySelector('.flight-price').dataset.price
            : flight.querySelector('.time-duration').dataset.duration,
        )
      const best = flights.reduce((one, other) => (worth(other) < worth(one) ? other : one))
      return click(best.querySelector('.flight-price'))
    }
    for (const [selector, place] of [
      ['#flight-from', from],
      ['#flight-to', to],
    ]) {
      const field = $1(selector)
      const names = [window.DOMESTIC_FLIGHTS].flat()
      const airport =
        names.find((one) => one.includes(`(${place})`)) ??
        names.find((one) => one.startsWith(`${place} (`)) ??
        names.find((one) => one.includes(place))
      if (field.value !== airport) return ['type', field, airport]
    }
    const [month, day, year] = date.split('/')
    return pick($1('#datepicker'), month, day, year) ?? click($1('#search'))
  })

  solve(/^buy-ticket$/, ({ goal }) => {
    const worth = (flight) =>
      Number(
        /cost/.test(goal)
          ? flight.querySelector('.buy-ticket').dataset.price
          : flight.querySelector('.time-duration').dataset.duration,
      )
    const sign = /cheapest|shortest/.test(goal) ? 1 : -1
    const best = $$('.flight').reduce((one, other) => (sign * worth(other) < sign * worth(one) ? other : one))
    return click(best.querySelector('.buy-ticket'))
  })

  solve(/^drag-box$/, () => {
    const [small, large] = [$1('#draggableSmall'), $1('#draggableLarge')]
    return window.smallBoxContained() ? submit() : ['drag', small, large]
  })

  solve(/^drag-(circle|single-shape)$/, ({ goal }) => {
    const shape = $1('svg circle, svg rect, svg polygon')
    const way = match(/(left|right|up|down)/, goal)[1]
    const now = window.shapes.gridCoords(shape)
    const start = shape.getBBox()
    const moved = {
      left: now.x < start.x,
      right: now.x > start.x,
      up: now.y < start.y,
      down: now.y > start.y,
    }[way]
    return moved ? submit() : ['drag', shape, way]
  })

  /** What can be taken hold of. */
  const items = () => $$('#sortable li > div')

  solve(/^drag-items(-grid)?$/, ({ goal }) => {
    const all = items()
    const [, name, where] = match(/^Drag (\S+) (.*)$/, goal)
    const from = all.findIndex((one) => text(one) === name)
    const grid = all.length === 9
    const rows = ['top', 'center', 'bottom'].findIndex((one) => new RegExp(`the ${one}`).test(where))
    const columns = ['left', 'center', 'right'].findIndex((one) => where.endsWith(`${one}.`))
    const place = /(\d)(?:st|nd|rd|th)/.exec(where)
    const step = grid ? 3 : 1
    const to = place
      ? Number(place[1]) - 1
      : /by one/.test(where)
        ? from + { up: -step, down: step, left: -1, right: 1 }[where.split(' ')[0]]
        : grid
          ? rows * 3 + columns
          : where.includes('top')
            ? 0
            : all.length - 1
    return ['drag', all[from], all[to]]
  })

  solve(/^drag-sort-numbers$/, () => {
    const all = items()
    const numbers = all.map((one) => Number(text(one)))
    const sorted = [...numbers].sort((a, b) => a - b)
    const at = numbers.findIndex((one, i) => one !== sorted[i])
    return at < 0 ? submit() : ['drag', all[numbers.lastIndexOf(sorted[at])], all[at]]
  })

  solve(/^click-pie.*$/, ({ goal }) => {
    const [named] = quoted(goal)
    const title = $$('#divWheel svg text').find((one) => text(one) === named)
    return click(reached(title) ? title : $$('#divWheel svg text').find((one) => text(one) === '+'))
  })

  solve(/^order-food$/, ({ goal }) => {
    const type = /items? that (?:are|is|contain) (\S+)/.exec(goal)?.[1]
    const count = Number(/Order (\d+)/.exec(goal)?.[1])
    const all = $$('.food-item')
    const suits = (item) => [...item.querySelectorAll('.types img')].some((one) => one.alt === type)
    const first = all.find(suits)
    const named = /item: (.*)$/.exec(goal)?.[1] ?? ''
    const wanted = (item) => (type ? (item === first ? count : 0) : named.includes(item.dataset.item) ? 1 : 0)
    for (const item of all) {
      const now = Number(item.dataset.quantity)
      if (now !== wanted(item)) return click(item.querySelector(now < wanted(item) ? '.add' : '.remove'))
    }
    return click($1('#submit-order button'))
  })

  solve(/^stock-market$/, ({ goal }) => {
    const price = Number.parseFloat(text($1('#stock-price')).replace('$', ''))
    return price <= Number(match(/\$([\d.]+)\./, goal)[1]) ? click($1('#buy')) : ['wait']
  })

  /** The way that brings one box nearer to another, by the larger distance. */
  function wayTo(from, to) {
    const [a, b] = [from.getBoundingClientRect(), to.getBoundingClientRect()]
    const x = b.left + b.width / 2 - a.left - a.width / 2
    const y = b.top + b.height / 2 - a.top - a.height / 2
    if (Math.abs(x) / b.width > Math.abs(y) / b.height) return x > 0 ? 'right' : 'left'
    return y > 0 ? 'down' : 'up'
  }

  solve(/^drag-shapes$/, ({ goal }) => {
    const box = $1('#shape-container')
    const tag = { rectangles: 'rect:not(#shape-container)', circles: 'circle', triangles: 'polygon' }[
      match(/all (\w+)/, goal)[1]
    ]
    const outside = $$(`#area_svg ${tag}`).find((one) => !window.insideContainer(one))
    return outside ? ['drag', outside, wayTo(outside, box)] : submit()
  })

  solve(/^drag-shapes-2$/, ({ goal }) => {
    const [left, right] = $$('#shape-container').sort((a, b) => a.getAttribute('x') - b.getAttribute('x'))
    const [, kind] = match(/all (\S+)/, goal)
    const tag = { rectangles: 'rect', circles: 'circle', triangles: 'polygon' }[kind]
    for (const shape of $$('#area_svg rect, #area_svg circle, #area_svg polygon')) {
      if (shape.id === 'shape-container' || /shape-container/.test(shape.id)) continue
      const box = (tag ? shape.tagName === tag : shape.getAttribute('fill') === kind) ? left : right
      const x = Number(box.getAttribute('x'))
      const y = Number(box.getAttribute('y'))
      if (!window.insideContainer(shape, x, y)) return ['drag', shape, wayTo(shape, box)]
    }
    return submit()
  })

  solve(/^resize-textarea$/, ({ goal }) => {
    const area = window.$('#tt')
    const wide = /width/.test(goal)
    const handle = $1(wide ? '.ui-resizable-e' : '.ui-resizable-s')
    const start = area.data('ui-resizable') ?? area.resizable('instance')
    const now = wide ? area.width() : area.height()
    const first = wide ? start.originalSize?.width : start.originalSize?.height
    const grown = /larger/.test(goal) ? now > first : now < first
    return first !== undefined && grown
      ? submit()
      : [
          'drag',
          handle,
          wide ? (/larger/.test(goal) ? 'right' : 'left') : /larger/.test(goal) ? 'down' : 'up',
        ]
  })
})()
