/** What may have to be typed on a page: what its goal tells, in the forms in which fields want it, and what the page shows. */
;(() => {
  const rl = window.__rl
  /** Pages give things of their own this name. */
  const Unique = Set
  const MOST_GOAL = 16
  const MOST_SHOWN = 40
  const MOST_LENGTH = 1000
  const MOST_RANGE = 20
  const NAMES = /\b(?:for|by|from|to|named|called|year|is):?\s+([A-Za-z0-9/@.:-]+(?:\s+[A-Z][\w.-]*)*)/g
  const NUMBERS = /(?:(?<=^|\s)-)?\d+(?:[/:.-]\d+)*/g
  const PROPER = /(?<=\S\s)\p{Lu}[\p{L}-]+/gu
  const COUNTED = /\b(?:math|solve|total|how many)\b/i

  const some = (texts, most) =>
    [
      ...new Unique(texts.filter((text) => text !== '' && text.length <= MOST_LENGTH && text.isWellFormed())),
    ].slice(0, most)
  const two = (number) => String(number).padStart(2, '0')

  /** Dates as fields for dates want them, times as of 24 hours, the numbers of a short range. */
  function forms(goal) {
    const dates = [...goal.matchAll(/\b(\d{1,2})\/(\d{1,2})\/(\d{4})\b/g)].map(
      ([, month, day, year]) => `${year}-${two(month)}-${two(day)}`,
    )
    const times = [...goal.matchAll(/\b(\d{1,2}):(\d{2})\s*([AP])M\b/gi)].map(
      ([, hour, minute, half]) => `${two((Number(hour) % 12) + (/p/i.test(half) ? 12 : 0))}:${minute}`,
    )
    const [from, to] = (/\b(\d+)\s*(?:-|to|and)\s*(\d+)\b/.exec(goal) ?? []).slice(1).map(Number)
    const count = to - from >= 0 && to - from <= MOST_RANGE ? to - from + 1 : 0
    return [...dates, ...times, ...Array.from({ length: count }, (_, i) => String(from + i))]
  }

  /** Quoted spans, words after some prepositions, and numbers of the goal. */
  rl.textsIn = (goal) => {
    const quoted = [...goal.matchAll(/"([^"]*)"|“([^”]*)”/g)].map((match) => match[1] ?? match[2])
    const turned = [
      ...(/upper/i.test(goal) ? quoted.map((text) => text.toUpperCase()) : []),
      ...(/lower/i.test(goal) ? quoted.map((text) => text.toLowerCase()) : []),
    ]
    const named = [...goal.matchAll(NAMES)].map((match) => match[1].replace(/[.,:]$/, ''))
    const told = [...turned, ...quoted, ...forms(goal), ...named, ...(goal.match(NUMBERS) ?? [])]
    return some([...told, ...(goal.match(PROPER) ?? [])], MOST_GOAL)
  }

  /** What has to be found out: what two numbers of a sum make, small numbers where things are counted, and what a terminal is told. */
  rl.textsFound = (goal) => {
    const area = document.querySelector('#area') ?? document.body
    if (/\bterminal\b/i.test(goal)) {
      const shown = [...area.querySelectorAll('.output')].flatMap((one) => one.textContent.split(/\s+/))
      return some(['ls', ...shown.map((name) => `rm ${name}`)], MOST_SHOWN)
    }
    if (!COUNTED.test(goal)) return []
    const [a, b, ...more] = (area.textContent.match(NUMBERS) ?? []).map(Number)
    if (b === undefined || more.length > 0) return Array.from({ length: MOST_RANGE + 1 }, (_, i) => String(i))
    return some([a + b, a - b, b - a, a * b].map(String), MOST_SHOWN)
  }

  const plain = (word) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, '')

  /**
   * Of tables the cells, of fields the text and its last word, of paragraphs the words; the first of them.
   * @param hidden ids of elements that are no part of the task, e.g. one that tells of earlier episodes
   */
  rl.textsShown = (hidden = []) => {
    const apart = hidden.map((id) => `:not(#${CSS.escape(id)} *)`).join('')
    /** @type {(selector: string) => any[]} */
    const all = (selector) =>
      [...document.querySelectorAll(`:is(${selector})${apart}`)]
        .slice(0, MOST_SHOWN)
        .filter((one) => one.checkVisibility())
    const cells = all('td').map((cell) => cell.textContent.trim())
    const written = all('textarea,input[type=text],input:not([type])').flatMap(({ value }) => [
      value,
      plain(value.slice(-MOST_LENGTH).trim().split(/\s+/).at(-1)),
    ])
    const words = all('p').flatMap((one) =>
      one.children.length === 0 ? one.textContent.slice(0, MOST_LENGTH).split(/\s+/, MOST_SHOWN) : [],
    )
    // Words whose letters stand in boxes of their own.
    const letters = all('span').filter(({ textContent }) => textContent.trim().length === 1)
    const spelled = letters.map(({ parentElement }) => parentElement.textContent.replace(/\s+/g, ''))
    return some([...written, ...cells, ...spelled, ...words.map(plain)], MOST_SHOWN)
  }
})()
