import { flagError, GdnError } from '../../core/errors.ts'
import { scanMembers } from '../../core/json-scan.ts'
import { parseStrictJson } from '../../core/strict-json.ts'
import type { Parse } from '../command.ts'
import { keyValue } from '../flags/common.ts'
import type { Io } from '../io/io.ts'
import { parseRequest, readInput, toInputName } from '../io/request-file.ts'

/** A value of `--field`: a field of the request, or an element of a list field. */
export interface BodyField {
  key: string
  value: unknown
  isElement: boolean
}

/** Parses `key=text`, `key:=json`, `key[]=text` and `key[]:=json`. */
export const bodyField: Parse<BodyField> = (raw, flag) => {
  const pair = keyValue(raw, flag)
  const isJson = pair.key.endsWith(':')
  const name = isJson ? pair.key.slice(0, -1) : pair.key
  const isElement = name.endsWith('[]')
  const key = isElement ? name.slice(0, -2) : name
  if (key === '' || key === '__proto__') throw flagError(flag, `"${key}" is not a valid field name`)
  return { key, value: isJson ? parseStrictJson(pair.value, flag, 'invalid_input') : pair.value, isElement }
}

/** Removes `$schema` from the text of a JSON object. Editors use it to find the JSON Schema. */
function withoutSchema(text: string): string {
  const members = scanMembers(text, text.indexOf('{'))
  const at = members.findIndex(({ key }) => key === '$schema')
  const [before, schema, after] = [members[at - 1], members[at], members[at + 1]]
  if (schema === undefined || text[schema.start] !== '"') return text
  if (before !== undefined) return text.slice(0, before.end) + text.slice(schema.end)
  const rest = after === undefined ? schema.end : text.indexOf(',', schema.end) + 1
  return `{${text.slice(rest)}`
}

/** A request body: the text to send, and the parsed value. */
export interface ApiBody {
  text: string
  value: Record<string, unknown>
}

/**
 * Returns the request body from a file, from fields, or from both. Fields are added to the file's content or replace
 * parts of it.
 */
export async function readApiBody(io: Io, file: string | undefined, fields: readonly BodyField[]): Promise<ApiBody> {
  const text = file === undefined ? '{}' : await readInput(io, file)
  const body = parseRequest(text, file === undefined ? '--field' : toInputName(file))
  // Send the text unchanged, because parsing and formatting would round large numbers.
  if (fields.length === 0) return { text: withoutSchema(text.replace(/^\ufeff/, '')), value: body }
  const isGiven = new Set<string>()
  for (const { key, value, isElement } of fields) {
    if (isElement && isGiven.has(key)) {
      const list = body[key]
      if (Array.isArray(list)) {
        list.push(value)
        continue
      }
    }
    if (isGiven.has(key)) {
      throw new GdnError('usage', `"${key}" is specified twice`, {
        place: { flag: '--field' },
        hint: `Use it once, or add elements of a list with --field '${key}[]=…'.`,
      })
    }
    isGiven.add(key)
    body[key] = isElement ? [value] : value
  }
  return { text: JSON.stringify(body), value: body }
}
