import { join } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { command as gateway } from '../../src/cli/gateway.ts'
import { command as serve } from '../../src/cli/serve.ts'
import { openLocalModel } from '../../src/models/local/model.ts'
import { presetConfig } from '../../src/models/local/presets.ts'
import { createTokenizer } from '../../src/models/local/tokenizer.ts'
import { byteTokenizer } from '../support/byte-tokenizer.ts'
import { errorOf } from '../support/error-of.ts'
import { startProcess } from '../support/processes.ts'
import { temporaryFolder, until } from '../support/run.ts'

const root = temporaryFolder()
const secret = 'a-secret-of-the-test'

test('the cache that rl serve is given bounds its context, which its list of models tells', async () => {
  const folder = join(root, 'model')
  const files = byteTokenizer()
  const { size: vocabSize, endToken } = createTokenizer(files)
  const config = presetConfig('nano', { vocabSize, contextTokens: 20_000, endToken })
  const model = await openLocalModel({ config, tokenizer: files, seed: 1, backend: 'wasm' })
  await model.save(folder)
  await model.close()
  const words = ['serve', '--model', folder, '--port', '0', '--cache-megabytes', '4', '--backend', 'wasm']
  const server = startProcess(['src/rl.ts', ...words], { RL_SERVE_TOKEN: secret })
  await until('served', () => /http:\S+\s/.test(server.output()), 240_000)
  const [url] = /http:\S+/.exec(server.output()) ?? []
  const answer = await fetch(`${url}/models`, { headers: { authorization: `Bearer ${secret}` } })
  const { data } = (await answer.json()) as { data: { max_model_len: number }[] }
  assert.is(
    data[0].max_model_len,
    Math.floor(4e6 / (2 * 4 * config.layers * config.kvHeads * config.headDim)),
  )
  server.process.kill('SIGTERM')
  await server.status
})

test('the help of rl serve names every field that it takes', async () => {
  const help = startProcess(['src/rl.ts', 'serve', '--help'])
  assert.is(await help.status, 0)
  for (const field of [
    ...['top_k', 'min_p', 'repetition_penalty', 'n', 'best_of', 'tools', 'response_format'],
    ...['guided_choice', 'guided_json', 'chat_template_kwargs', 'max_completion_tokens', 'seed_words'],
  ])
    assert.match(help.output(), new RegExp(`\\b${field}\\b`))
})

test('a server with a token that no client can send does not start, and says where the token came from', async () => {
  const commands = [
    [serve, 'RL_SERVE_TOKEN', ['--model', 'nowhere']],
    [
      gateway,
      'RL_GATEWAY_TOKEN',
      ['--run', 'none', '--record', '--upstream', 'http://127.0.0.1:9', '--model', 'x'],
    ],
  ] as const
  for (const [command, variable, flags] of commands)
    for (const token of [
      ' token-of-mine',
      'token-of-mine\n',
      'token\tof\tmine',
      'tökenofmine',
      '“tokenofmine”',
      'brief12',
    ]) {
      process.env[variable] = token
      const told = await errorOf(command.run([...flags]))
      delete process.env[variable]
      const flagged = await errorOf(command.run([...flags, `--token=${token}`]))
      assert.equal([told.code, flagged.code], ['cli.usage', 'cli.usage'], token)
      assert.match(told.message, `the token in ${variable}`)
      assert.match(flagged.message, 'the token in --token')
      assert.not.match(`${told.message}${flagged.message}`, token)
    }
})

test.run()
