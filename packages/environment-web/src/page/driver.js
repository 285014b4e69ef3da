/**
 * Reads a page as text and acts on it. What is interactive has a ref: a number that counts up in the order of first sight and is
 * never used again within an episode. One call of `play` starts an episode or goes on with it and reads what came out.
 *
 * A page is `{ start(request), state(), oracle() }`: `start` gives the goal, `state` `{ done, reward }`, `oracle` the next action as
 * `[verb, element, argument]` or null where it knows none.
 */
;(() => {
  const rl = window.__rl
  if (rl.play) return

  /** As they are before the page's scripts: pages give their own things such names. */
  const { DataTransfer, DOMMatrix, DOMPoint, DragEvent, Element, Event } = window
  const { MouseEvent, PointerEvent } = window
  const [Table, WeakTable, Unique] = [Map, WeakMap, Set]

  /** Virtual time before the first episode of a page: what libraries put off until it is loaded is done then. */
  const LOADED_MS = 100
  /** Virtual time that an action takes. */
  const ACTION_MS = 1000
  const MOST_NAME = 60
  const MOST_TEXT = 400
  const MOST_VALUE = 4000
  const MOST_GOAL = 5000
  const MOST_LINES = 400
  /** Of more elements than fit in these lines so many are the last ones: what ends a task stands there. */
  const LAST_LINES = 50
  const MOST_COMMANDS = 400
  /** What is loaded may lead to more that is loaded, so many times. */
  const MOST_ROUNDS = 20
  /** Fields that people fill in by parts or by a picker. */
  const NATIVE = /^(date|datetime-local|time|month|week|color|range)$/
  /** Keys that a goal may ask for; names that are words as well (Enter, Delete, Tab) are left out. */
  const NAMED_KEYS =
    /\b(?:(?:ctrl|shift)\+\w+|Arrow(?:Left|Right|Up|Down)|Escape|Page(?:Up|Down)|F\d{1,2})\b/g
  const KEYBOARD = ['keydown', 'keyup', 'keypress']
  const MOUSE = ['click', 'mousedown', 'mouseup', 'dblclick', 'pointerdown']
  const HOVER = ['mouseover', 'mouseenter', 'mousemove']
  const SVG = 'http://www.w3.org/2000/svg'
  const DRAWN = 'circle,ellipse,image,line,path,polygon,polyline,rect,text'
  const FOCUSABLE =
    'button,input,select,textarea,a[href],[tabindex],[contenteditable]:not([contenteditable=false])'
  const CONTROL = `${FOCUSABLE},label,summary,option,[role=button]`
  /** As pages name what was chosen among things that have words of their own. */
  const SELECTED = '.ui-selected,.selected,.active,.clicked,[aria-selected=true]'

  let refs = new WeakTable()
  let elements = new Table()
  let current = null
  let full = false
  /** @type {readonly string[]} */
  let texts = []
  let keys = []
  let goal = ''

  const squeezed = (text) => text.replace(/\s+/g, ' ').trim()
  /** The text of an element; of pages that are not ours what of it is shown: a card may bear a number that nobody sees yet. */
  const textIn = (element) => squeezed((full ? element.innerText : undefined) ?? element.textContent)
  const isShown = (element) =>
    element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: false })
  /** Each frame has a clock and listeners of its own. */
  const rlOf = (node) => (node.ownerDocument ?? node).defaultView?.__rl ?? rl
  const listens = (node, types) => types.some((type) => rlOf(node).listensTo(node, type))
  const isField = (element) =>
    element.tagName === 'TEXTAREA' ||
    element.isContentEditable ||
    (element.tagName === 'INPUT' &&
      !/^(button|submit|reset|checkbox|radio|image|file|hidden)$/.test(element.type))

  /** What the browser keeps people from: disabled, by itself or with its group, inert, or behind a dialog that is modal. */
  const isOff = (element) =>
    element.matches(':disabled') || element.closest('[inert]') !== null || isBehind(element)
  function isBehind(element) {
    const modal = element.ownerDocument.querySelector('dialog:modal')
    return modal !== null && element.getRootNode() === modal.ownerDocument && !modal.contains(element)
  }

  /** Of pages that are not ours what a click reaches; ours have nothing that lies over others. */
  const isReachable = (element) => !full || rl.isReachable(element)

  /** No longer than that, and no half of a character at its end. */
  const cut = (text, most) => text.slice(0, most).toWellFormed()

  const hasText = (element) =>
    [...element.childNodes].some((one) => one.nodeType === 3 && one.data.trim() !== '')

  function refOf(element) {
    let ref = refs.get(element)
    if (ref === undefined) {
      ref = elements.size + 1
      refs.set(element, ref)
      elements.set(ref, element)
    }
    return ref
  }

  /** Interactive elements and texts that are shown, in the order of the document; refs are given out on the way. */
  function survey() {
    const found = []
    rl.lookAgain()
    const heard = full && [document, window].some((node) => listens(node, ['click']))
    const visit = (element, inListener, inHover) => {
      if (element.id && current.hidden?.includes(element.id)) return
      const shown = isShown(element)
      // A hidden control may have a shown label, and a box of no size shown children.
      if (!shown && getComputedStyle(element).display === 'none') return
      // A label speaks for its control, unless that is hidden behind it.
      const labels = element.tagName === 'LABEL' && element.control && isShown(element.control)
      const control = element.matches(CONTROL) && !labels && element.tagName !== 'OPTION'
      const hovers = full && listens(element, HOVER)
      const own =
        listens(element, MOUSE) || hovers || (full && (isCard(element) || listens(element, ['drop'])))
      const children = element.children
      const leaf = children.length === 0
      const isBody = element === document.body
      const marked = full && /highlight/i.test(goal) && hasText(element)
      const interactive =
        !isBody &&
        shown &&
        (control || own || marked || (leaf && (inListener || (heard && isMarked(element)))))
      if (interactive && !isOff(element) && isReachable(element)) {
        refOf(element)
        found.push({ element, hovers: inHover || listens(element, HOVER) })
      }
      if (/^(SELECT|BUTTON|TEXTAREA|SCRIPT|STYLE|INPUT)$/.test(element.tagName)) return
      const below = inListener || (own && !isBody)
      const picture = full && shown && !interactive && !below ? pictured(element) : ''
      if (picture !== '') found.push({ text: picture })
      const named = (interactive && leaf) || picture !== ''
      const inside =
        rlOf(element).shadowOf(element) ?? (element.tagName === 'IFRAME' ? bodyOf(element) : null)
      for (const child of [...(inside?.childNodes ?? []), ...element.childNodes]) {
        if (child.nodeType === 1) visit(child, below, inHover || (hovers && !isBody))
        else if (child.nodeType === 3 && shown && !named && !labels && child.data.trim() !== '')
          if ((!full || rl.isSeen(child)) && !(interactive && nameOf(element) === textIn(element)))
            found.push({ text: squeezed(child.data) })
      }
    }
    visit(document.body, false, false)
    // Numbered here and not where they are told: between actions that are done again nothing is told.
    if (full) for (const element of [...hearing(), ...scrollable()]) refOf(element)
    return found
  }

  /** What a listener of the whole document may tell from others, by its class or its data. */
  const isMarked = (element) =>
    getComputedStyle(element).cursor === 'pointer' ||
    (element.closest('#area') !== null &&
      element.id !== 'area' &&
      [...element.attributes].some(({ name }) => /^(class|data-.*)$/.test(name)))

  /** Of a frame that comes from here; another's cannot be read. */
  function bodyOf(frame) {
    try {
      return frame.contentDocument?.body ?? null
    } catch {
      return null
    }
  }

  function roleOf(element) {
    const role = element.getAttribute('role')
    if (role) return role
    const tag = element.tagName
    if (tag === 'INPUT') {
      if (/^(checkbox|radio)$/.test(element.type)) return element.type
      return isField(element) ? 'textbox' : 'button'
    }
    if (tag === 'TEXTAREA' || element.isContentEditable) return 'textbox'
    return { BUTTON: 'button', A: 'link', SELECT: 'select', LABEL: 'label', SUMMARY: 'button' }[tag] ?? 'item'
  }

  /** The accessible name, as far as plain pages need it; else what tells the element apart. */
  function nameOf(element) {
    const label = element.getAttribute('aria-label')
    if (label) return label
    if (element.labels?.length) {
      const text = textIn(element.labels[0])
      if (text) return text
    }
    if (element.tagName === 'INPUT' && /^(button|submit|reset)$/.test(element.type)) return element.value
    if (element.placeholder) return element.placeholder
    if (isDrawn(element) && element.getAttribute('fill')) return drawingOf(element)
    if (!isField(element) && element.tagName !== 'SELECT') {
      const text = textIn(element)
      if (text) return text
    }
    return element.title || element.alt || shapeOf(element)
  }

  function shapeOf(element) {
    if (isDrawn(element)) return drawingOf(element)
    const kind = typeof element.className === 'string' ? squeezed(element.className) : ''
    const colour = full ? (element.style?.backgroundColor ?? '') : ''
    const plain = element.id || (kind ? '' : element.name || element.tagName.toLowerCase())
    return squeezed(`${kind} ${colour} ${plain}`)
  }

  const isDrawn = (element) => element.namespaceURI === SVG && element.matches(DRAWN)

  /** Text, colour, kind, size and place: all that tells drawings apart. */
  function drawingOf(element) {
    const at = (name) => element.getAttribute(name)
    const number = (text) => Math.round(Number.parseFloat(text) * 10) / 10
    const box = element.getBBox()
    const size = number(at('width') ?? at('r') ?? at('font-size') ?? box.width)
    const [x, y] = [
      ['x', 'cx', box.x],
      ['y', 'cy', box.y],
    ].map(([name, centre, other]) => number(at(name) ?? at(centre) ?? other))
    // Where it was moved to since, as dragging does.
    const moved = new DOMPoint(x, y).matrixTransform(element.getCTM() ?? new DOMMatrix())
    const kind = element.tagName === 'text' ? squeezed(element.textContent) : element.tagName
    return squeezed(
      `${at('fill') ?? ''} ${kind} ${Number.isNaN(size) ? '' : size} ${number(moved.x)} ${number(moved.y)}`,
    )
  }

  /** What people see of that which has no words and does nothing. */
  const pictured = (element) =>
    isDrawn(element) ? drawingOf(element) : element.tagName === 'IMG' ? squeezed(element.alt) : ''

  function textOf(element) {
    if (element.tagName === 'SELECT')
      return [...element.selectedOptions].map((option) => squeezed(option.textContent)).join(', ')
    if (element.isContentEditable) return squeezed(element.textContent)
    return isField(element) && element.type !== 'password'
      ? element.value
      : isField(element)
        ? element.value.replace(/./g, '*')
        : ''
  }

  function statesOf(element) {
    const states = []
    if (element.checked || element.getAttribute('aria-checked') === 'true') states.push('checked')
    if (element.matches(full ? SELECTED : '.ui-selected,[aria-selected=true]')) states.push('selected')
    if (element.getAttribute('aria-expanded') === 'true') states.push('expanded')
    if (full && element === document.activeElement && element !== document.body) states.push('focused')
    return states
  }

  /** Lines `[kind, ref, name, value, states]`, commands, and the oracle's command among them. */
  function read(withOracle) {
    const found = fitting(survey())
    const names = new Table()
    const labels = new Table()
    const lines = []
    for (const { element, text } of found) {
      if (text !== undefined) {
        lines.push(['text', 0, cut(text, MOST_TEXT), '', ''])
        continue
      }
      const role = cut(roleOf(element), MOST_NAME)
      const plain = cut(nameOf(element).replaceAll('"', "'"), MOST_NAME) || role
      const count = (names.get(plain) ?? 0) + 1
      names.set(plain, count)
      const name = count === 1 ? plain : `${plain} #${count}`
      labels.set(element, name)
      const value = cut(textOf(element), MOST_VALUE)
      lines.push([role, refs.get(element), name, value, statesOf(element).join(' ')])
    }
    const { done, reward } = current.state()
    const commands = done ? [] : commandsFor(found, labels)
    return { done, reward, lines, commands, advice: done || !withOracle ? null : advice(labels) }
  }

  /** As much as there are lines for: what can be acted on before texts. */
  function fitting(found) {
    if (found.length <= MOST_LINES) return found
    const all = found.filter(({ element }) => element)
    if (all.length > MOST_LINES) return [...all.slice(0, MOST_LINES - LAST_LINES), ...all.slice(-LAST_LINES)]
    let texts = MOST_LINES - all.length
    return found.filter(({ element }) => element || texts-- > 0)
  }

  const spelled = (verb, element, argument, labels) =>
    `${verb} ${refs.get(element)} "${labels.get(element)}"${argument === undefined ? '' : ` ${argument}`}`

  /** The oracle's next action. It may have been made for another form of the page, and fail on this one: then it knows none. */
  function nextByOracle() {
    try {
      const next = current.oracle?.() ?? null
      return next?.[0] === 'wait' || next?.[1] instanceof Element ? next : null
    } catch {
      return null
    }
  }

  function advice(labels) {
    const next = nextByOracle()
    if (!next) return null
    const [verb, element, argument] = next
    if (verb === 'wait') return 'wait'
    if (!labels.has(element)) return null
    const shown =
      verb === 'drag' && argument instanceof Element
        ? `${refs.get(argument)} "${labels.get(argument)}"`
        : argument
    return spelled(verb, element, shown, labels)
  }

  function commandsFor(found, labels) {
    let commands = []
    const fields = found.some(({ element }) => element && isField(element))
    const words =
      current.texts?.() ??
      (fields ? [...new Unique([...texts, ...rl.textsFound(goal), ...rl.textsShown(current.hidden)])] : [])
    for (const { element, hovers } of found) {
      if (!element || !labels.has(element)) continue
      const say = (verb, argument) => commands.push(spelled(verb, element, argument, labels))
      if (isField(element)) {
        if (full) say('click')
        if (!element.readOnly) for (const text of words) say('type', text)
        if (full && !element.readOnly)
          for (const key of new Unique(['Enter', 'Tab', 'Backspace', 'ArrowDown', 'ArrowUp', ...keys]))
            say('press', key)
      } else if (element.tagName === 'SELECT') {
        for (const option of [...element.options].slice(0, MOST_COMMANDS))
          if ((!option.selected || full) && !option.matches(':disabled'))
            say('select', squeezed(option.textContent))
      } else say('click')
      if (full) extraCommands(element, hovers, say, labels)
    }
    if (commands.length > MOST_COMMANDS) {
      // What is clicked, as a button that ends the task, before what fields and lists have many of.
      const clicks = commands.filter((one) => one.startsWith('click '))
      const others = commands.filter((one) => !one.startsWith('click '))
      commands = [...clicks, ...others].slice(0, MOST_COMMANDS)
    }
    if (full) {
      for (const body of hearing()) {
        labels.set(body, 'page')
        for (const key of keys) commands.push(spelled('press', body, key, labels))
      }
      for (const element of scrollable()) {
        if (!labels.has(element))
          labels.set(element, nameOf(element).slice(0, 20).replaceAll('"', "'") || 'page')
        for (const way of ['down', 'up']) commands.push(spelled('scroll', element, way, labels))
      }
      commands.push('wait')
    }
    return commands.slice(0, MOST_COMMANDS + 100)
  }

  function extraCommands(element, hovers, say, labels) {
    if (isSlider(element))
      for (const key of ['ArrowLeft', 'ArrowRight', 'PageDown', 'PageUp']) say('press', key)
    const places = isCard(element) ? trays(labels) : besides(element, labels)
    for (const tray of places) say('drag', `${refs.get(tray)} "${labels.get(tray)}"`)
    if (isDraggable(element) && (places.length === 0 || element.matches('.ui-draggable')))
      for (const way of ['left', 'right', 'up', 'down']) say('drag', way)
    if (hovers) say('hover')
    if (/highlight/i.test(goal) && !isField(element)) say('highlight')
  }

  const isSlider = (element) => element.matches('.ui-slider-handle,[role=slider],[role=menuitem],[role=menu]')
  const isDraggable = (element) =>
    isCard(element) ||
    element.matches('.ui-draggable,.ui-sortable-handle,.ui-resizable-handle') ||
    listens(element, ['mousedown', 'pointerdown'])
  /** Links and pictures can be dragged as well; that is not what they are for. */
  const isCard = (element) => element.getAttribute('draggable') === 'true'
  /** What takes a thing that is dragged natively. */
  const trays = (labels) => [...labels.keys()].filter((element) => listens(element, ['drop', 'dragover']))
  /** Where one is dragged to that is sorted or moved among others: to the places of those. */
  function besides(element, labels) {
    const others = (fits) => [...labels.keys()].filter((other) => other !== element && fits(other))
    const list = element.parentElement?.closest('.ui-sortable')
    if (list && hasText(element)) return others((other) => list.contains(other) && hasText(other))
    return element.matches('.ui-draggable')
      ? others((other) => other.matches('.ui-draggable,.ui-droppable'))
      : []
  }
  /** The body, where the page listens to keys that the task names. */
  const hearing = () =>
    keys.length > 0 && [window, document, document.body].some((node) => listens(node, KEYBOARD))
      ? [document.body]
      : []
  const scrollable = () =>
    [...document.querySelectorAll('div,ul,textarea,select,p,section')].filter(
      (element) =>
        element.scrollHeight > element.clientHeight + 4 &&
        element.clientHeight > 0 &&
        isShown(element) &&
        /auto|scroll/.test(getComputedStyle(element).overflowY) &&
        isReachable(element),
    )

  /** Where a person's pointer stands on it: the middle, unless something else lies there. */
  const box = (element) => {
    const place = full ? rl.placeOf(element) : null
    if (place) return { clientX: place.x, clientY: place.y }
    const { left, top, width, height } = element.getBoundingClientRect()
    return { clientX: left + width / 2, clientY: top + height / 2 }
  }
  function mouse(element, type, more = {}) {
    const goes = element.dispatchEvent(
      new (type.startsWith('pointer') ? PointerEvent : MouseEvent)(type, {
        bubbles: !/enter|leave/.test(type),
        cancelable: true,
        composed: true,
        view: window,
        detail: 1,
        ...box(element),
        ...more,
      }),
    )
    if (type === 'pointerup') rl.releasePointer()
    return goes
  }
  /** Of what happens in a shadow tree those outside hear `input`, and no `change`. */
  const tell = (element, type) =>
    element.dispatchEvent(new Event(type, { bubbles: true, composed: type === 'input' }))

  let hovered = null
  function hover(element, at = box(element)) {
    if (hovered && hovered !== element) {
      mouse(hovered, 'mouseout')
      mouse(hovered, 'mouseleave')
    }
    hovered = element
    for (const type of ['pointerover', 'mouseover', 'mouseenter', 'mousemove']) mouse(element, type, at)
  }

  const blur = (element) => element?.blur?.()
  /** The innermost that can have the focus, as when it is clicked; else nothing has it. */
  function focus(element) {
    for (let one = element; one; one = one.parentElement ?? one.getRootNode().host ?? null) {
      if (isFocused(one)) return
      one.focus?.({ preventScroll: true })
      if (!isFocused(one)) continue
      if (isField(one)) caret(one, 'documentboundary')
      return
    }
    blur(document.activeElement)
    blur(element.ownerDocument.activeElement)
  }
  const focused = (root) => {
    const { activeElement } = root
    const inner = activeElement && rl.shadowOf(activeElement)
    return inner?.activeElement ? focused(inner) : activeElement
  }
  const isFocused = (element) =>
    element !== element.ownerDocument.body && element.getRootNode().activeElement === element
  /** One goes on writing behind what is there. */
  const caret = (element, to) => element.ownerDocument.getSelection()?.modify('move', 'forward', to)

  function write(element, text) {
    if (element.isContentEditable) element.textContent = text
    else {
      const kind = element.tagName === 'TEXTAREA' ? HTMLTextAreaElement : HTMLInputElement
      const { set } = /** @type {Required<PropertyDescriptor>} */ (
        Object.getOwnPropertyDescriptor(kind.prototype, 'value')
      )
      set.call(element, text)
    }
  }

  const actions = {
    click(element) {
      if (!full) element.scrollIntoView?.({ block: 'nearest' })
      const place = full ? rl.placeOf(element) : null
      const target = place?.hit ?? element
      const at = place ? { clientX: place.x, clientY: place.y } : box(element)
      hover(target, at)
      mouse(target, 'pointerdown', { ...at, button: 0, buttons: 1 })
      if (mouse(target, 'mousedown', { ...at, button: 0, buttons: 1 })) focus(target)
      mouse(target, 'pointerup', at)
      mouse(target, 'mouseup', at)
      mouse(target, 'click', at)
    },
    hover,
    focus,
    async type(element, text) {
      if (!isField(element)) return `element ${refs.get(element)} takes no text`
      if (element.readOnly) return `element ${refs.get(element)} can only be read`
      actions.click(element)
      if (NATIVE.test(element.type)) {
        write(element, text)
        tell(element, 'input')
        tell(element, 'change')
        return
      }
      const page = element.ownerDocument
      // A page may have given the focus to another one, which is written into then.
      if (isField(focused(page) ?? page.body)) page.execCommand('selectAll')
      if (text === '') page.execCommand('delete')
      // A field of one line has no room for others, and the key Tab writes nothing.
      const kept = element.tagName === 'INPUT' ? text.replace(/[\r\n]/g, '') : text
      for (const [at, part] of kept.split('\t').entries()) {
        if (at > 0) page.execCommand('insertText', false, '\t')
        // Our own pages listen to no keys; each that is pressed takes the browser a while.
        if (!full) page.execCommand('insertText', false, part)
        else if (part !== '') await outside({ write: part })
      }
    },
    select(element, wanted) {
      const options = [...(element.options ?? [])]
      const option =
        options.find((one) => squeezed(one.textContent) === wanted) ??
        options.find((one) => one.value === wanted)
      if (!option || option.matches(':disabled'))
        return `element ${refs.get(element)} has no option '${cut(wanted, MOST_NAME)}'`
      if (element.multiple) option.selected = !option.selected
      else element.value = option.value
      if (!element.multiple) option.selected = true
      focus(element)
      tell(element, 'input')
      tell(element, 'change')
    },
    async press(element, name) {
      focus(element)
      const before = rl.offsetsOf(element)
      await outside({ press: name })
      moved ||= /tab/i.test(name) || rl.offsetsOf(element) !== before
    },
    scroll(element, way) {
      const step = Math.max(20, Math.floor(element.clientHeight * 0.8))
      element.scrollTop += way === 'down' ? step : -step
      if (full) moved = true
      else tell(element, 'scroll')
    },
    drag(element, to) {
      const from = box(element)
      const step = 30
      const by = { left: [-step, 0], right: [step, 0], up: [0, -step], down: [0, step] }[to]
      const other = by ? null : byRef(Number(/^\d+/.exec(to)?.[0]))
      if (!by && !other) return `'${cut(to, MOST_NAME)}' is no place to drag to`
      const end = by ? { clientX: from.clientX + by[0], clientY: from.clientY + by[1] } : box(other)
      if (isCard(element) && other) giveTo(element, other)
      else dragTo(element, from, end)
    },
    highlight(element) {
      const range = document.createRange()
      range.selectNodeContents(element)
      const selection = /** @type {Selection} */ (getSelection())
      selection.removeAllRanges()
      selection.addRange(range)
      document.dispatchEvent(new Event('selectionchange'))
      mouse(element, 'mouseup')
    },
  }

  function dragTo(element, from, to) {
    // A little further: lists that are sorted by dragging want the middle to be passed.
    const [x, y] = [
      Math.sign(Math.round(to.clientX - from.clientX)),
      Math.sign(Math.round(to.clientY - from.clientY)),
    ]
    const end = { clientX: to.clientX + 3 * (x || y), clientY: to.clientY + 3 * (y || x) }
    const points = [1, 2, 3, 4].map((k) => ({
      clientX: from.clientX + ((end.clientX - from.clientX) * k) / 4,
      clientY: from.clientY + ((end.clientY - from.clientY) * k) / 4,
    }))
    const send = (target, type, point) => mouse(target, type, { ...point, buttons: 1, button: 0 })
    const below = ({ clientX, clientY }) => document.elementFromPoint(clientX, clientY) ?? element
    const both = (kind, point) => {
      const target = rl.captor() ?? below(point)
      send(target, `pointer${kind}`, point)
      send(target, `mouse${kind}`, point)
    }
    hover(element)
    send(element, 'pointerdown', from)
    send(element, 'mousedown', from)
    for (const point of [from, ...points]) both('move', point)
    both('up', end)
  }

  /** As a browser drags what is draggable: by events of its own, with what the page puts into them. */
  function giveTo(element, tray) {
    const dataTransfer = new DataTransfer()
    const tell = (target, type) =>
      target.dispatchEvent(
        new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer, ...box(target) }),
      )
    mouse(element, 'mousedown', { button: 0, buttons: 1 })
    if (!tell(element, 'dragstart')) return
    tell(tray, 'dragenter')
    // Only what cancels it takes a drop.
    if (!tell(tray, 'dragover')) tell(tray, 'drop')
    tell(element, 'dragend')
  }

  const byRef = (ref) => {
    const element = elements.get(ref)
    return element?.isConnected && isShown(element) ? element : null
  }

  /** The second click in a row on an element is a double one. */
  let clicked = null
  async function attempt(verb, element, argument) {
    const again = verb === 'click' && clicked === element
    clicked = verb === 'click' && !again ? element : null
    try {
      const problem = await actions[verb](element, argument)
      if (again) mouse(element, 'dblclick', { detail: 2 })
      return problem
    } catch {
      return `'${verb}' cannot be done on element ${refs.get(element)}`
    }
  }

  /** Whether an action has scrolled, which is told to the page when it is drawn. */
  let moved = false
  /** Scrolls to an element; whether a click hits it there. */
  function isAtHand(element) {
    if (!full || element === document.body) return true
    moved = rl.bringNear(element) || moved
    return rl.placeOf(element) !== null
  }

  /** Does one action; a string says why it could not be done. */
  /** @param {any[]} action */
  async function act([verb, ref, argument]) {
    let problem
    moved = false
    rl.lookAgain()
    if (verb === 'wait') clicked = null
    else {
      const element = byRef(ref)
      if (!element) problem = `there is no element ${ref} on the page`
      else if (!actions[verb]) problem = `'${verb}' is no action`
      else if (isOff(element)) problem = `element ${ref} is disabled`
      else if (!isAtHand(element)) problem = `element ${ref} is covered or out of reach`
      else problem = await attempt(verb, element, argument)
    }
    if (moved) await rl.painted()
    await pass(ACTION_MS)
    return problem
  }

  /** Time goes by on the page and in its frames. */
  async function pass(ms) {
    await rl.advance(ms)
    for (const { __rl } of framesIn(document)) await __rl?.advance(ms)
    if (full) await settle(ms)
  }

  /** What the browser does by itself comes to its end, on the page and in its frames; so do files and frames that are on their way. */
  async function settle(ms) {
    for (let round = 0; round < MOST_ROUNDS; round++) {
      for (const { __rl } of [window, ...framesIn(document)]) await __rl?.settle(round === 0 ? ms : 0)
      if ((await outside({ loads: true })) !== true) return
    }
  }

  /** Windows of all frames, those in frames as well; frames of another origin have a clock that nobody advances. */
  function framesIn(page) {
    return [...page.querySelectorAll('iframe')].flatMap((frame) => {
      const inside = bodyOf(frame)?.ownerDocument
      return inside ? [frame.contentWindow, ...framesIn(inside)] : []
    })
  }

  /** Begins an episode of the page. */
  async function begin({ seed, ...request }) {
    blur(document.activeElement)
    getSelection()?.removeAllRanges()
    hovered = null
    clicked = null
    rl.clip = ''
    refs = new WeakTable()
    elements = new Table()
    const isFirst = current === null
    current = rl.page
    full = current.full === true
    if (isFirst) await pass(LOADED_MS)
    rl.restart(seed)
    for (const { __rl } of framesIn(document)) __rl?.restart(rl.branch())
    await rl.forget()
    rl.forgetSinks()
    goal = cut(String(await current.start(seed, request)), MOST_GOAL)
    if (full) await settle(0)
    texts = current.full ? rl.textsIn(goal) : []
    keys = current.full ? [...new Unique(goal.match(NAMED_KEYS) ?? [])] : []
    survey()
    return goal
  }

  /** The goals of some starts. */
  async function goals(starts) {
    const told = []
    for (const one of starts) told.push(await begin(one))
    return told
  }

  /**
   * @param request `{ start?, actions, oracle?, finish?, sinks? }`: begins an episode, acts, and reads the page
   * @returns what `read` gives, the goal of a start, why the last action could not be done and, where asked for, what texts have become;
   * with `finish` (most steps) the oracle's remaining steps instead
   */
  async function play({ start, actions: list, oracle, finish: most, sinks }) {
    let problem
    const told = start ? await begin(start) : undefined
    for (const one of list) {
      if (current.state().done) break
      problem = await act(one)
      survey()
    }
    if (most !== undefined) return { goal: told, left: await finish(most) }
    return { goal: told, problem, ...read(oracle), ...(sinks ? { sinks: rl.sinks() } : {}) }
  }

  /** Whoever waits for an answer; while one is made the page may ask for what only the browser can do. */
  let asking = null
  let goOn = null
  const answered = () =>
    new Promise((resolve, reject) => {
      asking = { resolve, reject }
    })
  function answering(work) {
    const told = answered()
    work().then(
      (answer) => asking.resolve(answer),
      (error) => asking.reject(error),
    )
    return told
  }
  /** Asks for keys (`write`, `press`), or that files and frames on their way come (`loads`; true: some came). */
  function outside(asks) {
    return new Promise((resolve) => {
      goOn = resolve
      asking.resolve({ asks })
    })
  }
  rl.goOn = (answer) => {
    const resolve = goOn
    goOn = null
    const next = answered()
    resolve(answer)
    return next
  }

  rl.goals = (starts) => answering(() => goals(starts))
  rl.play = (request) => answering(() => play(request))
  /** Virtual time goes by. */
  rl.pass = (seconds) => answering(() => pass(seconds * 1000).then(() => true))
  /** Whether the episode has ended. */
  rl.over = () => current.state().done

  /** Steps that the oracle takes from here to success, at most so many; null where it does not succeed. Goes on to the end. */
  async function finish(most) {
    for (let count = 0; ; count++) {
      const { done, reward } = current.state()
      if (done) return reward >= 1 - 1e-6 ? count : null
      const next = count < most ? nextByOracle() : null
      if (!next) return null
      const [verb, element, argument] = next
      if (verb === 'wait') await act(['wait'])
      else {
        if (!isShown(element)) return null
        await act([verb, refOf(element), argument instanceof Element ? String(refOf(argument)) : argument])
      }
      survey()
    }
  }
})()
