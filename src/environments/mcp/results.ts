/** Results of tools as texts for a model. */
import { namedFile } from '../sessions/files.ts'
import type { CallToolResult } from './server.ts'

/**
 * Returns the text parts of a result. Other parts are told by type, size and digest. Structured content is JSON, if no text part has it.
 *
 * @param files takes the files of the other parts
 * @example textOf({ content: [{ type: 'text', text: 'a' }, { type: 'text', text: 'b' }] }) // 'a\nb'
 */
export function textOf({ content, structuredContent }: CallToolResult, files: Uint8Array[] = []): string {
  const parts = content.map((part) => {
    if (part.type === 'text') return part.text
    if (part.type === 'image' || part.type === 'audio')
      return namedFile(part.type, part.mimeType, part.data, files)
    if (part.type === 'resource_link') return `[resource: ${part.uri}]`
    const { resource } = part
    if ('text' in resource) return resource.text
    const named = `${resource.uri}, ${resource.mimeType ?? 'unknown type'}`
    return namedFile('resource', named, resource.blob, files)
  })
  const told = structuredContent === undefined ? '' : JSON.stringify(structuredContent)
  const isTold = told === '' || parts.some((part) => sameJson(part, told))
  return [...parts, ...(isTold ? [] : [told])].join('\n')
}

function sameJson(text: string, json: string): boolean {
  if (!text.startsWith('{')) return false
  try {
    return JSON.stringify(JSON.parse(text)) === json
  } catch {
    return false
  }
}
