/** A clipboard for each page: the browser's own is one for all that are open, and would tell of other episodes. */
;(() => {
  const rl = globalThis.__rl
  const { add } = rl
  const { ClipboardEvent, DataTransfer } = window

  /** Of the page with all frames that it can read. */
  function board() {
    try {
      return /** @type {Window} */ (top).__rl
    } catch {
      return rl
    }
  }
  const isField = (element) => /^(INPUT|TEXTAREA)$/.test(element?.tagName)
  const chosen = (target) =>
    isField(target)
      ? target.value.slice(target.selectionStart ?? 0, target.selectionEnd ?? 0)
      : String(target.ownerDocument?.getSelection() ?? '')

  /** What the page makes of it, with a tray of ours in place of the browser's; false: it goes no further. */
  function ask(target, type, clipboardData) {
    return target.dispatchEvent(
      new ClipboardEvent(type, { bubbles: true, cancelable: true, composed: true, clipboardData }),
    )
  }

  // Windows are told first, before any listener of the page's.
  for (const type of ['copy', 'cut', 'paste'])
    add.call(
      window,
      type,
      (event) => {
        if (!event.isTrusted) return
        event.preventDefault()
        event.stopImmediatePropagation()
        const [target] = event.composedPath()
        const element = target.nodeType === 1 ? target : document.body
        const tray = new DataTransfer()
        if (type === 'paste') {
          tray.setData('text/plain', board().clip)
          if (ask(target, type, tray) && board().clip !== '')
            document.execCommand('insertText', false, board().clip)
          return
        }
        const text = chosen(element)
        if (!ask(target, type, tray)) board().clip = tray.getData('text/plain')
        else if (text !== '') {
          board().clip = text
          if (type === 'cut') document.execCommand('delete')
        }
      },
      true,
    )
  rl.clip = ''
})()
