import { isMap, isPair, isScalar, LineCounter, type Node, type ParsedNode, parseDocument, visit } from 'yaml'
import type * as z from 'zod'
import { GdnError, type Place } from '../core/errors.ts'
import { type FieldIssue, validate } from './validate.ts'

/** A parsed file, and the locations of its fields. */
export interface ParsedYaml<Value> {
  value: Value
  /** Returns the location of a field in the file. */
  placeOf(path: readonly (string | number)[]): Place
}

/**
 * Parses a configuration file: YAML, or JSON, which is valid YAML.
 *
 * @param text the content of the file
 * @param file the name of the file, for messages
 * @throws GdnError `invalid_config` with the file, line, column and field of the first problem. `details` contains
 *   all problems.
 */
export function parseYaml<Schema extends z.ZodType>(schema: Schema, text: string, file: string): z.output<Schema> {
  return parseYamlWithPlaces(schema, text, file).value
}

/**
 * Like `parseYaml`, for files whose content needs further checks after parsing.
 *
 * @param isText returns whether a number keeps its spelling in the file, such as 007 or 1.10. Its parameter contains
 *   the keys that lead to the number, without list indexes.
 * @throws GdnError the errors of `parseYaml`
 */
export function parseYamlWithPlaces<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  file: string,
  isText: (keys: readonly string[]) => boolean = () => false,
): ParsedYaml<z.output<Schema>> {
  const lines = new LineCounter()
  const uniqueKeys = (a: ParsedNode, b: ParsedNode) => isScalar(a) && isScalar(b) && sourceOf(a) === sourceOf(b)
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, version: '1.2', uniqueKeys })
  const placeAt = (offset: number | undefined): Place => {
    if (offset === undefined) return { file }
    const { line, col } = lines.linePos(offset)
    return { file, line, column: col }
  }
  const problems = [...document.errors, ...document.warnings]
  const tab = problems.map(({ pos }) => indentingTab(text, pos[0])).find((offset) => offset !== null)
  if (tab != null) {
    const message = 'the file is not valid YAML: the line is indented with a tab'
    throw new GdnError('invalid_config', message, { place: placeAt(tab), hint: 'Indent the line with spaces.' })
  }
  const [broken] = problems
  if (broken !== undefined) {
    const [start] = broken.pos
    const [key = ''] = text.slice(start).split(/[:\n]/, 1)
    const problem =
      broken.code === 'DUPLICATE_KEY' ? `the key ${JSON.stringify(key.trim())} is repeated` : broken.message
    throw new GdnError('invalid_config', `the file is not valid YAML: ${problem}`, { place: placeAt(start) })
  }
  visit(document, {
    Pair(_, { key }) {
      // A key such as 007 is a name. As a number, it would change to 7.
      if (isScalar(key)) key.value = sourceOf(key)
      // Reject this key, which the schema would silently omit.
      if (String(key) !== '__proto__') return
      const place = { ...placeAt((key as Node).range?.[0]), field: '__proto__' }
      throw new GdnError('invalid_config', 'is not a known field', { place })
    },
    Scalar(_, node, path) {
      if (typeof node.value !== 'number') return
      if (isText(path.filter(isPair).map(({ key }) => String(key)))) node.value = sourceOf(node)
    },
  })
  const result = validate(
    schema,
    readValue(() => document.toJS({ maxAliasCount: 0 }), file),
  )
  if (result.ok) {
    const placeOf = (path: readonly (string | number)[]) => placeAt(findOffset(document.contents, { path, code: '' }))
    return { value: result.value, placeOf }
  }
  if (document.contents === null) throw new GdnError('invalid_config', 'the file is empty', { place: { file } })
  const issues = result.issues.map((issue) => ({
    place: { ...placeAt(findOffset(document.contents, issue)), ...(issue.field === '' ? {} : { field: issue.field }) },
    message: issue.message,
  }))
  const [first] = issues
  throw new GdnError('invalid_config', first?.message ?? 'the value is not valid here', {
    place: first?.place ?? { file },
    details: { issues },
  })
}

/** Returns the text of a key or value as spelled in the file, without quotes. */
const sourceOf = ({ source, value }: { source?: string | undefined; value: unknown }): string =>
  typeof value === 'string' ? value : (source ?? String(value))

/** Returns the offset of the tab that indents the line at the given offset; null if there is none. */
function indentingTab(text: string, offset: number): number | null {
  const start = text.lastIndexOf('\n', offset - 1) + 1
  const [spaces = ''] = /^ */.exec(text.slice(start)) ?? []
  const tab = start + spaces.length
  return text[tab] === '\t' ? tab : null
}

function readValue(read: () => unknown, file: string): unknown {
  try {
    return read()
  } catch (cause) {
    throw new GdnError('invalid_config', 'the file has YAML aliases, which are not supported', {
      place: { file },
      cause,
    })
  }
}

/**
 * Returns the offset of an invalid field in the text. For an unknown key, this is the offset of the key. For any other
 * field, it is the offset of the value or the parent.
 */
function findOffset(root: Node | null, { path, code }: Pick<FieldIssue, 'path' | 'code'>): number | undefined {
  let node: Node | null | undefined = root
  let offset = root?.range?.[0]
  for (const [depth, part] of path.entries()) {
    const last = depth === path.length - 1
    if (isMap(node)) {
      const pair = node.items.find((item) => isPair(item) && String(item.key) === String(part))
      if (pair === undefined) return offset
      node = (last && code === 'unrecognized_keys' ? pair.key : pair.value) as Node | null
    } else {
      node = (node as { items?: Node[] } | null)?.items?.[Number(part)]
    }
    offset = node?.range?.[0] ?? offset
  }
  return offset
}
