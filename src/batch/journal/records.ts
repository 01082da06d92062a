import { crc32 } from 'node:zlib'
import * as z from 'zod'
import { blockchain } from '../../api/fields.ts'
import { type PackedRows, packedRows } from './packed-rows.ts'

/** The format of the journal. A journal of a higher one is refused, never guessed at. */
export const JOURNAL_VERSION = 3
/** Before it rows without an id had other keys: gone on with, they would be taken for new ones. */
export const OLDEST_VERSION = 3

/** Opens the file: what the run is. */
export const runRecord = z.object({
  t: z.literal('run'),
  v: z.number(),
  id: z.string(),
  name: z.string(),
  /** What tells the run's server from others: its origin, or for one on this machine the ID of its backend. */
  origin: z.string(),
  /** Where the server was at the start. Missing in a journal of an older gdn, as the next two are. */
  url: z.string().optional(),
  /** The ID and the incarnation of its backend; null for a server without them. */
  backend: z.string().nullable().optional(),
  incarnation: z.string().nullable().optional(),
  blockchain,
  contract: z.string(),
  manifest: z.string().nullable(),
  run_name: z.string().nullable(),
  chunk_size: z.number(),
  in_order: z.boolean(),
  generation: z.number(),
  /** Ordered with `--again`: rows that other runs have are minted again on purpose. */
  again: z.boolean().optional(),
  /** The metadata key that holds each row's marker. */
  marker: z.string().optional(),
  /** How the flags had the manifest read: its options, as JSON. */
  reading: z.record(z.string(), z.unknown()).optional(),
  at: z.string(),
})

/** How many rows there are as this start of the run found them, and which known ones left the manifest. */
const planRecord = z.object({
  t: z.literal('plan'),
  rows: z.number(),
  /** Request and position of each. */
  dropped: z.array(z.tuple([z.number(), z.number()])),
  /** Request and position of sent rows that are not in the manifest anymore, confirmed by `--new-rows`. */
  replaced: z.array(z.tuple([z.number(), z.number()])).optional(),
  /** Request and position of failed, rejected and absent rows that this start may send again. */
  retried: z.array(z.tuple([z.number(), z.number()])).optional(),
  at: z.string(),
})

/** A local file is in the server's storage. */
const uploadRecord = z.object({ t: z.literal('upload'), sha256: z.string(), url: z.string() })

/** About to be sent. Synced before a byte leaves; `body` is what is sent, and what is sent again. */
const intentRecord = z.object({
  t: z.literal('intent'),
  n: z.number(),
  endpoint: z.enum(['createnft', 'createnfttrans']),
  key: z.string(),
  body: z.string(),
  /** Key, line and content of each row. */
  rows: z.array(z.tuple([z.string(), z.number(), z.string()])),
  at: z.number(),
})

/** About to be sent again, after attempts that are known to have had no effect. Synced as an intent is. */
const againRecord = z.object({ t: z.literal('again'), n: z.number() })

/** What a request came to. A request without one, found at start, is unknown. */
const answerRecord = z.object({
  t: z.literal('answer'),
  n: z.number(),
  outcome: z.enum(['accepted', 'refused', 'unknown', 'no_effect']),
  status: z.number().nullable(),
  ids: z.array(z.string()).optional(),
  message: z.string().optional(),
  at: z.number(),
})

/** Which id is which row's, where the order of the answer turned out not to tell; null where nothing tells. */
const orderRecord = z.object({ t: z.literal('order'), n: z.number(), ids: z.array(z.string().nullable()) })

/**
 * What the collection told of rows whose outcome wasn't known, or a person did. A position that is in none of the
 * lists went by another request since, and is not this one's any more.
 */
const reconciledRecord = z.object({
  t: z.literal('reconciled'),
  n: z.number(),
  /** By position, also those known before; null where none is. */
  ids: z.array(z.string().nullable()),
  /** Position, and what the absence rests on. */
  absent: z.array(z.tuple([z.number(), z.enum(['later_rows', 'time_alone', 'person'])])),
  undecided: z.array(z.tuple([z.number(), z.string()])),
  at: z.number(),
})

/** Rows that were minted before there was this journal: a request that this run never sent. */
const foundRecord = z.object({
  t: z.literal('found'),
  n: z.number(),
  receiver: z.string(),
  rows: z.array(z.tuple([z.string(), z.number(), z.string()])),
  ids: z.array(z.string()),
  /** Request and position of rows of this journal that got another key: they are these rows now. */
  from: z.array(z.tuple([z.number(), z.number()])).optional(),
  at: z.number(),
})

/** The end of an NFT. Written without haste: it can be asked for again. */
const nftRecord = z.object({
  t: z.literal('nft'),
  n: z.number(),
  /** Which row of the request. */
  p: z.number(),
  id: z.string(),
  status: z.enum(['deployed', 'failed']),
  token_id: z.string().nullable(),
  contract: z.string(),
  receiver: z.string(),
  url: z.string().nullable(),
  error: z.string().nullable(),
})

/** The backend as it answered at a start of the run, where that differs from what was recorded before. */
const backendRecord = z.object({
  t: z.literal('backend'),
  url: z.string(),
  id: z.string().nullable(),
  incarnation: z.string().nullable(),
  /** Its data were restored from a backup: how NFTs ended must be asked anew, and keys mean nothing to it. */
  restored: z.boolean(),
  at: z.number(),
})

