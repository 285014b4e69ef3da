import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  compactChoices,
  compactCommand,
  compactObservation,
  compactPieces,
  compactVocabulary,
  MOST_OF_A_TYPE,
} from '../../../../src/environments/alfworld/views/compact.ts'
import { parsePlain, plainPrompt } from '../../../../src/environments/alfworld/views/plain.ts'
import {
  parseReact,
  reactObservation,
  reactPrompt,
} from '../../../../src/environments/alfworld/views/react.ts'
import { parseRlanything, rlanythingPrompt } from '../../../../src/environments/alfworld/views/rlanything.ts'
import { parseVerl, verlPrompt } from '../../../../src/environments/alfworld/views/verl.ts'
import { fixtureGames, playExpert, roomOf, wander } from '../play.ts'

const episodes = () => [
  ...Array.from({ length: 20 }, (_, seed) => playExpert(roomOf(seed, seed % 2 === 0 ? 'easy' : 'hard'))),
  ...Array.from({ length: 20 }, (_, seed) => wander(roomOf(seed, 'medium'), seed, 30)),
  ...fixtureGames().flatMap((game) => [playExpert(game), wander(game, 3, 60)]),
]

test('compact: every word of every text and choice is in the vocabulary', () => {
  const vocabulary = new Set(compactVocabulary())
  assert.is(vocabulary.size, compactVocabulary().length)
  assert.ok(vocabulary.has(String(MOST_OF_A_TYPE)))
  for (const { history } of episodes()) {
    const text = compactPieces(history)
      .map((piece) => piece.text)
      .join(' ')
    for (const word of text.split(' ')) assert.ok(vocabulary.has(word), `'${word}' in ${text}`)
    for (const moment of [history.first, ...history.steps.map(({ after }) => after)])
      for (const choice of compactChoices(moment, { all: true }))
        for (const word of choice.text.split(' ')) assert.ok(vocabulary.has(word), choice.text)
  }
})

test("compact: an episode's text is a prefix of its later texts, and short", () => {
  for (const { history } of episodes().slice(0, 20)) {
    const pieces = compactPieces(history)
    for (let steps = 0; steps < history.steps.length; steps++) {
      const part = compactPieces({ first: history.first, steps: history.steps.slice(0, steps) })
      assert.equal(part, pieces.slice(0, part.length))
    }
    const words = pieces.slice(1).flatMap(({ text }) => text.split(' ')).length
    assert.ok(words / history.steps.length < 20)
  }
  const long = wander(fixtureGames()[0], 8, 50).history
  assert.ok(compactPieces(long).flatMap(({ text }) => text.split(' ')).length <= 1_024)
})

test('compact: the choices are the commands that can bring a goal nearer, each text for one command', () => {
  for (const { history, commands } of episodes().slice(0, 20)) {
    const moments = [history.first, ...history.steps.map(({ after }) => after)]
    for (const [i, command] of commands.entries()) {
      const choices = compactChoices(moments[i])
      assert.ok(
        choices.some((choice) => choice.command === command),
        command,
      )
      assert.is(new Set(choices.map(({ text }) => text)).size, choices.length)
      for (const choice of choices) assert.not.ok(/^(help|look|inventory|close)\b/.test(choice.text))
    }
  }
})

test('compact: the words of commands and answers', () => {
  assert.is(compactCommand('go to cabinet 3'), 'go cabinet 3')
  assert.is(compactCommand('move mug 1 to coffeemachine 1'), 'put coffeemachine 1')
  assert.is(compactCommand('put mug 1 in/on coffeemachine 1'), 'put coffeemachine 1')
  assert.is(compactCommand('heat egg 2 with microwave 1'), 'heat egg 2')
  assert.is(compactCommand('take egg 2 from fridge 1'), 'take egg 2')
  assert.is(compactCommand('slice apple 1 with knife 2'), 'slice apple 1')
  assert.is(compactCommand('dance with me'), 'other')
  const observation = (text: string) => compactObservation(text)
  assert.is(observation('You arrive at fridge 1. The fridge 1 is closed.'), '; closed .')
  assert.is(
    observation('You open the fridge 1. The fridge 1 is open. In it, you see a egg 2, and a mug 1.'),
    '; see egg 2 mug 1 .',
  )
  assert.is(observation('You arrive at loc 3. On the shelf 1, you see nothing.'), '; see nothing .')
  assert.is(observation('You close the fridge 1.'), '; ok .')
  assert.is(observation('Nothing happens.'), '; no .')
  assert.is(observation('You are carrying: a egg 2.'), '; carry egg 2 .')
  assert.is(observation('You are not carrying anything.'), '; carry nothing .')
  assert.is(observation('This is a hot and clean egg 1.'), '; hot clean .')
  assert.is(observation('This is a cold egg 1.'), '; cold .')
  assert.is(observation('This is a cool and clean sliced egg 1.'), '; cool clean sliced .')
  assert.is(observation('This is a normal mug 1. In it, you see nothing.'), '; normal .')
  assert.is(observation("There's nothing special about pen 1."), '; plain .')
  assert.is(observation('This desklamp 1 is on.'), '; on .')
})

test('rlanything: history, numbered options, and an answer in a box', () => {
  const { history } = playExpert(roomOf(1))
  const [system, user] = rlanythingPrompt(history)
  assert.is(system.role, 'system')
  assert.not.ok(user.content.includes('Welcome'))
  assert.is(user.content.match(/^you took action: /gm)?.length, history.steps.length)
  const { admissible } = history.first
  assert.equal(parseRlanything('go on \\boxed{1} no, \\boxed{ 2 }', admissible), {
    command: admissible[2],
    problem: null,
  })
  assert.equal(parseRlanything('', admissible), { command: admissible[0], problem: 'there is no box' })
  assert.equal(parseRlanything('\\boxed{look', admissible), {
    command: admissible[0],
    problem: 'the box is not closed',
  })
  assert.equal(parseRlanything('\\boxed{look}', admissible), {
    command: admissible[0],
    problem: 'the box holds no number',
  })
  const beyond = parseRlanything('\\boxed{999}', admissible)
  assert.is(beyond.command, admissible[admissible.length - 1])
  assert.match(beyond.problem ?? '', /option 999 does not exist/)
  assert.match(parseRlanything('\\boxed{-3}', admissible).problem ?? '', /option -3/)
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
