/** Commands do what people's hands do: the browser's own keys, and clicks where one can click. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chordOf, pageKeyOf } from '../src/browser/keys.ts'
import { hasBrowser } from './browser.ts'
import { after, linesOf, namesOf, openPages } from './pages.ts'

const TELLS = `for (const type of ['keydown', 'keypress'])
  addEventListener(type, (e) => say([type, e.key, e.code, e.keyCode, e.location, e.shiftKey, e.isTrusted].join(' ')))`
const SUBMITS = `document.getElementById('f').onsubmit = (e) => { e.preventDefault(); say('sent ' + [...new FormData(e.target, e.submitter).keys()].join()) }`
const form = (inside: string, outside = '') => ({
  body: `<form id=f>${inside}</form>${outside}`,
  script: SUBMITS,
})
const changes = (body: string) => ({
  body,
  script: `addEventListener('input', (e) => say('input ' + e.target.value)); addEventListener('change', (e) => say('change ' + (e.target.type === 'checkbox' ? e.target.checked : e.target.value)))`,
})

const PAGES = {
  keys: { body: '<input aria-label=a>', script: TELLS },
  disabled: form('<input aria-label=a><button disabled>no</button><button name=yes value=1>yes</button>'),
  reset: form(
    '<input aria-label=a><input type=reset><input type=button value=no><button type=button>no</button>',
  ),
  blocking: form('<input aria-label=a name=a><input type=password aria-label=b name=b>'),
  single: form('<input aria-label=a name=a><input type=checkbox aria-label=c><select><option>x</select>'),
  outside: form('<input aria-label=a name=a>', '<button form=f name=far value=1>far</button>'),
  image: form('<input aria-label=a name=a><input type=image alt=go name=go>'),
  invalid: form('<input aria-label=a name=a required><input aria-label=b name=b><button>go</button>'),
  number: changes('<input type=number aria-label=a value=3 step=2>'),
  range: changes('<input type=range aria-label=a value=3 max=9>'),
  radio: changes(
    '<input type=radio name=r value=x aria-label=x checked><input type=radio name=r value=y aria-label=y>',
  ),
  check: changes('<input type=checkbox aria-label=a>'),
  select: changes('<select aria-label=a><option>one<option>two<option>three</select>'),
  link: { body: '<a href="#x" onclick="say(\'followed\')">link</a>' },
  summary: { body: '<details><summary>more</summary>hidden words</details>' },
  tabs: {
    body: '<input aria-label=a><button disabled>no</button><div tabindex=0>box</div><button tabindex=1>first</button><input type=hidden><button>last</button>',
  },
  text: { body: '<input aria-label=a value=abcdef><input aria-label=b>' },
  written: {
    body: '<input aria-label=a>',
    script: `addEventListener('beforeinput', (e) => say(e.inputType + ' ' + e.data)); addEventListener('change', () => say('changed'))`,
  },
}

test('each name of a key has the values of a browser, none is filled with its name', () => {
  const told = (name: string) => {
    const { key, code, keyCode, location, text } = pageKeyOf(name)!
    return [key, code, keyCode, location, text]
  }
  assert.equal(told('z'), ['z', 'KeyZ', 90, 0, 'z'])
  assert.equal(told('('), ['(', 'Digit9', 57, 0, '('])
  assert.equal(told('end'), ['End', 'End', 35, 0, ''])
  assert.equal(told('f13'), ['F13', 'F13', 124, 0, ''])
  assert.equal(told('num7'), ['7', 'Numpad7', 103, 3, '7'])
  assert.equal(told('shiftright'), ['Shift', 'ShiftRight', 16, 2, ''])
  assert.equal(told('é'), ['é', '', 0, 0, 'é'])
  assert.is(pageKeyOf('nothing'), null)
  assert.equal(chordOf('ctrl+shift+K'), ['ctrl', 'shift', 'K'])
  assert.equal(chordOf('Ctrl+C'), ['ctrl', 'c'])
  assert.equal(chordOf('shift++'), ['shift', '+'])
  assert.is(chordOf('Enterr'), null)
})

if (hasBrowser()) {
  test('keys are pressed by the browser: values, forms, fields and the way of the focus are its own', async () => {
    const environment = openPages(PAGES)
    const told = async (page: string, ...actions: string[]) =>
      linesOf(await after(environment, page, actions)).filter((line) => !/^\[|^!/.test(line))
    try {
      assert.equal(await told('keys', 'press 1 Q'), [
        'keydown Shift ShiftLeft 16 1 true true',
        'keydown Q KeyQ 81 0 true true',
        'keypress Q KeyQ 81 0 true true',
      ])
      assert.equal(await told('keys', 'press 1 F7'), ['keydown F7 F7 118 0 false true'])
      assert.equal(await told('keys', 'type 1 ;'), [
        'keydown ; Semicolon 186 0 false true',
        'keypress ; Semicolon 59 0 false true',
      ])
      assert.equal(
        await told('disabled', 'press 1 Enter'),
        [],
        'the first button is disabled, so nothing is sent',
      )
      assert.equal(await told('reset', 'press 1 Enter'), ['sent'])
      assert.equal(await told('blocking', 'press 1 Enter'), [])
      assert.equal(await told('single', 'press 1 Enter'), ['sent a'])
      assert.equal(await told('outside', 'press 1 Enter'), ['sent a,far'])
      assert.equal(await told('image', 'press 1 Enter'), ['sent a,go.x,go.y'])
      assert.equal(await told('invalid', 'press 2 Enter'), [])
      assert.equal(await told('invalid', 'type 1 x', 'press 2 Enter'), ['sent a,b'])
      assert.equal(await told('number', 'press 1 ArrowUp'), ['input 5', 'change 5'])
      assert.equal(await told('range', 'press 1 ArrowLeft'), ['input 2', 'change 2'])
      assert.equal(await told('radio', 'press 1 ArrowDown'), ['input y', 'change y'])
      assert.equal(await told('check', 'press 1 Space'), ['input on', 'change true'])
      assert.equal(await told('select', 'press 1 ArrowDown'), ['input two', 'change two'])
      assert.equal(await told('link', 'press 1 Enter'), ['followed'])
      assert.equal(await told('summary', 'press 1 Enter'), ['hidden words'])
      assert.equal(await told('written', 'type 1 ab', 'press 1 Tab'), [
        'insertText a',
        'insertText b',
        'changed',
      ])
    } finally {
      await environment.close()
    }
  })

  test('the focus goes by the page’s order, and the clipboard is the page’s own', async () => {
    const environment = openPages(PAGES)
    const focused = async (...actions: string[]) =>
      /"([^"]+)" .*?\(focused\)|"([^"]+)" \(focused\)/
        .exec(linesOf(await after(environment, 'tabs', actions)).join('\n'))
        ?.slice(1)
        .find(Boolean)
    try {
      assert.is(await focused('click 1', 'press 1 Tab'), 'box')
      assert.is(await focused('press 3 Tab'), 'a')
      assert.is(await focused('press 2 shift+Tab'), 'a')
      const copied = [
        'press 1 Home',
        'press 1 shift+ArrowRight',
        'press 1 shift+ArrowRight',
        'press 1 ctrl+x',
      ]
      const moved = await after(environment, 'text', [...copied, 'press 2 ctrl+v'])
      assert.match(moved.turn.observation, /"a" = cdef/)
      assert.match(moved.turn.observation, /"b" = ab/)
      // Another episode has copied nothing.
      assert.not.match((await after(environment, 'text', ['press 2 ctrl+v'])).turn.observation, /"b" =/)
      assert.match(
        (await after(environment, 'text', ['press 1 F99'])).turn.observation,
        /^! 'press 1 F99': there is no such key/,
      )
    } finally {
      await environment.close()
    }
  })

  const button = (name: string, style: string, more = '') =>
    `<button style="${style}" ${more} onclick="end(1)">${name}</button>`
  const OUT: Readonly<Record<string, string>> = {
    above: button('above', 'position:fixed;top:-60px'),
    left: button('left', 'position:absolute;left:-400px'),
    narrow: `<div style="width:0;overflow:clip">${button('narrow', '')}</div>`,
    scaled: `<div style="transform:scaleX(0)">${button('scaled', '')}</div>`,
    none: `<div style="pointer-events:none">${button('none', '')}</div>`,
    cut: `<div style="position:relative;height:20px;overflow:hidden">${button('cut', 'position:absolute;top:40px')}</div>`,
    path: button('path', 'clip-path:circle(0)'),
    under: `<div style="position:relative">${button('under', '')}<div style="position:absolute;inset:0;z-index:1"></div></div>`,
    inert: `<div inert>${button('inert', '')}</div>`,
    hidden: `<div style="content-visibility:hidden">${button('hidden', '')}</div>`,
    'in a frame': `<iframe height=40 style="pointer-events:none" srcdoc='<button>in a frame</button>'></iframe>`,
  }
  const IN: Readonly<Record<string, string>> = {
    clear: button('clear', 'opacity:0'),
    'far below': `<div style="height:900px"></div>${button('far below', '')}`,
    'scrolled to': `<div style="height:60px;overflow:auto"><div style="height:300px"></div>${button('scrolled to', '')}</div>`,
    'half cut': `<div style="height:14px;overflow:hidden">${button('half cut', '')}</div>`,
    'partly under': `<div style="position:relative;width:100px">${button('partly under', 'width:100px')}<div style="position:absolute;left:20px;right:20px;top:0;height:30px"></div></div>`,
    labelled:
      '<label style="position:relative"><input type=checkbox aria-label=labelled style="position:absolute;inset:0;opacity:0"><span style="position:relative">words</span></label>',
    framed: `<iframe height=40 srcdoc='<button onclick="parent.end(1)">framed</button>'></iframe>`,
    'two lines': '<div style="width:90px">some words <a href="#" onclick="end(1)">two lines</a></div>',
  }

  test('listed is what a click reaches, where it stands or where one scrolls to it, and nothing else is clicked', async () => {
    const pages = { ...OUT, ...IN }
    const environment = openPages({
      ...pages,
      later: `${button('later', '')}<button onclick="this.previousElementSibling.style.transform='scale(0)'">shrink</button>`,
      words:
        '<p style="position:absolute;left:-999px">away</p><p style="opacity:0">clear</p><div style="height:0;overflow:hidden">cut</div><p>seen</p>',
    })
    try {
      for (const page of Object.keys(OUT)) assert.equal(namesOf(await after(environment, page, [])), [], page)
      for (const page of Object.keys(IN)) {
        const start = await after(environment, page, [])
        assert.ok(namesOf(start).includes(page), `${page}: ${start.turn.observation}`)
        const ref =
          /\[(\d+)\] \S+ "(?:clear|far below|scrolled to|half cut|partly under|labelled|framed|two lines)"/.exec(
            start.turn.observation,
          )?.[1]
        const next = await start.step(`click ${ref}`)
        if (page === 'labelled') assert.match(next.turn.observation, /checked/)
        else assert.is(next.turn.ended, 'goal', `${page}: ${next.turn.observation}`)
      }
      const refused = await after(environment, 'later', ['click 2', 'click 1'])
      assert.is(refused.turn.done, false)
      assert.match(refused.turn.observation, /^! element 1 is covered or out of reach\n/)
      assert.equal(linesOf(await after(environment, 'words', [])), ['seen'])
    } finally {
      await environment.close()
    }
  })
}

test.run()
