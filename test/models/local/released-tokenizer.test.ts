/**
 * Released tokenizers of Qwen beside AutoTokenizer: ids, texts and chats. SKIP where a package that brings their files is not
 * installed (scripts/bench/model/packaged-tokenizer.ts), or the Python lacks transformers.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { TOOLS } from '../../../packages/environment-tools/src/environment.ts'
import { packagedTokenizer, TOKENIZER_PACKAGES } from '../../../scripts/bench/model/packaged-tokenizer.ts'
import { createTokenizer } from '../../../src/models/local/tokenizer.ts'
import type { ChatMessage } from '../../../src/models/port.ts'
import { lacks } from '../../support/python.ts'
import { ask } from '../../support/transformers.ts'

const root = mkdtempSync(join(tmpdir(), 'released-tokenizers-'))
test.after(() => rmSync(root, { recursive: true }))

const TEXTS = [
  'The quick brown fox jumps over the lazy dog.',
  "don't, we'll, I'M, they'RE; it's 3'6\"",
  '  leading, trailing  ',
  'tabs\tand\r\nlines\n\n\n\nand   spaces',
  '1234567890 3.14159 1,000,000 0x7fff 1e-9 ½ ٣٤٥ Ⅷ',
  'Größe, naïve, Ærøskøbing, İstanbul, Łódź',
  'Grossmu\u0308tter e\u0301te\u0301 A\u030a',
  'Привет, мир! Съешь ещё этих мягких булок.',
  'Γειά σου Κόσμε, πώς είσαι;',
  'שלום עולם, מה שלומך היום?',
  'مرحبا بالعالم، كيف حالك؟',
  'سلام دنیا، حال شما چطور است؟',
  'नमस्ते दुनिया, आप कैसे हैं?',
  'হ্যালো বিশ্ব',
  'வணக்கம் உலகம்',
  'สวัสดีชาวโลก วันนี้เป็นอย่างไรบ้าง',
  'ສະບາຍດີຊາວໂລກ',
  'မင်္ဂလာပါကမ္ဘာလောက',
  'សួស្តីពិភពលោក',
  '你好，世界！今天天气怎么样？',
  '繁體中文與简体中文',
  'こんにちは世界。ｶﾀｶﾅとひらがな',
  '안녕하세요 세계, 오늘은 어떠세요?',
  '\u1112\u1161\u11ab\u1100\u1173\u11af',
  'გამარჯობა მსოფლიო',
  'Բարեւ աշխարհ',
  'ሰላም ለዓለም',
  'ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ',
  '🙂👩‍👩‍👧‍👦🇩🇪🏳️‍🌈 👍🏽',
  '𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𐍈 𠜎',
  '\u00a0\u2003\u200b\u200d\ufeff\u0085\u2028',
  'ﬁ ﬃ № ™ Ａ１ ㍿',
  'def f(x):\n    return {"a": [x ** 2 for _ in range(3)]}  # ok\n',
  'const x = () => "</tag>"; // <|not_a_token|>',
  'SELECT * FROM t WHERE a != b;\t--\\n',
  'https://example.org/a?b=c&d=%20#e',
  '<|im_start|>user\nhi<|im_end|>\n<|endoftext|>',
  '<think>\nwell\n</think>\n\n<tool_call>\n{"name": "a"}\n</tool_call>',
  '....,,,,!!!! ----- ===== ~~~~ \\\\\\\\',
  'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
  '',
]

const MESSAGES: readonly ChatMessage[] = [
  { role: 'user', content: 'How many lamps has Arham?' },
  {
    ...{ role: 'assistant', content: '<think>\nI search.\n</think>\n\nLet me see.' },
    toolCalls: [{ id: 'c1', name: 'search', arguments: { query: 'Arham ü' } }],
  },
  { role: 'tool', content: 'Arham has 12 lamps.', toolCallId: 'c1' },
  { role: 'assistant', content: '\\boxed{12}' },
  { role: 'user', content: 'Thanks' },
]
const theirs = MESSAGES.map(({ role, content, toolCalls, toolCallId }) => ({
  ...{ role, content },
  ...(toolCallId === undefined ? {} : { tool_call_id: toolCallId }),
  ...(toolCalls === undefined
    ? {}
    : { tool_calls: toolCalls.map(({ id, ...rest }) => ({ id, type: 'function', function: rest })) }),
}))

for (const shape of Object.keys(TOKENIZER_PACKAGES) as (keyof typeof TOKENIZER_PACKAGES)[])
  test(`the tokenizer of ${shape} gives the ids, texts and chats of AutoTokenizer`, () => {
    const files = packagedTokenizer(shape)
    const missing = files ? lacks('transformers', 'jinja2') : `install ${TOKENIZER_PACKAGES[shape]}`
    if (!files || missing) {
      process.stdout.write(`SKIP ${shape}: ${missing}\n`)
      return
    }
    const folder = join(root, shape)
    mkdirSync(folder)
    const write = (file: string, value: unknown) => writeFileSync(join(folder, file), JSON.stringify(value))
    write('config.json', { model_type: shape.startsWith('Qwen3') ? 'qwen3' : 'qwen2' })
    write('tokenizer.json', files.tokenizer)
    write('tokenizer_config.json', files.config)
    const { encode, decode, renderChat, endToken, tokenId } = createTokenizer(files)
    assert.equal([endToken, tokenId('<|im_start|>'), tokenId('<|endoftext|>')], [151_645, 151_644, 151_643])

    const ids = TEXTS.map((text) => [...encode(text)])
    const tools = TOOLS.map((tool) => ({ type: 'function', function: tool }))
    const chats = [{ messages: theirs }, { messages: theirs.slice(0, 3), tools }]
    const there = ask<Record<string, unknown>>({
      ids: { tokenize: folder, texts: TEXTS },
      texts: { decode: folder, ids },
      chats: { render: folder, chats },
    })
    for (const [i, text] of TEXTS.entries())
      assert.equal(ids[i], (there.ids as number[][])[i], JSON.stringify(text))
    assert.equal(
      ids.map((own) => decode(own)),
      there.texts,
    )
    assert.equal([renderChat(MESSAGES), renderChat(MESSAGES.slice(0, 3), { tools: TOOLS })], there.chats)
  })

test.run()
