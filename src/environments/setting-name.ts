/** The rule for names of settings. A setting's own keys are in a section of its name below `environment`. */
import { z } from 'zod'
import { configSchema } from '../config-schema/schema.ts'

const NAME = /^[a-z][a-z0-9-]*$/

/** Keys of the section `environment` that every setting has. */
const RESERVED = Object.keys(configSchema.shape.environment.unwrap().shape)

/** The name of a command of a setting. */
export const commandName = z.string().regex(NAME, 'expected small letters, digits and -')

/** The name of a setting. A section of its name must not take the place of a key. */
export const settingName = commandName.refine((name) => !RESERVED.includes(name), {
  error: ({ input }) => `environment.${input} is a key already`,
})
