/** Images and texts in the messages of a chat. */
import { RlError } from '../errors.ts'
import type { ChatMessage, ImageRef } from './port.ts'

/** Returns the images of a chat, in order. */
export function imagesOf(messages: readonly ChatMessage[]): readonly ImageRef[] {
  return messages.flatMap(({ content }) =>
    typeof content === 'string' ? [] : content.flatMap((part) => (part.type === 'image' ? [part.image] : [])),
  )
}

/**
 * Returns the text of a message, for a model that reads text alone.
 * @throws RlError `model.unsupported` if the message holds an image
 */
export function textOf({ role, content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return content
    .map((part) => {
      if (part.type === 'text') return part.text
      const { mediaType, width, height, sha256 } = part.image
      throw new RlError(
        `a message of '${role}' holds an image (${mediaType}, ${width} x ${height}, ${sha256.slice(0, 12)}), and this model reads text alone`,
        {
          code: 'model.unsupported',
          hint: 'ask a model that sees, behind provider openai; or set frames to 0',
        },
      )
    })
    .join('')
}
