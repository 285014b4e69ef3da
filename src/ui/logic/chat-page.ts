/** Answer with the chat of an agent and its model. Texts are cut. */

export type ChatMessage = {
  readonly role: string
  readonly text: string
  readonly reasoning: string | null
  /** Id of the call of a tool that it answers. */
  readonly answers: string | null
  readonly calls: readonly { readonly id: string; readonly name: string; readonly input: string }[]
}

export type ChatCall = {
  /** Number of messages of the call before that it begins with. */
  readonly kept: number
  /** Number of its first new messages that are left out. */
  readonly left: number
  readonly messages: readonly ChatMessage[]
  /** Names of tools, if others are offered than before. */
  readonly offered: readonly string[]
  readonly answer: ChatMessage
  readonly model: string
  readonly finish: string
}

export type ChatPage = {
  readonly rollout: string
  readonly position: number
  readonly calls: readonly ChatCall[]
  /** Number of last calls that are left out. */
  readonly left: number
}
