/** Chat templates, which come with a model of a stranger. */
import { createTokenizer } from '../../src/models/local/tokenizer.ts'
import { trainWordTokenizer } from '../../src/models/local/word-tokenizer.ts'
import { mutateText } from './mutate.ts'
import type { Target } from './target.ts'

const TEMPLATES = [
  "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
  '{%- if tools %}{{- tools | tojson }}{%- endif %}{% set ns = namespace(last=0) %}{% for message in messages[::-1] %}{% set ns.last = loop.index0 %}{{ message.content | trim }}{% endfor %}{{ ns.last }}',
  "{% macro row(m, n=3) %}{% for i in range(n) %}{{ m.role ~ i }},{% endfor %}{% endmacro %}{{ row(messages[0]) }}{{ messages | length }}{{ messages | map(attribute='role') | join(', ') }}",
  "{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% else %}{% set rest = messages %}{% endif %}{% for m in rest %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles') }}{% endif %}{{ bos_token + m['content'] | replace('a', 'b') | upper }}{% endfor %}",
]
const WORDS = [
  'range(9999999)',
  '| trim',
  '| tojson',
  '| safe',
  '* 99999',
  '{% for x in messages %}',
  '{{ [] }}',
  '__proto__',
]
/** No prompt of these messages is longer. */
const MOST_CHARACTERS = 2_000_000

export const templateTarget: Target = {
  name: 'templates',
  what: 'a chat template of a model',
  async open() {
    const files = trainWordTokenizer({ texts: ['be brief', 'hello'], maxWords: 20 })
    const messages = [
      { role: 'system', content: 'be brief' },
      { role: 'user', content: ' hello \ufeff' },
    ] as const
    const variables = {
      tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object' } } }],
    }
    return {
      make(draw) {
        const text = draw.pick(TEMPLATES)
        if (draw.uniform() < 0.5) return mutateText(text, draw.pick(TEMPLATES), draw)
        const at = draw.below(text.length)
        return Buffer.from(`${text.slice(0, at)}${draw.pick(WORDS)}${text.slice(at)}`)
      },
      take(input) {
        const { renderChat } = createTokenizer({ ...files, chatTemplate: Buffer.from(input).toString() })
        const prompt = renderChat(messages, { variables })
        return prompt.length > MOST_CHARACTERS ? `a prompt of ${prompt.length} characters` : null
      },
    }
  },
}
