/** Oracles of drawn shapes: size, colour and kind as a grid of the pages draws them. */
;(() => {
  const { solve, help } = window.__rl
  const { $$, text, click } = help

  function kindOf(element) {
    const letter = element.tagName === 'text' ? text(element) : ''
    if (letter) return { type: /\d/.test(letter) ? 'digit' : 'letter', text: letter }
    return {
      type: 'shape',
      text: { rect: 'rectangle', circle: 'circle', polygon: 'triangle' }[element.tagName],
    }
  }
  const sizes = (element) => {
    if (element.tagName === 'text')
      return Number.parseFloat(element.getAttribute('font-size') ?? getComputedStyle(element).fontSize)
    const { width } = element.getBBox()
    return width
  }

  solve(/^click-shape$/, ({ goal }) => {
    const words = goal
      .replace(/^Click on an? /, '')
      .replace(/\.$/, '')
      .split(' ')
    const size = words.find((one) => one === 'large' || one === 'small')
    const colour = words.find((one) => window.shapes.COLORS.includes(one))
    const kind = words.at(-1)
    const found = $$('#area_svg > *').filter((one) => {
      const { type, text: name } = kindOf(one)
      const large = sizes(one) > 12
      return (
        (!size || (size === 'large') === large) &&
        (!colour || one.getAttribute('fill') === colour) &&
        (kind === 'item' || kind === type || kind === name)
      )
    })
    return click(found[0])
  })
})()
