/** Settings: switches, levels, panels, passwords. */
;(() => {
  const { define } = window.__own
  const { settings, languages, tabs, words, colours } = window.__pools

  define(
    'switch-settings',
    'settings',
    { switches: [2, 8], changed: [1, 3] },
    (random, { switches, changed }, page) => {
      const shown = random.some(settings, Math.max(switches, changed))
      const before = new Map(shown.map((name) => [name, random.below(2) === 1]))
      const wanted = random.some(shown, changed)
      const made = new Map(shown.map((name) => [name, page.check(name, before.get(name))]))
      const wrong = () =>
        shown.find((name) => made.get(name).checked === (before.get(name) === wanted.includes(name)))
      const save = page.button('save', () => page.finish(wrong() === undefined))
      const told = wanted.map((name) => `${name} ${before.get(name) ? 'off' : 'on'}`)
      return {
        goal: `switch ${told.join(' , ')} and click save .`,
        oracle: () => ['click', wrong() ? made.get(wrong()) : save],
      }
    },
  )

  define('set-level', 'settings', { steps: [1, 5] }, (random, { steps }, page) => {
    const name = random.pick(['volume', 'brightness'])
    const start = random.between(4, 6)
    const target = Math.max(
      0,
      Math.min(10, start + (random.below(2) === 0 ? -1 : 1) * random.between(1, steps)),
    )
    let level = start
    const shown = page.text(`${name} ${level}`)
    const move = (by) => () => {
      level = Math.max(0, Math.min(10, level + by))
      shown.textContent = `${name} ${level}`
    }
    const less = page.button('less', move(-1))
    const more = page.button('more', move(1))
    const save = page.button('save', () => page.finish(level === target))
    return {
      goal: `set the ${name} to ${target} and click save .`,
      oracle: () => ['click', level === target ? save : level < target ? more : less],
    }
  })

  define('choose-language', 'settings', { languages: [2, 8] }, (random, { languages: count }, page) => {
    const shown = random.some(languages, count)
    const target = random.pick(shown)
    const choice = page.select('language', ['none', ...shown])
    const save = page.button('save', () => page.finish(choice.value === target))
    return {
      goal: `set the language to ${target} and click save .`,
      oracle: () => (choice.value === target ? ['click', save] : ['select', choice, target]),
    }
  })

  define(
    'panel-setting',
    'settings',
    { panels: [2, 4], switches: [2, 3] },
    (random, { panels, switches }, page) => {
      const shown = random.some(tabs, panels)
      const all = random.some(settings, panels * switches)
      const at = random.below(panels)
      const wanted = all[at * switches + random.below(switches)]
      let opened = null
      const heads = shown.map((name, i) => page.button(name, () => open(i)))
      const panel = page.box()
      const boxes = new Map(
        all.map((name) => [name, page.element('input', { type: 'checkbox', 'aria-label': name })]),
      )
      function open(i) {
        opened = i
        panel.replaceChildren(...all.slice(i * switches, (i + 1) * switches).map((name) => boxes.get(name)))
      }
      const wrong = () => all.find((name) => boxes.get(name).checked !== (name === wanted))
      const save = page.button('save', () => page.finish(wrong() === undefined))
      return {
        goal: `open ${shown[at]} , switch ${wanted} on and click save .`,
        oracle() {
          const name = wrong()
          if (name === undefined) return ['click', save]
          const there = Math.floor(all.indexOf(name) / switches)
          return ['click', opened === there ? boxes.get(name) : heads[there]]
        },
      }
    },
  )

  define('change-password', 'settings', { fields: [2, 3] }, (random, { fields }, page) => {
    const [old, fresh] = random.some(words, 2)
    const wanted = [
      [page.field('old'), old],
      [page.field('new'), fresh],
      ...(fields > 2 ? [[page.field('repeat'), fresh]] : []),
    ]
    const wrong = () => wanted.find(([field, value]) => field.value !== value)
    const save = page.button('save', () => page.finish(!wrong()))
    return {
      goal: `change the password from ${old} to ${fresh} and click save .`,
      oracle() {
        const next = wrong()
        return next ? ['type', ...next] : ['click', save]
      },
      texts: [old, fresh].sort(),
    }
  })

  define('choose-theme', 'settings', { colours: [2, 7] }, (random, { colours: count }, page) => {
    const shown = random.some(colours, count)
    const target = random.pick(shown)
    const made = new Map(shown.map((name) => [name, page.radio('theme', name)]))
    const save = page.button('save', () => page.finish(made.get(target).checked))
    return {
      goal: `choose the theme ${target} and click save .`,
      oracle: () => ['click', made.get(target).checked ? save : made.get(target)],
    }
  })
})()
