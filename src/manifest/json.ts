import { messageOf } from '../core/errors.ts'
import { countMembers, repeatedKey, scanMembers, scanValue, skipWhite } from '../core/json-scan.ts'
import { ManifestError } from './manifest-error.ts'
import type { ManifestIssue } from './row.ts'

/** An entry of a JSON manifest: its value and the line on which it begins, or its problem. */
export type JsonRecord = { line: number; value: Record<string, unknown> } | { issue: ManifestIssue }

/** The members of a createnft or createnfttrans request, except `metadata`. */
export interface RequestHead {
  line: number
  members: Record<string, unknown>
}

export interface JsonFile {
  /** The members of a complete request, or null. In a complete request, the entries are metadata objects. */
  request: RequestHead | null
  records: AsyncIterable<JsonRecord>
}

const MAX_ENTRY_CHARACTERS = 4 * 1024 * 1024
const MAX_REQUEST_CHARACTERS = 256 * 1024 * 1024
const MAX_DEPTH = 32

/** Opens a JSON manifest. Reads a list in chunks, and a single object as a whole. Returns null for empty text. */
export async function openJson(text: AsyncIterable<string>, file: string): Promise<JsonFile | null> {
  const input = new TextWindow(text)
  await input.skipWhite()
  const first = input.char()
  if (first === '') return null
  if (first === '[') return { request: null, records: listEntries(input, file) }
  if (first !== '{') {
    throw new ManifestError({
      place: { file, line: input.line },
      message: 'is not a JSON manifest: it begins with neither [ nor {',
      hint: 'Use a list of rows, or a createnft request.',
    })
  }
  return await openObject(input, file)
}

/** Reads one object per line. */
export async function* jsonLines(text: AsyncIterable<string>, file: string): AsyncIterable<JsonRecord> {
  let rest = ''
  let line = 1
  for await (const piece of text) {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const content of lines) {
      if (content.trim() !== '') yield parseEntry(content, { file, line })
      line++
    }
    if (rest.length > MAX_ENTRY_CHARACTERS) throw tooLongError(file, line)
  }
  if (rest.trim() === '') return
  const record = parseEntry(rest, { file, line })
  const isCut = 'issue' in record && scanValue(rest.trimStart(), 0) === null
  yield isCut
    ? {
        issue: { place: { file, line }, message: 'the last line is cut off', hint: 'Check that the file is complete.' },
      }
    : record
}

async function* listEntries(input: TextWindow, file: string): AsyncIterable<JsonRecord> {
  const listLine = input.line
  input.advance(1)
  for (let isFirst = true; ; isFirst = false) {
    await input.skipWhite()
    if (input.char() === ']' && isFirst) break
    const { line } = input
    const mark = input.char()
    if (mark !== '' && ',:]}'.includes(mark)) {
      throw new ManifestError({ place: { file, line }, message: `has "${mark}" where an entry is expected` })
    }
    const scanned = await input.scan((length) => {
      if (length > MAX_ENTRY_CHARACTERS) throw tooLongError(file, line)
    })
    if (scanned === null) {
      const message =
        input.char() === '' ? `ends inside the list that begins on line ${listLine}` : 'ends in the middle of an entry'
      throw new ManifestError({ place: { file, line }, message, hint: 'Check that the file is complete.' })
    }
    yield parseEntry(scanned.text, { file, line }, scanned)
    await input.skipWhite()
    const next = input.char()
    if (next === ']') break
    if (next !== ',') {
      const message =
        next === '' ? `ends inside the list that begins on line ${listLine}` : `has "${next}" where , or ] is expected`
      throw new ManifestError({ place: { file, line: input.line }, message })
    }
    input.advance(1)
  }
  input.advance(1)
  await expectEnd(input, file)
}

async function openObject(input: TextWindow, file: string): Promise<JsonFile> {
  const { line } = input
  const scanned = await input.scan((length) => {
    if (length <= MAX_REQUEST_CHARACTERS) return
    const message = `is longer than ${MAX_REQUEST_CHARACTERS / 1024 / 1024} million characters`
    throw new ManifestError({
      place: { file, line },
      message,
      hint: 'Use a list of rows, or one row per line (.jsonl).',
    })
  })
  if (scanned === null) {
    throw new ManifestError({ place: { file, line }, message: 'ends in the middle of the object that begins here' })
  }
  await expectEnd(input, file)
  const record = parseEntry(scanned.text, { file, line }, scanned)
  // This member refers to a JSON Schema for editors.
  if ('value' in record && typeof record.value.$schema === 'string') delete record.value.$schema
  if ('issue' in record || !Object.hasOwn(record.value, 'metadata'))
    return { request: null, records: asAsync([record]) }
  const { metadata: _metadata, ...members } = record.value
  return { request: { line, members }, records: asAsync(metadataEntries(scanned.text, { file, line })) }
}

