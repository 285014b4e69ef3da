/** Oracles of pages on which something is read and typed. */
;(() => {
  const { solve, help } = window.__rl
  const { $$, $1, text, shown, quoted, match, click, submit } = help

  /** Types what is not there yet, then submits. */
  const fill = (...pairs) => {
    const wrong = pairs.find(([field, value]) => field.value !== value)
    return wrong ? ['type', ...wrong] : submit()
  }
  const field = () => $1('#area input[type=text], #area input[type=number], #area input:not([type])')

  solve(/^(enter-text|enter-text-dynamic)$/, ({ goal }) => fill([field(), quoted(goal)[0]]))
  solve(/^enter-text-2$/, ({ goal }) => {
    const [word] = quoted(goal)
    return fill([field(), /upper/.test(goal) ? word.toUpperCase() : word.toLowerCase()])
  })
  solve(/^enter-password$/, ({ goal }) =>
    fill([$1('#password'), quoted(goal)[0]], [$1('#verify'), quoted(goal)[0]]),
  )
  solve(/^login-user.*$/, ({ goal }) => {
    const cancel = $$('#popup button, #popup-cancel').find((one) => shown(one) && /cancel/i.test(text(one)))
    if (cancel) return click(cancel)
    return fill([$1('#username'), quoted(goal)[0]], [$1('#password'), quoted(goal)[1]])
  })
  solve(/^enter-date$/, ({ goal }) => {
    const [month, day, year] = match(/\d+\/\d+\/\d+/, goal)[0].split('/')
    return fill([$1('#tt'), `${year}-${month}-${day}`])
  })
  solve(/^enter-time$/, ({ goal }) => {
    const [, hour, minute, half] = match(/(\d+):(\d+) ?([AP])M/, goal)
    const full = (Number(hour) % 12) + (half === 'P' ? 12 : 0)
    return fill([$1('#tt'), `${String(full).padStart(2, '0')}:${minute}`])
  })
  solve(/^find-word$/, ({ goal }) => {
    const at = Number(match(/(\d+)(?:st|nd|rd|th)/, goal)[1])
    return fill([
      $1('#answer-input'),
      text($1('#area p'))
        .split(' ')
        [at - 1].replace(/[^a-zA-Z]+/g, ''),
    ])
  })
  solve(/^scroll-text$/, () => {
    const last = $1('#text-area').value.trim().split(/\s+/).at(-1)
    return fill([$1('#answer-input'), last.replace(/[^a-zA-Z0-9]/g, '')])
  })
  solve(/^scroll-text-2$/, ({ goal }) => {
    const area = $1('#text-area')
    const down = /bottom/.test(goal)
    const there = down ? area.scrollTop + area.clientHeight >= area.scrollHeight - 1 : area.scrollTop === 0
    return there ? submit() : ['scroll', area, down ? 'down' : 'up']
  })
  solve(/^copy-paste(-2)?$/, ({ goal }) => {
    const areas = $$('#area textarea')
    const at = Number(/(\d)(?:st|nd|rd)/.exec(goal)?.[1] ?? 1)
    return fill([$1('#answer-input'), areas[at - 1].value])
  })
  solve(/^read-table(-2)?$/, ({ goal }) => {
    const values = new Map($$('#tab tr').map((row) => [text(row.children[0]), text(row.children[1])]))
    const fields = $$('#form input[type=text]')
    const named = /values? of (.*) into/.exec(goal)?.[1].split(/ and /)
    const keys = named ?? fields.map((one) => text(one.previousElementSibling).replace(/:$/, ''))
    return fill(...keys.map((key, i) => [fields[i], values.get(key)]))
  })
  solve(/^simple-algebra$/, () => {
    const [left, right] = text($1('#math-problem')).split(' = ')
    const [a, sign, b] = left.split(' ')
    const total = Number(right)
    const x =
      sign === '+' ? total - Number(a === 'x' ? b : a) : a === 'x' ? total + Number(b) : Number(a) - total
    return fill([$1('#math-answer'), String(x)])
  })
  solve(/^simple-arithmetic$/, () => {
    const [, a, sign, b] = match(/(-?\d+) ?([-+*x×]) ?(-?\d+)/, text($1('#math-problem')))
    const [x, y] = [Number(a), Number(b)]
    return fill([$1('#math-answer'), String(sign === '+' ? x + y : sign === '-' ? x - y : x * y)])
  })
  solve(/^visual-addition$/, () => fill([$1('#math-answer'), String($$('.addition-block').length)]))
  solve(/^guess-number$/, () => {
    const bound = (id) => (shown($1(id)) ? Number(text($1(`${id} span`))) : null)
    const tried = $1('#tt').value
    const [lower, higher] = [bound('#lower'), bound('#higher')]
    // One step from the last guess: what came before is not on the page.
    const guess = lower !== null ? lower - 1 : higher !== null ? higher + 1 : 5
    return tried === String(guess) ? submit() : ['type', $1('#tt'), String(guess)]
  })
  solve(/^highlight-text$/, () => {
    const target = $1('#randomText')
    return String(getSelection()).replace(/\s/g, '') === target.textContent.replace(/\s/g, '')
      ? submit()
      : ['highlight', target]
  })
  solve(/^highlight-text-2$/, ({ goal }) => {
    const target = $$('#randomText p')[Number(match(/(\d)(?:st|nd|rd)/, goal)[1]) - 1]
    return String(getSelection()).replace(/\s/g, '') === target.textContent.replace(/\s/g, '')
      ? submit()
      : ['highlight', target]
  })
  solve(/^multi-(layouts|orderings)$/, ({ goal }) => {
    const [, genre, director, year] = match(/Search for (.*?) movies directed by (.*?) from year (\d+)/, goal)
    /** @type {[RegExp, string][]} */
    const values = [
      [/genre/i, genre],
      [/director/i, director],
      [/year|date/i, year],
    ]
    const inputs = $$('#area input[type=text], #area input:not([type])')
    for (const input of inputs) {
      const label = `${text(input.closest('p,tr,.row,.field,.ui-entry'))} ${text(input.previousElementSibling)} ${input.placeholder} ${input.id} ${input.name}`
      const value = (values.find(([pattern]) => pattern.test(text(input.previousElementSibling))) ??
        values.find(([pattern]) => pattern.test(label)))?.[1]
      if (value !== undefined && input.value !== value) return ['type', input, value]
    }
    return click(
      $$('#area button, #area a, #area div').findLast((one) => /^(Submit|Search|Go!)$/.test(text(one))),
    )
  })
  solve(/^terminal$/, ({ goal }) => {
    const field = $1('#terminal-target')
    const output = $$('.terminal-output .output').map(text).join(' ')
    const typed = text($1('#active-input'))
    const send = (command) => (typed === command ? ['press', field, 'Enter'] : ['type', field, command])
    const names = output.split(' ').filter((one) => window.currentFiles.includes(one))
    if (names.length === 0) return send('ls')
    const ending = /ending with the extension (\S+)/.exec(goal)?.[1]?.replace(/\.$/, '')
    const file = ending
      ? names.find((one) => one.endsWith(ending.startsWith('.') ? ending : `.${ending}`))
      : names.find((one) => !one.includes('.'))
    return file ? send(`rm ${file}`) : null
  })
})()
