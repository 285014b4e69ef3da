/** Results of tools as texts for a model. */
import type { CallToolResult } from './server.ts'

/**
 * Returns the text parts of a result. Other parts are told by type and size. Structured content is JSON, if no text part has it.
 *
 * @example textOf({ content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }] }) // 'a\nb'
 */
export function textOf({ content, structuredContent }: CallToolResult): string {
  const parts = content.map((part) => {
    if (part.type === 'text') return part.text
    if (part.type === 'image' || part.type === 'audio')
      return `[${part.type}: ${part.mimeType}, ${bytesOf(part.data)} bytes]`
    if (part.type === 'resource_link') return `[resource: ${part.uri}]`
    const { resource } = part
    if ('text' in resource) return resource.text
    return `[resource: ${resource.uri}, ${resource.mimeType ?? 'unknown type'}, ${bytesOf(resource.blob)} bytes]`
  })
  const told = structuredContent === undefined ? '' : JSON.stringify(structuredContent)
  const isTold = told === '' || parts.some((part) => sameJson(part, told))
  return [...parts, ...(isTold ? [] : [told])].join('\n')
}

/** Bytes of a text in base64. */
const bytesOf = (data: string): number => Math.floor((data.length * 3) / 4)

function sameJson(text: string, json: string): boolean {
  if (!text.startsWith('{')) return false
  try {
    return JSON.stringify(JSON.parse(text)) === json
  } catch {
    return false
  }
}
