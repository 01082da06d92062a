import { readdir, readFile } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { writeDurably } from '../../core/durable-file.ts'
import { GdnError, systemCode } from '../../core/errors.ts'
import { contentOf, sentMetadata } from '../../operations/reconcile/content.ts'
import { RecordFile, readHeader } from '../journal/read.ts'
import type { RunRecord } from '../journal/records.ts'
import type { Ledger } from '../ledger.ts'
import { loadLedger } from '../open-ledger.ts'
import { ROW } from '../row-table.ts'
import { fileExists, journalPath, runsFolder } from '../run-files.ts'
import type { BatchDeps, BatchOptions } from '../types.ts'
import { IdSet } from './id-set.ts'

const HEADER = /^gdn-known 1 ([0-9a-f]{8})\n/
const HEADER_LENGTH = 'gdn-known 1 00000000\n'.length

/** Keeps the ids that a collection had before the run: none of them can be a row of it. */
export async function writeBaseline(path: string, ids: Iterable<string>): Promise<void> {
  const bytes = IdSet.of(ids).toBytes()
  const sum = crc32(bytes).toString(16).padStart(8, '0')
  await writeDurably(path, (file) => file.appendFile(Buffer.concat([Buffer.from(`gdn-known 1 ${sum}\n`), bytes])))
}

/** Null where there is none, or where it isn't as it was written: then the run goes without, and trusts less. */
export async function readBaseline(path: string): Promise<IdSet | null> {
  const file = await readFile(path).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return null
    throw error
  })
  if (file === null) return null
  const sum = HEADER.exec(file.toString('latin1', 0, HEADER_LENGTH))?.[1]
  const bytes = file.subarray(HEADER_LENGTH)
  const whole = sum !== undefined && bytes.length % 8 === 0 && Number.parseInt(sum, 16) === crc32(bytes)
  return whole ? IdSet.fromBytes(bytes) : null
}

/** What this machine knows of a collection beside one run. */
export interface Others {
  /** Ids that other runs and commands were given. */
  ids: IdSet
  /** What rows of other runs and commands say whose outcome isn't known: an NFT that says the same may be theirs. */
  contested: Set<string>
  /** A journal of that collection that can't be read, so that its ids aren't known. */
  unreadable: string | null
}

type Target = Pick<BatchOptions, 'stateDir' | 'origin' | 'backend' | 'blockchain' | 'contractAddress'>

/**
 * Reads the other journals of a collection, and the IDs of its single commands.
 *
 * @param onRun told of each run with its ledger, which isn't kept
 */
export async function readOthers(
  target: Target,
  ownId: string,
  { elsewhere }: Pick<BatchDeps, 'elsewhere'>,
  onRun: (run: RunRecord, ledger: Ledger) => Promise<void> | void = () => {},
): Promise<Others> {
  const { ids, open } = (await elsewhere?.()) ?? { ids: [], open: [] }
  const others: Others = { ids: IdSet.of(ids), contested: new Set(Array.from(open, contentOf)), unreadable: null }
  for await (const { path, isReadable } of journalsOf(target, ownId)) {
    try {
      if (!isReadable) throw new GdnError('data_dir', `the journal ${path} is damaged, or of a newer gdn`)
      const { run, ledger } = await loadLedger(path)
      others.ids.addAll(ledger.ids)
      await addContested(others.contested, path, ledger)
      await onRun(run, ledger)
    } catch (error) {
      if (!(error instanceof GdnError && error.code === 'data_dir')) throw error
      others.unreadable = path
    }
  }
  return others
}

/** The journals of a collection. One whose header can't be read may be of any. */
async function* journalsOf(target: Target, ownId: string): AsyncGenerator<{ path: string; isReadable: boolean }> {
  const names = await readdir(runsFolder(target.stateDir)).catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return []
    throw error
  })
  for (const name of names.sort()) {
    const id = /^([0-9a-f]{16})\.journal$/.exec(name)?.[1]
    if (id === undefined || id === ownId) continue
    const path = journalPath(target.stateDir, id)
    const header = await readHeader(path)
    if (header === null ? await fileExists(path) : isOf(header, target)) yield { path, isReadable: header !== null }
  }
}

/** One backend may be reached by several addresses. */
const isOf = (run: RunRecord, { origin, backend, blockchain, contractAddress }: Target): boolean =>
  (run.origin === origin || (backend?.id != null && run.backend === backend.id)) &&
  run.blockchain === blockchain &&
  run.contract.toLowerCase() === contractAddress.toLowerCase()

async function addContested(contested: Set<string>, path: string, ledger: Ledger): Promise<void> {
  let records: RecordFile | null = null
  try {
    for (let n = 1; n <= ledger.lastRequest; n++) {
      const rows = ledger.rowsOf(n)
      const isOpen = (row: number) => {
        const state = ledger.state(row)
        return ledger.isCurrent(row, n) && (state === ROW.unknown || state === ROW.absent)
      }
      if (!rows.some(isOpen)) continue
      records ??= await RecordFile.open(path)
      const body = await ledger.readBody(records, n)
      if (body === null) continue
      const metadata = sentMetadata(body)
      for (const [position, row] of rows.entries()) if (isOpen(row)) contested.add(contentOf(metadata[position]))
    }
  } finally {
    await records?.close()
  }
}
