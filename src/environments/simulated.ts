/**
 * A setting without episodes. Formulas stand in for environment and models, to test the loop and to size a
 * run.
 */
import { RlError } from '../errors.ts'
import { defineSetting } from './setting.ts'

export const setting = defineSetting({
  name: 'simulated',
  summary: 'a learner made of formulas; nothing is played',
  simulated: true,
  open() {
    throw new RlError('the simulated setting has no episodes', {
      code: 'setting.simulated',
      hint: 'use an environment.name with an environment of its own, such as alfworld',
    })
  },
})
