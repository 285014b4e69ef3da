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
  assert.throws(() => render('{{ x.strip() }}', { x: null }), /strip is not for what is no text/)
  assert.throws(() => render('{{ x.strip(1) }}', { x: 'a' }), /characters alone/)
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
