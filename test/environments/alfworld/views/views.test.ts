import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { plainPrompt } from '../../../../src/environments/alfworld/views/plain.ts'
import {
  parseReact,
  reactObservation,
  reactPrompt,
} from '../../../../src/environments/alfworld/views/react.ts'
import { rlanythingPrompt } from '../../../../src/environments/alfworld/views/rlanything.ts'
import { parseVerl, verlPrompt } from '../../../../src/environments/alfworld/views/verl.ts'
import { parseNumbered, parsePlain } from '../../../../src/environments/answers.ts'
import { playExpert, roomOf } from '../play.ts'

test('rlanything: history, numbered options, and an answer in a box', () => {
  const { history } = playExpert(roomOf(1))
  const [system, user] = rlanythingPrompt(history)
  assert.is(system.role, 'system')
  assert.not.ok(user.content.includes('Welcome'))
  assert.is(user.content.match(/^you took action: /gm)?.length, history.steps.length)
  const { admissible } = history.first
  assert.equal(parseNumbered('go on \\boxed{1} no, \\boxed{ 2 }', admissible), {
    command: admissible[2],
    problem: null,
  })
  assert.equal(parseNumbered('', admissible), { command: admissible[0], problem: 'there is no box' })
  assert.equal(parseNumbered('\\boxed{look', admissible), {
    command: admissible[0],
    problem: 'the box is not closed',
  })
  assert.equal(parseNumbered('\\boxed{look}', admissible), {
    command: admissible[0],
    problem: 'the box holds no number',
  })
  const beyond = parseNumbered('\\boxed{999}', admissible)
  assert.is(beyond.command, admissible[admissible.length - 1])
  assert.match(beyond.problem ?? '', /option 999 does not exist/)
  assert.match(parseNumbered('\\boxed{-3}', admissible).problem ?? '', /option -3/)
})

test('plain: the admissible commands stand at the end, and one of them is the answer', () => {
  const { history } = playExpert(roomOf(2))
  const prompt = plainPrompt(history)
  assert.is(prompt.length, 2 + 2 * history.steps.length)
  assert.match(prompt[prompt.length - 1].content, /Admissible commands:/)
  const { admissible } = history.first
  assert.equal(parsePlain(`I will.\n> ${admissible[3]}.`, admissible), {
    command: admissible[3],
    problem: null,
  })
  assert.match(parsePlain('fly', admissible).problem ?? '', /'fly' is not admissible/)
  assert.is(parsePlain('', admissible).problem, 'the answer is empty')
})

test('react: thoughts cost a step and reach no game; either wording of putting is understood', () => {
  const { history } = playExpert(roomOf(3))
  const prompt = reactPrompt(history, ['demo'])
  assert.ok(prompt.endsWith('\n>'))
  assert.match(prompt, /Here are 1 examples\.\ndemo\nHere is the task\./)
  assert.is(prompt.match(/^> /gm)?.length, history.steps.length)
  assert.equal(parseReact(' think: where is it?\nmore', []), { thought: 'where is it?' })
  assert.equal(parseReact('put mug 1 in/on desk 1', ['move mug 1 to desk 1']), {
    command: 'move mug 1 to desk 1',
    problem: null,
  })
  assert.equal(parseReact('move mug 1 to desk 1', ['put mug 1 in/on desk 1']), {
    command: 'put mug 1 in/on desk 1',
    problem: null,
  })
  const wrong = parseReact('fly', ['look'])
  assert.ok('command' in wrong && wrong.command === 'fly' && wrong.problem !== null)
  assert.is(
    reactObservation('You arrive at loc 24. On the shelf 1, you see nothing.'),
    'On the shelf 1, you see nothing.',
  )
})

test('verl: two steps of history, no help among the commands', () => {
  const { history } = playExpert(roomOf(4))
  const prompt = verlPrompt(history)
  assert.not.ok(prompt.includes("'help'"))
  assert.match(prompt, new RegExp(`You are now at step ${history.steps.length + 1} `))
  assert.is(prompt.match(/\[Observation \d+:/g)?.length, 2)
  assert.equal(parseVerl('<think>x</think><action>Look</action>', ['help', 'look']), {
    command: 'look',
    problem: null,
  })
  assert.is(parseVerl('look', ['look']).problem, 'there are no action tags')
  assert.match(parseVerl('<action>fly</action>', ['look']).problem ?? '', /not admissible/)
})

test.run()
