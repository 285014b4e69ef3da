/** What templates call is Python's: expected texts are those of Jinja 3.1 under Python 3.11. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { chatTemplate } from '../../../src/models/local/chat-template.ts'
import { WrittenNumber } from '../../../src/models/local/written-numbers.ts'

const render = (template: string, variables: Record<string, unknown> = {}) =>
  chatTemplate(template).render(variables)

test('ends are stripped of the characters that are named, as Qwen3 asks for', () => {
  const x = '\n\n    def f():\n  \n'
  assert.is(render("{{ x.lstrip('\\n') }}", { x }), '    def f():\n  \n')
  assert.is(render("{{ x.rstrip('\\n') }}", { x }), '\n\n    def f():\n  ')
  assert.is(render("{{ x.strip('\\n').strip(' d') }}", { x }), 'ef f():\n')
  assert.is(render("{{ x | trim('\\n') }}", { x }), '    def f():\n  ')
  assert.is(render("{{ x.split('def')[-1].rstrip('\\n').lstrip(' ') }}", { x }), 'f():\n  ')
  assert.is(render("{% for one in [x] %}{{ '<' ~ (one | trim) ~ '>' }}{% endfor %}", { x }), '<def f():>')
})

test('white space is what Python takes for it', () => {
  const x = '\ufeff\x1c a\x85\u3000'
  for (const template of ['{{ x.strip() }}', '{{ x | trim }}', "{% set y = x.strip() %}{{ {'a': y}['a'] }}"])
    assert.is(render(template, { x }), '\ufeff\x1c a')
  assert.is(render('{{ x.strip() }}', { x: '\x1f\x85 b \u2029' }), 'b')
})

test('what is no text has no ends', () => {
  assert.throws(() => render('{{ x.strip() }}', { x: null }), /strip is only for texts/)
  assert.throws(() => render('{{ x.strip(1) }}', { x: 'a' }), /characters alone/)
})

const VALUES = { m: { s: ' s ', n: null, z: 0, t: true, l: [1, "it's", null, 2.5] }, l: ['p', 'q'] }

for (const [template, expected] of [
  [
    '[{{ m.no|trim }}][{{ none|trim }}][{{ 5|trim }}][{{ true|trim }}][{{ 5.0|trim }}]',
    '[][None][5][True][5.0]',
  ],
  ['[{{ m.no|upper }}][{{ none|lower }}][{{ m.no|capitalize }}][{{ none|capitalize }}]', '[][none][][None]'],
  [
    '[{{ m.no|string }}][{{ m.t|string }}][{{ m.no|length }}][{{ m.no|join(",") }}][{{ m.no|list }}]',
    '[][True][0][][[]]',
  ],
  ['[{{ l|join }}][{{ m.l|join("-") }}][{{ "ab"|join(",") }}]', "[pq][1-it's-None-2.5][a,b]"],
  [
    '[{{ [] | first }}][{{ [] | last is defined }}][{{ l[7] }}][{{ l[-7] is defined }}]',
    '[][False][][False]',
  ],
  ['{{ none }} {{ true }} {{ m.n }} {{ m.no }} {{ 1.0 }} {{ m.z }}', 'None True None  1.0 0'],
  [
    '{{ l }} {{ m.l }} {{ m }}',
    `['p', 'q'] [1, "it's", None, 2.5] {'s': ' s ', 'n': None, 'z': 0, 't': True, 'l': [1, "it's", None, 2.5]}`,
  ],
  ['{{ "a" ~ none ~ true ~ m.no ~ 1 ~ l }}', "aNoneTrue1['p', 'q']"],
  [
    '{{ "x"|safe + "<b>" }}{{ "<b>" + "y"|safe|upper }}{{ "x"|safe ~ "<b>" }}{{ "<b>"|safe }}',
    'x&lt;b&gt;&lt;b&gt;Yx<b><b>',
  ],
  ['{{ "ß" | capitalize }}{{ m.no is iterable }}{{ m is iterable }}{{ true is number }}', 'SsTrueTrueTrue'],
  [
    '{{ range(3)|list }}{{ range(5, 0, -2)|list }}{{ range(-3)|list }}{{ range(100000)|length }}',
    '[0, 1, 2][5, 3, 1][]100000',
  ],
  ['{% set x = none %}{% for i in l %}{% if i == "p" %}{{ x }}{% endif %}{% endfor %}', 'None'],
  ['{% macro f(a) %}<{{ a }}>{% endmacro %}{{ f(none) }}{{ f(l[0]) }}', '<None><p>'],
] as const)
  test(`values are written and filtered as in Python: ${template}`, () => {
    assert.is(render(template, VALUES), expected)
  })

for (const [template, why] of [
  ['{{ m.no|tojson }}', /tojson is not for what is undefined/],
  ['{{ [m.no]|tojson }}', /tojson is not for what is undefined/],
  ['{{ l[7].content }}', /what is undefined has neither parts/],
  ['{{ m.no.strip() }}', /strip is only for texts/],
  ['{{ "a" + 5 }}', /a text and a integer cannot be added/],
  ['{{ none + "a" }}', /a text and a null cannot be added/],
  ['{{ range(100001) }}', /range is too big/],
  ['{{ range(0, 10**9, 2) }}', /range is too big/],
  ['{{ range(1, 2, 0) }}', /its step is 0/],
  [
    '{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}',
    /more than 2000000 steps/,
  ],
  [
    '{% for a in range(99999) %}{% for b in range(99999) if false %}{% endfor %}{% endfor %}',
    /more than \d+ steps/,
  ],
  [
    '{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}',
    /more than \d+ steps/,
  ],
  ['{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}', /more than 300 blocks are within one another/],
  [
    '{% set n = namespace(x="ab") %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}',
    /a text has more than/,
  ],
  [
    '{% set n = namespace(x=[1]) %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}',
    /a list has more than/,
  ],
] as const)
  test(`what Python refuses, or would go on for ever, is refused: ${template}`, () => {
    assert.throws(() => render(template, VALUES), why)
  })

test('blocks that end by break and continue do not add up', () => {
  const turns =
    '{% for a in range(400) %}{% for b in [1] %}{% if a %}{% continue %}{% endif %}{% break %}{% endfor %}{% endfor %}'
  assert.is(render(`${turns}over`), 'over')
  const nested = '{% macro f(n) %}{% if n %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(100) }}over'
  assert.is(render(nested), 'over')
})

test('lines end alike, so that blocks take theirs with them', () => {
  const lines = ['{% for m in x %}', '<{{ m }}>', '{% endfor %}', '']
  for (const end of ['\n', '\r\n', '\r']) assert.is(render(lines.join(end), { x: ['a\r\n'] }), '<a\r\n>\n')
})

test('words begin with a capital, and with no other', () => {
  assert.is(render('{{ x | capitalize }}{{ x.capitalize() }}', { x: 'éTAT uSER' }), 'État userÉtat user')
  assert.throws(() => render('{{ x | title }}', { x: 'a' }), /title is not implemented/)
})

test('values are equal as in Python: by what they hold, and a text to no number', () => {
  const [a, b] = [
    { role: 'user', parts: [{ text: 'a' }] },
    { role: 'user', parts: [{ text: 'b' }] },
  ]
  const marks = '{% for m in x %}{% if m == x[-1] %}L{% else %}-{% endif %}{% endfor %}'
  assert.is(render(marks, { x: [a, b, { ...a }] }), 'L-L')
  const yes = [
    ...[
      '[] == []',
      "[1, 'a'] == [1, 'a']",
      '1 == 1.0',
      'true == 1',
      'x.no == x.none',
      'y == none',
      "'a' == 'a'",
    ],
    ...["'1' != 1", '[1] != [2]', "'' != 0", "{'a': 1} != {'a': 2}", "{'a': 1} != {'b': 1}"],
  ]
  for (const one of yes) assert.is(render(`{{ 'yes' if ${one} }}`, { x: {}, y: null }), 'yes', one)
})

test('dates are English, whatever the language of the process', () => {
  const now = new Date()
  const english = (options: Intl.DateTimeFormatOptions) => now.toLocaleString('en-US', options)
  assert.is(
    render("{{ strftime_now('%d %b %Y, %A %-d %B, %y%%') }}"),
    `${String(now.getDate()).padStart(2, '0')} ${english({ month: 'short' })} ${now.getFullYear()}, ` +
      `${english({ weekday: 'long' })} ${now.getDate()} ${english({ month: 'long' })}, ${String(now.getFullYear()).slice(2)}%`,
  )
  assert.throws(() => render("{{ strftime_now('%j') }}"), /%j is not implemented/)
})

test('numbers are those of Python where they are told with their text', () => {
  const numbers = [
    '12345678901234567890',
    '-0',
    '1.0',
    '1e5',
    '1E16',
    '-2.50',
    '0.00001',
    '123456789.0e-3',
    '1e999',
  ]
  const written = [
    '12345678901234567890',
    '0',
    '1.0',
    '100000.0',
    '1e+16',
    '-2.5',
    '1e-05',
    '123456.789',
    'Infinity',
  ]
  const x = structuredClone({ a: numbers.map((source) => new WrittenNumber(source)) })
  assert.is(render('{{ x | tojson }}', { x }), `{"a": [${written.join(', ')}]}`)
  assert.is(render('{% for one in x.a %}{{ one }} {% endfor %}', { x }), `${written.join(' ')} `)
  const quoted =
    '{% for one in x.a %}{{ "<\\"" ~ one ~ "\\">" }}{% endfor %}{{ {"b": x.a[0]} | tojson(indent=2) }}'
  assert.is(render(quoted, { x: { a: [new WrittenNumber('1.0')] } }), '<"1.0">{\n  "b": 1.0\n}')
  assert.is(render('{{ x | tojson }}', { x: { ' number': '1-2' } }), '{" number": "1-2"}')
  assert.is(render('{{ x | tojson }}', { x: { ' number': 'no' } }), '{" number": "no"}')
})

test.run()
