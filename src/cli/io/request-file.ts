import { decodeUtf8, readText } from '../../config/read-text.ts'
import { GdnError } from '../../core/errors.ts'
import { parseStrictJson } from '../../core/strict-json.ts'
import type { Io } from './io.ts'

const MAX_REQUEST_BYTES = 64 * 1024 * 1024

/** Reads the text of `-f file`, or standard input for `-`. */
export async function readInput(io: Io, path: string): Promise<string> {
  if (path !== '-') return await readText(path, MAX_REQUEST_BYTES, 'invalid_input')
  if (io.stdin.isTTY) io.note('Reading from the terminal. Press Ctrl-D to end.')
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of io.stdin) {
    const bytes = Buffer.from(chunk as Uint8Array | string)
    size += bytes.length
    if (size > MAX_REQUEST_BYTES)
      throw new GdnError('invalid_input', `is larger than ${MAX_REQUEST_BYTES} bytes`, { place: { file: 'stdin' } })
    chunks.push(bytes)
  }
  return decodeUtf8(Buffer.concat(chunks), 'stdin', 'invalid_input')
}

export const toInputName = (path: string) => (path === '-' ? 'stdin' : path)

const isDryRun = (value: object) => ['method', 'url', 'body'].every((name) => Object.hasOwn(value, name))

/** Parses a request's JSON object, and removes the `$schema` field. */
export function parseRequest(text: string, file: string): Record<string, unknown> {
  if (text.trim() === '')
    throw new GdnError('invalid_input', 'is empty', { place: { file }, hint: 'Pass a JSON request.' })
  const value = parseStrictJson(text.replace(/^\ufeff/, ''), file, 'invalid_input')
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
    if (isDryRun(value)) {
      throw new GdnError('invalid_input', 'is the output of --dry-run, which contains the request in "body"', {
        place: { file },
        hint: 'Pass only the body: `… --dry-run | jq .body`.',
      })
    }
    const { $schema, ...request } = value as Record<string, unknown>
    // Editors use `$schema` to find the JSON Schema. It isn't part of the request.
    return typeof $schema === 'string' ? request : { ...value }
  }
  throw new GdnError('invalid_input', 'must be a JSON object: one request', { place: { file } })
}
