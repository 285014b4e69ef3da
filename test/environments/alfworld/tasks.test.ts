import { test } from 'uvu'
import * as assert from 'uvu/assert'
import {
  folderOf,
  type Goal,
  goalOfProblem,
  goalOfSentence,
  goalText,
  sameGoal,
  sentenceOf,
  sentencesOf,
  TASK_TYPES,
  withGoal,
  withSentence,
} from '../../../src/environments/alfworld/tasks.ts'
import { fixtureGames } from './play.ts'

const goals: Goal[] = TASK_TYPES.map((type) => ({
  type,
  object: 'Mug',
  target: type === 'look_at_obj_in_light' ? 'DeskLamp' : 'CoffeeMachine',
}))

test('the twelve sentences tell their goals apart', () => {
  const sentences = goals.flatMap((goal) => sentencesOf(goal).map((sentence) => ({ goal, sentence })))
  assert.is(new Set(sentences.map(({ sentence }) => sentence)).size, 12)
  for (const { goal, sentence } of sentences) {
    const read = goalOfSentence(`${sentence}.`)
    assert.ok(read && sameGoal(read, goal), sentence)
  }
  assert.is(goalOfSentence('make me a sandwich'), null)
})

test('a goal block reads back as its goal, whatever the case and the spaces', () => {
  for (const goal of goals) {
    assert.equal(goalOfProblem(goalText(goal)), goal)
    const lower = goalOfProblem(goalText(goal).toLowerCase().replace(/\s+/g, ' '))
    assert.ok(lower && sameGoal(lower, goal))
  }
  assert.is(goalOfProblem('(:goal (and (isClean mug)))'), null)
})

test('real games: goal, sentence and folder agree, and a goal put back changes nothing', () => {
  for (const { file, task, name } of fixtureGames()) {
    const goal = goalOfProblem(file.pddl_problem)
    const sentence = sentenceOf(task)
    assert.ok(goal && sentence)
    const told = goalOfSentence(sentence)
    assert.ok(told && sameGoal(told, goal), sentence)
    assert.ok(name.includes(folderOf(goal, '')), name)
    const plain = (text: string) => text.replace(/\s+/g, ' ').trim()
    assert.is(plain(withGoal(file.pddl_problem, goal)), plain(file.pddl_problem))
    assert.is(withSentence(file.grammar, sentence), file.grammar)
  }
})

test.run()