/** Returns the metadata objects of a request, each with its line. */
function* metadataEntries(text: string, { file, line }: { file: string; line: number }): Iterable<JsonRecord> {
  const metadata = scanMembers(text, 0).find(({ key }) => key === 'metadata')
  if (metadata === undefined) return
  const entry = (start: number, end: number) =>
    parseEntry(text.slice(start, end), { file, line: line + countLineBreaks(text.slice(0, start)) })
  if (text[metadata.start] !== '[') return yield entry(metadata.start, metadata.end)
  for (let at = skipWhite(text, metadata.start + 1); text[at] !== ']'; ) {
    const value = scanValue(text, at)
    if (value === null) return
    yield entry(at, value.end)
    at = skipWhite(text, value.end)
    if (text[at] === ',') at = skipWhite(text, at + 1)
  }
}

async function expectEnd(input: TextWindow, file: string): Promise<void> {
  await input.skipWhite()
  if (input.char() === '') return
  const place = { file, line: input.line }
  throw new ManifestError({
    place,
    message: 'has text after its end',
    hint: 'For one row per line, name the file .jsonl.',
  })
}

function parseEntry(
  text: string,
  place: { file: string; line: number },
  scanned = scanValue(text, skipWhite(text, 0)),
): JsonRecord {
  if (scanned !== null && scanned.depth > MAX_DEPTH) {
    return { issue: { place, message: `is nested ${scanned.depth} levels deep, which is too deep for metadata` } }
  }
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { issue: syntaxIssue(text, place, error) }
  }
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    const kind = value === null ? 'null' : Array.isArray(value) ? 'a list' : `a ${typeof value}`
    return { issue: { place, message: `is ${kind}, but a row must be an object` } }
  }
  if (scanned !== null && countMembers(value) < scanned.members) {
    const duplicate = repeatedKey(text)
    if (duplicate !== null) {
      const line = place.line + countLineBreaks(text.slice(0, duplicate.index))
      const message = `the key "${duplicate.key}" is repeated`
      return { issue: { place: { ...place, line, field: duplicate.key }, message, hint: 'Remove one of the keys.' } }
    }
  }
  return { line: place.line, value: value as Record<string, unknown> }
}

/** Converts an error of JSON.parse to a problem with line and column. */
function syntaxIssue(text: string, place: { file: string; line: number }, error: unknown): ManifestIssue {
  const parserMessage = messageOf(error)
  const position = /\bat position (\d+)/.exec(parserMessage)?.[1]
  const reason = parserMessage
    .replace(/ in JSON at position.*$|, "[\s\S]*$|, \.\.\."[\s\S]*$/, '')
    .replace(/^./, (letter) => letter.toLowerCase())
  const message = `is not valid JSON: ${reason}`
  if (position === undefined) return { place, message }
  const before = text.slice(0, Number(position))
  const column = before.length - before.lastIndexOf('\n')
  return { place: { ...place, line: place.line + countLineBreaks(before), column }, message }
}

function tooLongError(file: string, line: number): ManifestError {
  const message = `the entry is longer than ${MAX_ENTRY_CHARACTERS / 1024 / 1024} million characters`
  return new ManifestError({ place: { file, line }, message })
}

async function* asAsync<Item>(items: Iterable<Item>): AsyncIterable<Item> {
  yield* items
}

function countLineBreaks(text: string): number {
  let breaks = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) breaks++
  return breaks
}

/** A moving window over a long text. Tracks the line on which the window begins. */
class TextWindow {
  readonly #input: AsyncIterator<string>
  #text = ''
  #at = 0
  #line = 1
  #done = false

  constructor(text: AsyncIterable<string>) {
    this.#input = text[Symbol.asyncIterator]()
  }

  get line(): number {
    return this.#line
  }

  /** Returns the next character, or '' at the end of the text. Call it only after `skipWhite`. */
  char(): string {
    return this.#text[this.#at] ?? ''
  }

  advance(characters: number): void {
    const end = this.#at + characters
    this.#line += countLineBreaks(this.#text.slice(this.#at, end))
    this.#at = end
  }

  async skipWhite(): Promise<void> {
    do this.advance(skipWhite(this.#text, this.#at) - this.#at)
    while (this.#at >= this.#text.length && (await this.#more()))
  }

  /**
   * Reads the next value. Returns null if the text ends before the value is complete.
   *
   * @param check receives the length that has been read so far, and throws if it exceeds a limit
   */
  async scan(
    check: (length: number) => void,
  ): Promise<{ text: string; end: number; members: number; depth: number } | null> {
    for (let wantedLength = 0; ; ) {
      const length = this.#text.length - this.#at
      if (length >= wantedLength || this.#done) {
        const scanned = scanValue(this.#text, this.#at)
        if (scanned !== null) {
          const text = this.#text.slice(this.#at, scanned.end)
          check(text.length)
          this.advance(text.length)
          return { ...scanned, text }
        }
        check(length)
        // Scan again only when the length has doubled, so that the total work stays linear.
        wantedLength = length * 2
      }
      if (this.#done) return null
      await this.#more()
    }
  }

  async #more(): Promise<boolean> {
    if (this.#done) return false
    const next = await this.#input.next()
    if (next.done === true) {
      this.#done = true
      return false
    }
    this.#text = this.#text.slice(this.#at) + next.value
    this.#at = 0
    return true
  }
}
