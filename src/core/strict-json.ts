import { type ErrorCode, GdnError } from './errors.ts'
import { UNSAFE_KEYS } from './json.ts'

const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y
const LITERAL = /true|false|null/y
const SPACE = /[ \t\r\n]*/y
const MAX_DEPTH = 100

class JsonProblem {
  readonly offset: number
  readonly message: string

  constructor(offset: number, message: string) {
    this.offset = offset
    this.message = message
  }
}

/**
 * Parses JSON that a user wrote. Rejects JSON that JSON.parse accepts silently: repeated keys, of which one value would
 * be lost, `__proto__`, and unlimited nesting. Errors contain the line and column.
 *
 * @param file the file name to show in error messages
 * @throws GdnError of the given code
 */
export function parseStrictJson(text: string, file: string, code: ErrorCode): unknown {
  const problem = findProblem(text)
  if (problem !== null)
    throw new GdnError(code, problem.message, { place: { file, ...lineAndColumn(text, problem.offset) } })
  return JSON.parse(text)
}

function findProblem(text: string): JsonProblem | null {
  if (text.startsWith('\ufeff'))
    return new JsonProblem(0, 'begins with a byte order mark: save the file as UTF-8 without one')
  try {
    const end = skipSpace(text, scanValue(text, skipSpace(text, 0), 0))
    return end === text.length ? null : new JsonProblem(end, 'has text after the end of the JSON')
  } catch (error) {
    if (error instanceof JsonProblem) return error
    throw error
  }
}

function scanValue(text: string, at: number, depth: number): number {
  if (depth > MAX_DEPTH) throw new JsonProblem(at, `is nested deeper than ${MAX_DEPTH} levels`)
  const char = text[at]
  if (char === '{') return scanObject(text, at, depth)
  if (char === '[') return scanArray(text, at, depth)
  const end = match(STRING, text, at) ?? match(NUMBER, text, at) ?? match(LITERAL, text, at)
  if (end !== undefined) return end
  throw new JsonProblem(at, unexpectedMessage(text, at, 'a value'))
}

function scanObject(text: string, start: number, depth: number): number {
  const keys = new Set<string>()
  let at = skipSpace(text, start + 1)
  if (text[at] === '}') return at + 1
  for (;;) {
    const keyEnd = match(STRING, text, at)
    if (keyEnd === undefined) throw new JsonProblem(at, unexpectedMessage(text, at, 'a key in double quotes'))
    const key: string = JSON.parse(text.slice(at, keyEnd))
    if (UNSAFE_KEYS.has(key)) throw new JsonProblem(at, `"${key}" is not allowed as a key`)
    if (keys.has(key)) throw new JsonProblem(at, `"${key}" is repeated`)
    keys.add(key)
    at = expect(text, skipSpace(text, keyEnd), ':')
    at = skipSpace(text, scanValue(text, skipSpace(text, at), depth + 1))
    if (text[at] === '}') return at + 1
    at = skipSpace(text, expect(text, at, ','))
  }
}

function scanArray(text: string, start: number, depth: number): number {
  let at = skipSpace(text, start + 1)
  if (text[at] === ']') return at + 1
  for (;;) {
    at = skipSpace(text, scanValue(text, at, depth + 1))
    if (text[at] === ']') return at + 1
    at = skipSpace(text, expect(text, at, ','))
  }
}

function expect(text: string, at: number, char: string): number {
  if (text[at] === char) return at + 1
  throw new JsonProblem(at, unexpectedMessage(text, at, `"${char}"`))
}

function unexpectedMessage(text: string, at: number, expected: string): string {
  if (text[at] === '"' && match(STRING, text, at) === undefined) return 'has an unterminated or invalid string'
  return at >= text.length
    ? `ends where ${expected} is expected`
    : `has ${JSON.stringify(text[at])} where ${expected} is expected`
}

function match(pattern: RegExp, text: string, at: number): number | undefined {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : undefined
}

function skipSpace(text: string, at: number): number {
  return match(SPACE, text, at) ?? at
}

function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 }
}
