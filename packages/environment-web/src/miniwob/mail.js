/** Oracles of mailboxes and of posts. */
;(() => {
  const { solve, help } = window.__rl
  const { $$, $1, text, shown, match, click } = help

  /** What is asked: what to do, with whose mail, and which text or to whom. */
  function asked(goal, fields) {
    if (fields.by) {
      const { task, by, to, message } = fields
      return {
        act: task === 'star' ? 'important' : (task ?? (to ? 'forward' : 'important')),
        by,
        to,
        text: message,
      }
    }
    const by = /email by (\S+)/.exec(goal)?.[1]?.replace(/[.,]$/, '')
    const answer = /with the text "(.*)"/.exec(goal)?.[1]
    const to = /forward (?:that|the) email (?:by \S+ )?to (\S+?)\.?$/.exec(goal)?.[1]
    const act =
      answer !== undefined
        ? 'reply'
        : /forward/.test(goal)
          ? 'forward'
          : /trash|delete/i.test(goal)
            ? 'delete'
            : 'important'
    return { act, by, to, text: answer }
  }

  solve(/^email-inbox.*$/, ({ goal, fields }) => {
    const { act, by, to, text: answer } = asked(goal, fields)
    const closer = ['#close-reply', '#close-forward', '#search-cancel'].map($1).find(shown)
    if (shown($1('#reply')) && act === 'reply' && text($1('#reply .reply-sender')) === by) {
      const field = $1('#reply-text')
      return field.value === answer ? click($1('#send-reply')) : ['type', field, answer]
    }
    if (shown($1('#forward')) && act === 'forward') {
      const field = $1('#forward .forward-sender')
      return field.value === to ? click($1('#send-forward')) : ['type', field, to]
    }
    if (closer) return click(closer)
    if (shown($1('#email'))) {
      if (text($1('#email .email-sender')) !== by) return click($1('#close-email'))
      return click(
        $1(
          {
            reply: '#email .email-reply',
            forward: '#email .email-forward',
            delete: '#email .trash',
            important: '#email .star',
          }[act],
        ),
      )
    }
    const thread = $$('#main .email-thread').find((one) => text(one.querySelector('.email-sender')) === by)
    if (act === 'delete' || act === 'important')
      return click(thread?.querySelector(act === 'delete' ? '.trash' : '.star'))
    return click(thread)
  })

  /** The class of an action's button. */
  function classOf(action) {
    const found = Object.entries(window.ACTIONS).find(([, name]) => name === action)
    if (!found) throw new Error(`there is no action ${action}`)
    return found[0]
  }

  solve(/^social-media$/, ({ goal }) => {
    const [, user, action] = match(/For the user (\S+), click on the "(.*)" button/, goal)
    const post = $$('.media').find((one) => text(one.querySelector('.username')) === user)
    const key = classOf(action)
    const target = post.querySelector(`.${key}`)
    return click(shown(target) ? target : post.querySelector('.more'))
  })

  solve(/^social-media-(some|all)$/, ({ goal }) => {
    const [, action, amount, user] = match(/Click the "(.*)" button on (all|\d+) posts? by (\S+)/, goal)
    const key = classOf(action)
    const own = $$('.media')
      .filter((one) => text(one.querySelector('.username')) === user)
      .slice(0, amount === 'all' ? undefined : Number(amount))
      .map((one) => one.querySelector(`.${key}`))
    const wrong = $$('.reply, .retweet, .like, .share').find(
      (one) => one.classList.contains('active') !== own.includes(one),
    )
    return click(wrong ?? $1('#submitRow button'))
  })

  solve(/^phone-book$/, ({ goal }) => {
    const contact = /Find (\S+) in the/.exec(goal)?.[1]
    return contact ? click($$('#area a').find((one) => text(one) === contact)) : null
  })
})()
