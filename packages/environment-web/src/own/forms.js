/** Forms: texts, choices, dates. */
;(() => {
  const { define } = window.__own
  const { names, items, words, colours, cities, months } = window.__pools

  /** The first control whose value is not the wanted one; then the button. */
  const fillIn = (wanted, button) => () => {
    for (const [control, value] of wanted) {
      if (control.type === 'checkbox' || control.type === 'radio') {
        if (control.checked !== value) return ['click', control]
      } else if (control.value !== value)
        return [control.tagName === 'SELECT' ? 'select' : 'type', control, value]
    }
    return ['click', button]
  }
  const allRight = (wanted) =>
    wanted.every(([control, value]) =>
      /checkbox|radio/.test(control.type) ? control.checked === value : control.value === value,
    )

  define('enter-text', 'forms', { fields: [1, 4] }, (random, { fields }, page) => {
    const shown = random.some(items, fields)
    const texts = random.some(words, 2)
    const inputs = shown.map((name) => page.field(name))
    const at = random.below(fields)
    const wanted = [[inputs[at], texts[0]]]
    const button = page.button('submit', () => page.finish(allRight(wanted)))
    return {
      goal: `type ${texts[0]} into ${shown[at]} and click submit .`,
      oracle: fillIn(wanted, button),
      texts: texts.sort(),
    }
  })

  define('login', 'forms', { distractors: [0, 3] }, (random, { distractors }, page) => {
    const name = random.pick(names)
    const password = random.pick(words)
    const user = page.field('user')
    const secret = page.field('password')
    const wanted = [
      [user, name],
      [secret, password],
    ]
    const others = random.some(['help', 'back', 'search'], distractors)
    for (const other of others) page.button(other, () => page.finish(false))
    const button = page.button('login', () => page.finish(allRight(wanted)))
    return {
      goal: `log in with user ${name} and password ${password} .`,
      oracle: fillIn(wanted, button),
      texts: [name, password],
    }
  })

  define('choose-option', 'forms', { options: [3, 9] }, (random, { options }, page) => {
    const shown = random.some(cities, options)
    const wanted = [[page.select('city', ['none', ...shown]), random.pick(shown)]]
    const button = page.button('submit', () => page.finish(allRight(wanted)))
    return { goal: `choose the city ${wanted[0][1]} and click submit .`, oracle: fillIn(wanted, button) }
  })

  define('choose-radio', 'forms', { options: [2, 8] }, (random, { options }, page) => {
    const shown = random.some(colours, options)
    const target = random.pick(shown)
    const made = new Map(shown.map((name) => [name, page.radio('colour', name)]))
    const wanted = [[made.get(target), true]]
    const button = page.button('submit', () => page.finish(allRight(wanted)))
    return { goal: `choose the colour ${target} and click submit .`, oracle: fillIn(wanted, button) }
  })

  define('fill-form', 'forms', { fields: [2, 4] }, (random, { fields }, page) => {
    const name = random.pick(names)
    const city = random.pick(cities)
    const colour = random.pick(colours)
    const kinds = random.some(['name', 'city', 'colour', 'news'], fields)
    const parts = []
    const wanted = kinds.map((kind) => {
      if (kind === 'name') {
        parts.push(`name ${name}`)
        return [page.field('name'), name]
      }
      if (kind === 'city') {
        parts.push(`city ${city}`)
        return [
          page.select('city', ['none', ...random.shuffle([...new Set([city, ...random.some(cities, 3)])])]),
          city,
        ]
      }
      if (kind === 'colour') {
        parts.push(`colour ${colour}`)
        return [
          page.select('colour', [
            'none',
            ...random.shuffle([...new Set([colour, ...random.some(colours, 3)])]),
          ]),
          colour,
        ]
      }
      parts.push('news checked')
      return [page.check('news'), true]
    })
    const button = page.button('submit', () => page.finish(allRight(wanted)))
    return {
      goal: `fill in ${parts.join(' , ')} and click submit .`,
      oracle: fillIn(wanted, button),
      texts: [name],
    }
  })

  define(
    'enter-date',
    'forms',
    { months: [3, 12], days: [5, 28] },
    (random, { months: some, days }, page) => {
      const month = months[random.below(some)]
      const day = String(random.between(1, days))
      const wanted = [
        [page.select('month', ['none', ...months.slice(0, some)]), month],
        [page.select('day', ['0', ...Array.from({ length: days }, (_, i) => String(i + 1))]), day],
      ]
      const button = page.button('submit', () => page.finish(allRight(wanted)))
      return { goal: `choose the date ${month} ${day} and click submit .`, oracle: fillIn(wanted, button) }
    },
  )
})()
