/**
 * Pages that share the common form of MiniWoB++ (core.js): started by its own function under a seed, never ended by time, and read by
 * its global variables. Oracles are added by the scripts behind this one.
 */
;(() => {
  const rl = window.__rl
  /** Longer than any episode; a real timer would fire at once beyond 2^31. */
  const NEVER_MS = 1e6
  const MOST_WAITS = 10
  const oracles = []
  const pictures = []
  /** Pages give things of their own these names. */
  const [Table, Unique] = [Map, Set]

  /** A style sheet from elsewhere, which is not loaded, shows none. */
  function rulesOf(sheet) {
    try {
      return sheet.cssRules
    } catch {
      return []
    }
  }

  /** Icons that style sheets name have no size until they are loaded, which the load event does not wait for. */
  async function decodePictures() {
    if (pictures.length > 0) return
    const urls = new Unique()
    for (const sheet of document.styleSheets)
      for (const rule of rulesOf(sheet))
        for (const [, url] of rule.cssText.matchAll(/url\("([^"]+)"\)/g))
          if (URL.canParse(url, sheet.href ?? location.href))
            urls.add(new URL(url, sheet.href ?? location.href).href)
    for (const url of urls) {
      const picture = new Image()
      picture.src = url
      pictures.push(picture)
    }
    await Promise.all(pictures.map((picture) => picture.decode().catch(() => {})))
  }

  let goal = ''
  let fields = {}
  let oracle = null
  const memory = {}
  /** What the task before has changed. */
  const originals = new Table()

  async function begin(seed, variables = {}) {
    const { core } = window
    if (!core?.startEpisodeReal) throw new Error('the page has no core.startEpisodeReal')
    await decodePictures()
    for (const [name, value] of originals) window[name] = value
    originals.clear()
    for (const [name, value] of Object.entries(variables)) {
      originals.set(name, window[name])
      window[name] = value
    }
    core.EPISODE_MAX_TIME = NEVER_MS
    if (core.cover_div === null) core.startEpisode()
    // What asks for the next episode would hide how this one ended, and take clicks.
    core.cover_div.style.visibility = 'hidden'
    Math.seedrandom(seed)
    core.startEpisodeReal()
    for (let waits = 0; window.WOB_TASK_READY === false && waits < MOST_WAITS; waits++) {
      await rl.advance(500)
      await rl.settle(500)
    }
    const told = core.getUtterance()
    goal = typeof told === 'string' ? told : told.utterance
    fields = told?.fields ?? {}
    const name = decodeURIComponent(location.pathname.split('/').at(-1) ?? '').replace(/\.html$/, '')
    for (const key of Object.keys(memory)) delete memory[key]
    oracle = oracles.find(({ fits }) => fits(name))?.next ?? null
    return goal
  }

  Object.defineProperty(rl, 'page', {
    value: {
      full: true,
      hidden: ['reward-display', 'sync-task-cover', 'click-canvas', 'query'],
      start: (seed, { variables }) => begin(seed, variables),
      state: () => ({
        done: window.WOB_DONE_GLOBAL === true,
        reward: Number(window.WOB_RAW_REWARD_GLOBAL) || 0,
      }),
      oracle: () => oracle?.({ goal, fields, memory }) ?? null,
      texts: null,
    },
  })

  /** Numbers in capitals are how these pages name what a task has how many of. */
  rl.variables = () =>
    Object.entries(window)
      .map(([name, value]) => [name, originals.get(name) ?? value])
      .filter(
        ([name, value]) =>
          /^[A-Z][A-Z_]{3,}$/.test(name) && Number.isInteger(value) && !name.startsWith('WOB'),
      )

  /** Adds an oracle for pages whose name matches. */
  Object.defineProperty(rl, 'solve', {
    value(pattern, next) {
      oracles.push({ fits: (name) => pattern.test(name), next })
    },
  })
})()
