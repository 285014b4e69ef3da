/** Where a person's click would hit an element: what no click reaches is not listed, and cannot be acted on. */
;(() => {
  const rl = globalThis.__rl
  const { Table } = rl
  /** Children whose places are tried for an element that has none of its own. */
  const MOST_CHILDREN = 8
  /** Of the sides of a box, the middle first. */
  const PARTS = [0.5, 0.1, 0.9, 0.25, 0.75]
  const SVG = 'http://www.w3.org/2000/svg'

  const edges = ({ left, top, right, bottom }) => ({ left, top, right, bottom })
  const meet = (one, other) => ({
    left: Math.max(one.left, other.left),
    top: Math.max(one.top, other.top),
    right: Math.min(one.right, other.right),
    bottom: Math.min(one.bottom, other.bottom),
  })
  const isEmpty = ({ left, top, right, bottom }) => right - left < 0.5 || bottom - top < 0.5
  const viewOf = (element) => element.ownerDocument.defaultView
  const frameOf = (element) => viewOf(element)?.frameElement ?? null
  /** The parent as it is drawn, out of shadow trees as well. */
  const parentOf = (node) => node.assignedSlot ?? node.parentElement ?? node.getRootNode().host ?? null

  function isWithin(element, node) {
    for (let one = node; one; one = parentOf(one)) if (one === element) return true
    return false
  }

  /** Whether a click at a place of the element's window comes to it: to a part of it, or to the label that speaks for it. */
  function hits(element, x, y) {
    const hit = element.getRootNode().elementFromPoint?.(x, y)
    if (!hit) return null
    if (!isWithin(element, hit) && hit.closest('label')?.control !== element) return null
    const frame = frameOf(element)
    if (!frame) return hit
    const { left, top } = frame.getBoundingClientRect()
    return hits(frame, left + frame.clientLeft + x, top + frame.clientTop + y) && hit
  }

  /** How each element cuts what is in it off; asked for many elements of one page at a time. */
  let styles = new Table()
  function styleOf(element) {
    let style = styles.get(element)
    if (!style) {
      const computed = viewOf(element).getComputedStyle(element)
      const { position, clip, clipPath, transform } = computed
      // Boxes of lines cut nothing off.
      const [overflowX, overflowY] = /^(inline|contents)$/.test(computed.display)
        ? ['visible', 'visible']
        : [computed.overflowX, computed.overflowY]
      const holds = position !== 'static' || transform !== 'none'
      style = {
        position,
        overflowX,
        overflowY,
        clip,
        clipPath,
        holds,
        cuts: overflowX !== 'visible' || overflowY !== 'visible',
      }
      styles.set(element, style)
    }
    return style
  }
  const SCROLLS = /auto|scroll/

  /**
   * One direction of what of a box can be seen in another that cuts it off; null: nothing, however far one scrolls.
   *
   * @typedef {[from: number, to: number, away?: boolean]} Side
   * @param {Side} side
   * @param {Side} around
   * @param {string} overflow
   * @param {[before: number, length: number]} scrolled
   * @returns {Side | null}
   */
  function cutBy([from, to], [least, most], overflow, [before, length]) {
    if (overflow === 'visible') return [from, to]
    if (SCROLLS.test(overflow)) {
      const start = least - before
      return to <= start || from >= start + length ? null : [least, most, to <= least || from >= most]
    }
    return to <= least || from >= most ? null : [Math.max(from, least), Math.min(to, most)]
  }

  /**
   * What of a box people can bring into view: `{ away }` is true where they have to scroll for it; null: no part of it.
   * @param box in the element's window
   * @param first the innermost element around it; by default the element's parent
   */
  function inView(element, box, first = parentOf(element)) {
    /** @type {Side | null} */
    let left = [box.left, box.right]
    /** @type {Side | null} */
    let top = [box.top, box.bottom]
    let away = false
    let position = first === element ? 'static' : styleOf(element).position
    const root = element.ownerDocument.documentElement
    const { body } = element.ownerDocument
    for (let one = first; one && one !== root; one = parentOf(one)) {
      const style = styleOf(one)
      // What is placed in another box is not cut off by those between.
      if (position === 'fixed' || (position === 'absolute' && !style.holds)) continue
      position = style.position
      if (one === body || !style.cuts) continue
      const { left: x, top: y } = one.getBoundingClientRect()
      const inner = { left: x + one.clientLeft, top: y + one.clientTop }
      const { clientWidth, clientHeight, scrollLeft, scrollTop, scrollWidth, scrollHeight } = one
      left = cutBy(left, [inner.left, inner.left + clientWidth], style.overflowX, [scrollLeft, scrollWidth])
      top = cutBy(top, [inner.top, inner.top + clientHeight], style.overflowY, [scrollTop, scrollHeight])
      if (!left || !top || clientWidth === 0 || clientHeight === 0) return null
      away ||= left[2] === true || top[2] === true
    }
    const { innerWidth, innerHeight, scrollX, scrollY } = viewOf(element)
    const style = styleOf(root)
    const page = body ? styleOf(body) : style
    const way = (name) => {
      if (position === 'fixed') return 'hidden'
      const own = style[name] === 'visible' ? page[name] : style[name]
      return own === 'visible' ? 'auto' : own
    }
    left = cutBy(left, [0, innerWidth], way('overflowX'), [scrollX, Math.max(root.scrollWidth, innerWidth)])
    top = cutBy(top, [0, innerHeight], way('overflowY'), [scrollY, Math.max(root.scrollHeight, innerHeight)])
    if (!left || !top) return null
    away ||= left[2] === true || top[2] === true
    const frame = frameOf(element)
    if (!frame) return { away }
    const place = frame.getBoundingClientRect()
    const [x, y] = [place.left + frame.clientLeft, place.top + frame.clientTop]
    const around = inView(frame, {
      left: x + left[0],
      right: x + left[1],
      top: y + top[0],
      bottom: y + top[1],
    })
    return around && { away: away || around.away }
  }

  /** What of a box lies in the window and in all that cuts it off, as they stand now. */
  function shownPart(element, box) {
    let part = edges(box)
    let { position } = styleOf(element)
    const root = element.ownerDocument.documentElement
    for (let one = parentOf(element); one && one !== root; one = parentOf(one)) {
      const style = styleOf(one)
      if (position === 'fixed' || (position === 'absolute' && !style.holds)) continue
      position = style.position
      if (one === element.ownerDocument.body || !style.cuts) continue
      part = meet(part, edges(one.getBoundingClientRect()))
    }
    const { innerWidth, innerHeight } = viewOf(element)
    part = meet(part, { left: 0, top: 0, right: innerWidth, bottom: innerHeight })
    const frame = frameOf(element)
    if (!frame) return part
    const place = frame.getBoundingClientRect()
    const [x, y] = [place.left + frame.clientLeft, place.top + frame.clientTop]
    const shown = shownPart(frame, place)
    return meet(part, {
      ...{ left: shown.left - x, top: shown.top - y },
      ...{ right: shown.right - x, bottom: shown.bottom - y },
    })
  }

  /** A point on a line that is drawn: the middle of its box may lie beside it. */
  function pointOnLine(element) {
    if (element.namespaceURI !== SVG || !element.getPointAtLength) return []
    try {
      const matrix = element.getScreenCTM()
      return [0.5, 0.25].map((part) => {
        const { x, y } = element.getPointAtLength(element.getTotalLength() * part).matrixTransform(matrix)
        return [x, y]
      })
    } catch {
      return []
    }
  }

  function* placesIn({ left, top, right, bottom }) {
    for (const part of PARTS)
      for (const other of part === 0.5 ? [0.5] : PARTS)
        yield [left + (right - left) * other, top + (bottom - top) * part]
  }

  function* places(element) {
    const box = element.getBoundingClientRect()
    yield [(box.left + box.right) / 2, (box.top + box.bottom) / 2]
    // A link may stand in two lines.
    const boxes = [...element.getClientRects()].slice(0, 4)
    for (const one of boxes.length > 0 ? boxes : [box]) {
      const part = shownPart(element, one)
      if (!isEmpty(part)) yield* placesIn(part)
    }
    yield* pointOnLine(element)
  }

  /** `{ x, y, hit }`: where a click hits it as the page stands, and which part of it; null: nowhere. */
  function placeOf(element) {
    for (const [x, y] of places(element)) {
      const hit = hits(element, x, y)
      if (hit) return { x, y, hit }
    }
    for (const child of [...element.children].slice(0, MOST_CHILDREN)) {
      const { left, top, right, bottom } = child.getBoundingClientRect()
      const [x, y] = [(left + right) / 2, (top + bottom) / 2]
      const hit = hits(element, x, y)
      if (hit) return { x, y, hit }
    }
    return null
  }

  const boxesOf = (element) => [element, ...[...element.children].slice(0, MOST_CHILDREN)]

  Object.assign(rl, {
    placeOf,
    /** To be called before questions about a page that may have changed. */
    lookAgain: () => {
      styles = new Table()
    },
    /** Whether a click reaches it, where it stands or where one scrolls to it. */
    isReachable(element) {
      if (placeOf(element)) return true
      if (viewOf(element).getComputedStyle(element).pointerEvents === 'none') return false
      return boxesOf(element).some((one) => {
        const box = one.getBoundingClientRect()
        const { clip, clipPath } = styleOf(one)
        return !isEmpty(box) && clip === 'auto' && clipPath === 'none' && inView(one, box)?.away === true
      })
    },
    /** Whether people can see a text, where it stands or where they scroll to it. */
    isSeen(text) {
      const element = text.parentElement ?? text.getRootNode().host
      if (!element.checkVisibility({ opacityProperty: true })) return false
      const range = text.ownerDocument.createRange()
      range.selectNodeContents(text)
      const box = range.getBoundingClientRect()
      return !isEmpty(box) && inView(element, box, element) !== null
    },
    /** Scrolls to it. True: something has moved, which its listeners are told of when the page is drawn. */
    bringNear(element) {
      const before = offsetsOf(element)
      for (const block of ['nearest', 'center']) {
        element.scrollIntoView?.({ block, inline: block, behavior: 'instant' })
        styles = new Table()
        if (placeOf(element)) break
      }
      return offsetsOf(element) !== before
    },
    offsetsOf,
  })

  /** How far an element and all around it are scrolled. */
  function offsetsOf(element) {
    const all = []
    for (let one = element; one; one = parentOf(one) ?? frameOf(one)) all.push(one.scrollLeft, one.scrollTop)
    return all.join(' ')
  }
})()
