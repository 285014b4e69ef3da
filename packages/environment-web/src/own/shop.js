/** A shop and a booking desk. */
;(() => {
  const { define } = window.__own
  const { items, cities, days, names } = window.__pools

  define(
    'shop-order',
    'shop',
    { goods: [3, 8], wanted: [1, 3] },
    (random, { goods, wanted: count }, page) => {
      const shown = random.some(items, Math.max(goods, count))
      const wanted = random.some(shown, count)
      const cart = new Set()
      const made = new Map(
        shown.map((name) => [
          name,
          page.button(`add ${name}`, () => {
            if (cart.delete(name)) made.get(name).textContent = `add ${name}`
            else {
              cart.add(name)
              made.get(name).textContent = `remove ${name}`
            }
          }),
        ]),
      )
      const wrong = () => shown.find((name) => cart.has(name) !== wanted.includes(name))
      const order = page.button('order', () => page.finish(wrong() === undefined))
      return {
        goal: `add ${wanted.join(' , ')} and click order .`,
        oracle: () => ['click', wrong() ? made.get(wrong()) : order],
      }
    },
  )

  define('shop-quantity', 'shop', { goods: [2, 5], most: [2, 6] }, (random, { goods, most }, page) => {
    const shown = random.some(items, goods)
    const at = random.below(goods)
    const count = random.between(2, most)
    const fields = shown.map((name) =>
      page.select(
        name,
        Array.from({ length: most + 1 }, (_, i) => String(i)),
      ),
    )
    const wanted = (i) => (i === at ? String(count) : '0')
    const wrong = () => fields.findIndex((field, i) => field.value !== wanted(i))
    const order = page.button('order', () => page.finish(wrong() < 0))
    return {
      goal: `choose ${count} ${shown[at]} and click order .`,
      oracle: () => (wrong() < 0 ? ['click', order] : ['select', fields[wrong()], wanted(wrong())]),
    }
  })

  define('shop-cheapest', 'shop', { goods: [2, 6] }, (random, { goods }, page) => {
    const shown = random.some(items, goods)
    const prices = random.some(
      Array.from({ length: 80 }, (_, i) => i + 10),
      goods,
    )
    const cheapest = prices.indexOf(Math.min(...prices))
    const made = shown.map((name, i) =>
      page.element('button', { type: 'button', click: () => page.finish(i === cheapest) }, name),
    )
    page.table(
      ['price', 'item'],
      prices.map((price, i) => [String(price), made[i]]),
    )
    return { goal: 'click the item with the lowest price .', oracle: () => ['click', made[cheapest]] }
  })

  define('shop-search', 'shop', { goods: [2, 5] }, (random, { goods }, page) => {
    const shown = random.some(items, goods)
    const wanted = random.pick(shown)
    const field = page.field('search')
    const find = page.button('find', () => {
      const found = shown.includes(field.value)
      page.show(result, found)
      result.textContent = `order ${field.value}`
    })
    const result = page.button('order', () => page.finish(field.value === wanted))
    page.show(result, false)
    return {
      goal: `search for ${wanted} and order it .`,
      oracle() {
        if (
          result.style.display !== 'none' &&
          result.textContent === `order ${wanted}` &&
          field.value === wanted
        )
          return ['click', result]
        return field.value === wanted ? ['click', find] : ['type', field, wanted]
      },
      texts: shown,
    }
  })

  define(
    'book-flight',
    'shop',
    { cities: [3, 6], days: [2, 7] },
    (random, { cities: some, days: open }, page) => {
      const shown = random.some(cities, some)
      const [from, to] = random.some(shown, 2)
      const day = days[random.below(open)]
      const wanted = [
        [page.select('from', ['none', ...shown]), from],
        [page.select('to', ['none', ...shown]), to],
        [page.select('day', ['none', ...days.slice(0, open)]), day],
      ]
      const wrong = () => wanted.find(([control, value]) => control.value !== value)
      const book = page.button('book', () => page.finish(!wrong()))
      return {
        goal: `book a flight from ${from} to ${to} on ${day} .`,
        oracle() {
          const next = wrong()
          return next ? ['select', ...next] : ['click', book]
        },
      }
    },
  )

  define('book-seat', 'shop', { rows: [2, 4], seats: [2, 4] }, (random, { rows, seats }, page) => {
    const free = []
    for (let row = 1; row <= rows; row++)
      for (let seat = 1; seat <= seats; seat++) free.push(`${row} ${seat}`)
    const wanted = random.pick(free)
    const name = random.pick(names)
    let chosen = null
    const made = new Map(
      free.map((place) => [
        place,
        page.button(`seat ${place}`, () => {
          chosen = place
          for (const [other, button] of made) button.setAttribute('aria-selected', String(other === place))
        }),
      ]),
    )
    const field = page.field('name')
    const book = page.button('book', () => page.finish(chosen === wanted && field.value === name))
    return {
      goal: `book seat ${wanted} for ${name} .`,
      oracle() {
        if (chosen !== wanted) return ['click', made.get(wanted)]
        return field.value === name ? ['click', book] : ['type', field, name]
      },
      texts: [name],
    }
  })
})()