/** NFTs of a request that a restored backend no longer knows. */
const lostRecord = z.object({
  t: z.literal('lost'),
  n: z.number(),
  /** By position; null where none is known any more. */
  ids: z.array(z.string().nullable()),
  /** Position and former ID. */
  lost: z.array(z.tuple([z.number(), z.string()])),
  at: z.number(),
})

/** Every row has come to its end, and that was told. */
const endRecord = z.object({ t: z.literal('end'), at: z.string() })

export const journalRecord = z.discriminatedUnion('t', [
  runRecord,
  planRecord,
  uploadRecord,
  intentRecord,
  againRecord,
  answerRecord,
  orderRecord,
  reconciledRecord,
  foundRecord,
  nftRecord,
  backendRecord,
  lostRecord,
  endRecord,
])

export type JournalRecord = z.output<typeof journalRecord>
export type RunRecord = z.output<typeof runRecord>
export type IntentRecord = z.output<typeof intentRecord>
export type AnswerRecord = z.output<typeof answerRecord>
export type OrderRecord = z.output<typeof orderRecord>
export type ReconciledRecord = z.output<typeof reconciledRecord>
export type BackendRecord = z.output<typeof backendRecord>
export type LostRecord = z.output<typeof lostRecord>
export type FoundRecord = z.output<typeof foundRecord>
export type NftEndRecord = z.output<typeof nftRecord>

const CRC_DIGITS = 8

/** One line: the CRC-32 of the JSON in hex, a space, the JSON. */
export function encodeRecord(record: JournalRecord): Buffer {
  const json = Buffer.from(JSON.stringify(record))
  const crc = crc32(json).toString(16).padStart(CRC_DIGITS, '0')
  return Buffer.concat([Buffer.from(`${crc} `), json, Buffer.from('\n')])
}

/** The record of a line (without its line end), or null if the line isn't as it was written. */
export function decodeRecord(line: Buffer): JournalRecord | null {
  const json = jsonOf(line)
  if (json === null) return null
  const parsed = journalRecord.safeParse(JSON.parse(json.toString('utf8')))
  return parsed.success ? parsed.data : null
}

/** The JSON of a line whose checksum is right. */
function jsonOf(line: Buffer): Buffer | null {
  const json = line.subarray(CRC_DIGITS + 1)
  const crc = line.toString('latin1', 0, CRC_DIGITS + 1)
  const isRight = json.length > 0 && crc === `${crc32(json).toString(16).padStart(CRC_DIGITS, '0')} `
  return isRight ? json : null
}

const INTENT = Buffer.from('{"t":"intent","n":')
const ANSWER = Buffer.from('{"t":"answer","n":')
// Nothing before it holds this: inside a string a quote stands after a backslash.
const ROWS = Buffer.from(',"rows":[')
const MAX_DIGITS = 16
const OUTCOMES: ReadonlySet<unknown> = new Set(['accepted', 'refused', 'unknown', 'no_effect'])

/** A record as a ledger takes it: to fold a journal, the bodies of requests aren't needed, and are most of it. */
export type FoldedRecord = Exclude<JournalRecord, IntentRecord> | FoldedIntent

/** Its rows as they are, or packed where they can be. */
export type FoldedIntent = Pick<IntentRecord, 't' | 'n' | 'rows'> | { t: 'intent'; n: number; packed: PackedRows }

/**
 * As `decodeRecord`, but of an intent only what is folded. What there may be a million of is checked by hand here; what
 * isn't as expected is left to the schema.
 */
export function decodeForFold(line: Buffer): FoldedRecord | null {
  const json = jsonOf(line)
  if (json === null) return null
  if (startsWith(json, INTENT)) return foldedIntent(json) ?? decodeRecord(line)
  if (startsWith(json, ANSWER)) return foldedAnswer(json) ?? decodeRecord(line)
  return decodeRecord(line)
}

function foldedIntent(json: Buffer): FoldedRecord | null {
  // From the end: the rows are a small part of it, and stand there.
  const at = json.lastIndexOf(ROWS)
  const n = Number.parseInt(json.toString('latin1', INTENT.length, INTENT.length + MAX_DIGITS), 10)
  if (at < 0 || !Number.isSafeInteger(n)) return null
  const packed = packedRows(json, at + ROWS.length)
  if (packed !== null) return { t: 'intent', n, packed }
  const { rows } = JSON.parse(`{${json.toString('utf8', at + 1)}`) as Pick<IntentRecord, 'rows'>
  return Array.isArray(rows) && rows.every(isRow) ? { t: 'intent', n, rows } : null
}

function foldedAnswer(json: Buffer): AnswerRecord | null {
  const answer = JSON.parse(json.toString('utf8')) as AnswerRecord
  const { n, outcome, status, ids } = answer
  const isRight = typeof n === 'number' && OUTCOMES.has(outcome) && (status === null || typeof status === 'number')
  return isRight && (ids === undefined || (Array.isArray(ids) && ids.every(isText))) ? answer : null
}

const isText = (value: unknown): boolean => typeof value === 'string'
const isRow = ([key, line, content]: readonly unknown[]): boolean =>
  typeof key === 'string' && typeof line === 'number' && typeof content === 'string'

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.length >= start.length && bytes.compare(start, 0, start.length, 0, start.length) === 0
}
