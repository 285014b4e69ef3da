/** A file under version control that follows from the code. */
export type GeneratedDoc = {
  /** Path from the project's root. */
  readonly path: string
  readonly text: string
}
