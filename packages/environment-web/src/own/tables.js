/** Tables: to be read, ticked and changed. */
;(() => {
  const { define } = window.__own
  const { names, cities, items, colours } = window.__pools
  const numbers = (random, count) =>
    random
      .some(
        Array.from({ length: 80 }, (_, i) => i + 10),
        count,
      )
      .map(String)

  define('read-cell', 'tables', { rows: [2, 6] }, (random, { rows }, page) => {
    const people = random.some(names, rows)
    const values = random.some(cities, rows)
    page.table(
      ['name', 'city'],
      people.map((name, i) => [name, values[i]]),
    )
    const at = random.below(rows)
    const field = page.field('answer')
    const button = page.button('submit', () => page.finish(field.value === values[at]))
    return {
      goal: `type the city of ${people[at]} and click submit .`,
      oracle: () => (field.value === values[at] ? ['click', button] : ['type', field, values[at]]),
      texts: values,
    }
  })

  define('click-row', 'tables', { rows: [2, 7] }, (random, { rows }, page) => {
    const people = random.some(names, rows)
    const values = random.some(cities, rows)
    const at = random.below(rows)
    const opens = people.map((name, i) =>
      page.element('button', { type: 'button', click: () => page.finish(i === at) }, name),
    )
    page.table(
      ['city', 'name'],
      values.map((city, i) => [city, opens[i]]),
    )
    return { goal: `click the name of the row ${values[at]} .`, oracle: () => ['click', opens[at]] }
  })

  define('tick-rows', 'tables', { rows: [2, 6], kinds: [2, 3] }, (random, { rows, kinds }, page) => {
    const people = random.some(names, rows)
    const some = random.some(colours, kinds)
    const values = people.map((_, i) => (i === 0 ? some[0] : random.pick(some)))
    const order = random.shuffle(people.map((_, i) => i))
    const boxes = people.map((name) => page.element('input', { type: 'checkbox', 'aria-label': name }))
    page.table(
      ['colour', 'name'],
      order.map((i) => [values[i], boxes[i]]),
    )
    const wrong = () => boxes.findIndex((box, i) => box.checked !== (values[i] === some[0]))
    const button = page.button('submit', () => page.finish(wrong() < 0))
    return {
      goal: `check all rows with ${some[0]} and click submit .`,
      oracle: () => ['click', wrong() < 0 ? button : boxes[wrong()]],
    }
  })

  define('find-largest', 'tables', { rows: [2, 6] }, (random, { rows }, page) => {
    const shown = random.some(items, rows)
    const values = numbers(random, rows)
    const largest = values.indexOf(String(Math.max(...values.map(Number))))
    const opens = shown.map((name, i) =>
      page.element('button', { type: 'button', click: () => page.finish(i === largest) }, name),
    )
    page.table(
      ['number', 'item'],
      values.map((value, i) => [value, opens[i]]),
    )
    return { goal: 'click the item with the largest number .', oracle: () => ['click', opens[largest]] }
  })

  define('delete-row', 'tables', { rows: [2, 6], gone: [1, 2] }, (random, { rows, gone }, page) => {
    const shown = random.some(items, Math.max(rows, gone + 1))
    const wanted = random.some(shown, gone)
    const left = new Set(wanted)
    const made = new Map()
    for (const name of shown) {
      const click = () => {
        if (!left.delete(name)) return page.finish(false)
        page.show(made.get(name).closest('tr'), false)
        if (left.size === 0) page.finish(true)
      }
      made.set(name, page.element('button', { type: 'button', 'aria-label': `delete ${name}`, click }, 'x'))
    }
    page.table(
      ['item', 'delete'],
      shown.map((name) => [name, made.get(name)]),
    )
    return {
      goal: `delete the rows ${wanted.join(' , ')} .`,
      oracle: () => ['click', made.get(wanted.find((name) => left.has(name)))],
    }
  })

  define('edit-cell', 'tables', { rows: [2, 5] }, (random, { rows }, page) => {
    const shown = random.some(items, rows)
    const at = random.below(rows)
    const [value, ...others] = numbers(random, rows + 1)
    const fields = shown.map((name, i) =>
      page.element('input', { 'aria-label': name, value: others[i], autocomplete: 'off' }),
    )
    page.table(
      ['item', 'number'],
      shown.map((name, i) => [name, fields[i]]),
    )
    const right = () => fields.every((field, i) => field.value === (i === at ? value : others[i]))
    const button = page.button('save', () => page.finish(right()))
    return {
      goal: `set ${shown[at]} to ${value} and click save .`,
      oracle() {
        const wrong = fields.findIndex((field, i) => field.value !== (i === at ? value : others[i]))
        return wrong < 0 ? ['click', button] : ['type', fields[wrong], wrong === at ? value : others[wrong]]
      },
      texts: [value, ...others],
    }
  })
})()
