import { type FileHandle, open } from 'node:fs/promises'
import { GdnError, systemCode } from '../../core/errors.ts'
import { readLines, readSpan, type Span } from '../lines.ts'
import {
  decodeForFold,
  decodeRecord,
  type FoldedRecord,
  JOURNAL_VERSION,
  type JournalRecord,
  OLDEST_VERSION,
  type RunRecord,
} from './records.ts'

const damaged = (path: string, line: number, what: string) =>
  new GdnError('data_dir', `the journal ${path} is damaged: line ${line} ${what}`, {
    place: { file: path, line },
    hint: 'nothing was sent. Restore the file from a backup. Without one, look up in the collection what was minted, then order what is missing with --again, which leaves this file as it is',
  })

/** A journal as it was read. */
export interface JournalEnd {
  run: RunRecord
  /** The length up to which the file is whole. */
  end: number
  /** Whether the last line is whole but for its end. */
  lacksLineEnd: boolean
}

/**
 * Reads a journal from its beginning. A last line that was cut is what a crash leaves, or what another process is just
 * writing: it was never acted upon, and isn't told. Any other line that isn't as it was written is damage.
 *
 * @throws GdnError `data_dir`: damaged, or made by a newer gdn
 */
export function readJournal(path: string, onRecord: (record: JournalRecord, span: Span) => void): Promise<JournalEnd> {
  return readRecords(path, onRecord, decodeRecord)
}

/** As `readJournal`, with no more of the records than a ledger takes. */
export function foldJournal(path: string, onRecord: (record: FoldedRecord, span: Span) => void): Promise<JournalEnd> {
  return readRecords(path, onRecord, decodeForFold)
}

async function readRecords<Kind extends FoldedRecord>(
  path: string,
  onRecord: (record: Kind, span: Span) => void,
  decode: (line: Buffer) => Kind | null,
): Promise<JournalEnd> {
  const file = await open(path, 'r')
  let run: RunRecord | null = null
  let end = 0
  let count = 0
  let lacksLineEnd = false
  try {
    for await (const { line, span, ended } of readLines(file)) {
      count++
      const record = decode(line)
      if (record === null) {
        const newer = count === 1 ? newerVersion(line) : null
        if (newer !== null) throw madeByNewer(path, newer)
        // A whole line whose end became another character would look cut, and may be an intent that was acted upon.
        if (!ended && decodeRecord(line.subarray(0, -1)) === null) break
        throw damaged(path, count, 'is not as it was written')
      }
      if (count === 1) {
        if (record.t !== 'run') throw damaged(path, 1, 'is not the header')
        if (record.v > JOURNAL_VERSION) throw madeByNewer(path, record.v)
        if (record.v < OLDEST_VERSION) throw madeByOlder(path, record.v, record.id)
        run = record
      } else if (record.t === 'run') throw damaged(path, count, 'is a second header')
      else onRecord(record, span)
      lacksLineEnd = !ended
      end = span.offset + span.length + (ended ? 1 : 0)
    }
  } finally {
    await file.close()
  }
  if (run === null) throw damaged(path, 1, 'is missing')
  return { run, end, lacksLineEnd }
}

const madeByNewer = (path: string, version: number) =>
  new GdnError('data_dir', `the journal ${path} was made by a newer gdn (format ${version})`, {
    hint: 'update gdn; nothing was sent',
  })

const madeByOlder = (path: string, version: number, id: string) =>
  new GdnError(
    'data_dir',
    `the journal ${path} was made by an older gdn (format ${version}), which named rows otherwise`,
    {
      hint: `nothing was sent. Go on with it by the gdn that made it; what is finished can be removed: gdn batch rm ${id}`,
    },
  )

/** The version of a header whose shape we don't know. */
function newerVersion(line: Buffer): number | null {
  const match = /^[0-9a-f]{8} \{"t":"run","v":([0-9]+),/.exec(line.toString('latin1', 0, 64))
  const version = Number(match?.[1] ?? 0)
  return version > JOURNAL_VERSION ? version : null
}

/** The header of a journal alone; null where the file vanished. */
export async function readHeader(path: string): Promise<RunRecord | null> {
  try {
    const file = await open(path, 'r')
    try {
      for await (const { line } of readLines(file)) {
        const record = decodeRecord(line)
        return record?.t === 'run' && record.v <= JOURNAL_VERSION ? record : null
      }
      return null
    } finally {
      await file.close()
    }
  } catch (error) {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  }
}

/** Reads single records again by their places: what is big stays on the disk. */
export class RecordFile {
  readonly #file: FileHandle
  readonly #path: string

  private constructor(file: FileHandle, path: string) {
    this.#file = file
    this.#path = path
  }

  static async open(path: string): Promise<RecordFile> {
    return new RecordFile(await open(path, 'r'), path)
  }

  async read<Kind extends JournalRecord['t']>(
    span: Span,
    ...kinds: Kind[]
  ): Promise<Extract<JournalRecord, { t: Kind }>> {
    const line = await readSpan(this.#file, span)
    const record = line === null ? null : decodeRecord(line)
    const is = (found: JournalRecord): found is Extract<JournalRecord, { t: Kind }> =>
      kinds.some((kind) => kind === found.t)
    if (record === null || !is(record))
      throw damaged(this.#path, 0, `at byte ${span.offset} changed while the run went on`)
    return record
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}
