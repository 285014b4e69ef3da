/** A mailbox: messages are opened, starred, deleted, answered and passed on. */
;(() => {
  const { define } = window.__own
  const { names, subjects, words } = window.__pools

  /**
   * A mailbox whose list opens messages; `acts` are buttons of an open message.
   *
   * @param {Draws} random
   * @param {number} count
   * @param {Builder} page
   * @param {{ acts?: readonly string[], done: Function }} options
   */
  function mailbox(random, count, page, { acts = [], done }) {
    const senders = random.some(names, count)
    const topics = random.some(subjects, count)
    const wanted = random.below(count)
    const list = page.box()
    const message = page.box()
    let opened = null
    const heads = senders.map((name, i) =>
      page.element('button', { type: 'button', click: () => show(i) }, `${name} ${topics[i]}`),
    )
    const buttons = new Map()
    const text = page.element('p', {})
    for (const name of acts)
      buttons.set(name, page.element('button', { type: 'button', click: () => done(name, opened) }, name))
    const back = page.element('button', { type: 'button', click: () => show(null) }, 'back')
    message.append(text, ...buttons.values(), back)
    list.append(...heads)
    function show(i) {
      opened = i
      page.show(list, i === null)
      page.show(message, i !== null)
      if (i !== null) text.textContent = `from ${senders[i]} about ${topics[i]}`
    }
    show(null)
    return {
      senders,
      topics,
      wanted,
      buttons,
      message,
      opened: () => opened,
      /** The way to the wanted message; null where it is open. */
      way: () => (opened === wanted ? null : ['click', opened === null ? heads[wanted] : back]),
      /** What tells the wanted message apart. */
      told: random.pick([`the mail from ${senders[wanted]}`, `the mail about ${topics[wanted]}`]),
    }
  }

  define('mail-open', 'mail', { mails: [2, 7] }, (random, { mails }, page) => {
    const senders = random.some(names, mails)
    const topics = random.some(subjects, mails)
    const at = random.below(mails)
    const told = random.pick([`from ${senders[at]}`, `about ${topics[at]}`])
    const heads = senders.map((name, i) => page.button(`${name} ${topics[i]}`, () => page.finish(i === at)))
    return { goal: `open the mail ${told} .`, oracle: () => ['click', heads[at]] }
  })

  for (const act of ['delete', 'archive'])
    define(`mail-${act}`, 'mail', { mails: [2, 6] }, (random, { mails }, page) => {
      const box = mailbox(random, mails, page, {
        acts: ['archive', 'delete'],
        done: (name, opened) => page.finish(name === act && opened === box.wanted),
      })
      return { goal: `${act} ${box.told} .`, oracle: () => box.way() ?? ['click', box.buttons.get(act)] }
    })

  define('mail-star', 'mail', { mails: [2, 6], stars: [1, 3] }, (random, { mails, stars }, page) => {
    const senders = random.some(names, Math.max(mails, stars))
    const wanted = random.some(senders, stars)
    const boxes = new Map(
      senders.map((name) => [
        name,
        page.check(`star ${name}`, false, () => {
          const wrong = senders.some((one) => boxes.get(one).checked && !wanted.includes(one))
          if (wrong) page.finish(false)
          else if (wanted.every((one) => boxes.get(one).checked)) page.finish(true)
        }),
      ]),
    )
    return {
      goal: `star the mails from ${wanted.join(' , ')} .`,
      oracle: () => ['click', boxes.get(wanted.find((name) => !boxes.get(name).checked))],
    }
  })

  define('mail-reply', 'mail', { mails: [2, 5] }, (random, { mails }, page) => {
    const answer = random.pick(words)
    const box = mailbox(random, mails, page, {
      acts: ['send'],
      done: (_, opened) => page.finish(opened === box.wanted && field.value === answer),
    })
    const field = page.element('input', { 'aria-label': 'reply', autocomplete: 'off' })
    box.message.prepend(field)
    return {
      goal: `reply ${answer} to ${box.told} .`,
      oracle: () =>
        box.way() ?? (field.value === answer ? ['click', box.buttons.get('send')] : ['type', field, answer]),
      texts: [answer],
    }
  })

  define('mail-forward', 'mail', { mails: [2, 5], people: [2, 5] }, (random, { mails, people }, page) => {
    const box = mailbox(random, mails, page, {
      acts: ['send'],
      done: (_, opened) => page.finish(opened === box.wanted && choice.value === target),
    })
    const others = random.some(
      names.filter((name) => !box.senders.includes(name)),
      people,
    )
    const target = random.pick(others)
    const choice = page.element(
      'select',
      { 'aria-label': 'forward' },
      ...['none', ...others].map((name) => page.element('option', {}, name)),
    )
    box.message.prepend(choice)
    return {
      goal: `forward ${box.told} to ${target} .`,
      oracle: () =>
        box.way() ??
        (choice.value === target ? ['click', box.buttons.get('send')] : ['select', choice, target]),
    }
  })
})()
