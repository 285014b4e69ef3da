/** Building blocks of the schema's sections. */

import { z } from 'zod'

export const seconds = z.number().positive()
export const count = z.int().nonnegative()
export const positive = z.int().positive()
export const share = z.number().min(0).max(1)
/** A path or a package with something of a user's own; null for none. */
export const moduleName = z.string().min(1).nullable().default(null)
/** An object whose keys all have defaults: it may be left out. */
export const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape).prefault({} as z.input<z.ZodObject<Shape>>)

/** The fine points of a section, which few runs change. A key of this map may be written without `expert` too. */
export const expert = <Shape extends z.ZodRawShape>(shape: Shape) =>
  section(shape).describe('Fine points that few runs change.')

/** Returns the type of a rule's name: one of ours, or of the module that `learning.module` names. */
export const rule = (ours: string) => z.string().min(1).default(ours)
