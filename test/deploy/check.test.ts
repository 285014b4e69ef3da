/** The check of integrations/deploy, as far as it needs nothing that a machine may lack, and how it reads commands. */
import { resolve } from 'node:path'
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { answers, checkFolder, NO_TOOLS } from '../../scripts/deploy/check.ts'
import { commandLinesOf, commandLinesOfPage } from '../../scripts/deploy/command-lines.ts'
import { findPlanted, PLANTED } from '../../scripts/deploy/planted.ts'
import { openRealCli } from '../../scripts/deploy/real-cli.ts'
import { shellCommands, withValues } from '../../scripts/deploy/shell-words.ts'

const folder = resolve('integrations/deploy')
const tools = { ...NO_TOOLS, bash: answers('bash', ['--version']) }
const cli = openRealCli()
test.after(() => cli.close())

test('no file has a fault', async () => {
  assert.equal(await checkFolder(folder, tools, cli), [])
})

test('planted faults are found', async () => {
  const results = await findPlanted(folder, tools, cli)
  const missed = results.filter(({ found }) => !found)
  assert.equal(
    missed.map(({ planted, said }) => ({ file: planted.file, to: planted.to, said })),
    [],
  )
  assert.ok(results.length > PLANTED.length / 2)
})

test('a command line is compared with what the command takes', () => {
  const faultOf = (text: string) => {
    const [line] = commandLinesOf('file', text)
    return line === undefined ? 'none' : cli.faultOf(line)
  }
  assert.is(faultOf('rl alive "$RUN" --role environment --within 30'), null)
  assert.is(faultOf('npm run -s rl -- status RUN'), null)
  assert.is(faultOf('npm run -s deploy:check'), null)
  for (const [wrong, found] of [
    ['rl alive RUN --rolle head', /no flag --rolle/],
    ['rl alive RUN --role nobody', /'nobody' is no role/],
    ['rl alive RUN --within soon', /--within is 'soon'/],
    ['rl alife RUN', /no command 'alife'/],
    ['rl start --role head --set run.iteration=3', /run\.iteration/],
    ['npm start -- --role head --config config/none.yaml', /none\.yaml/],
    ['npm run -s deploy:chek', /no script 'deploy:chek'/],
    ['rlanything-trainer --run RUN --bass M', /no flag --bass/],
  ] as const)
    assert.match(faultOf(wrong) ?? '', found, wrong)
})

test('commands of a script are its words, whatever joins them', () => {
  assert.equal(shellCommands(`a "b c" 'd' | e \\\n  --f "$g" # h\ni && j > k 2>&1; l`), [
    ['a', 'b c', 'd'],
    ['e', '--f', '$g'],
    ['i'],
    ['j'],
    ['l'],
  ])
  assert.equal(shellCommands('x=$(y "z") rl'), [['x=$(y z)', 'rl']])
})

test('a variable stands for a value', () => {
  const braced = (text: string) => `\${${text}}`
  const words = [braced('MODEL:-a/b'), '$(RUN)', '$run', braced('NATS_URL'), '%i', 'plain']
  assert.equal(words.map(withValues), ['a/b', 'main', 'main', 'tls://nats:4222', 'main', 'plain'])
})

test('commands are found behind what starts them', () => {
  const words = (text: string) => commandLinesOf('file', text).map((line) => [line.program, ...line.words])
  assert.equal(words('exec srun --kill-on-bad-exit=0 rl start --join "$join"'), [
    ['rl', 'start', '--join', '$join'],
  ])
  assert.equal(words('kubectl -n a exec deploy/head -- rl status main | cat'), [['rl', 'status', 'main']])
  assert.equal(words('podman run --rm rlanything:0.2.0 start --role head'), [
    ['rl', 'start', '--role', 'head'],
  ])
  assert.equal(words('podman build -t rlanything:0.2.0 .'), [])
  assert.equal(words('torchrun --nnodes 2 -m -- rlanything_trainer --run r'), [['trainer', '--run', 'r']])
  assert.equal(
    commandLinesOf('file', ['sh', '-c', 'exec rl alive "$RUN"']).map((line) => line.words),
    [['alive', '$RUN']],
  )
  assert.equal(commandLinesOfPage('file', 'rl a\n```sh\nrl b   # c\n```\n').length, 1)
})

test.run()
