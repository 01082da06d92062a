import { isRestored, refuseOtherBackend, type SeenBackend } from '../client/backend.ts'
import type { Lock } from '../core/process-lock.ts'
import { IDS_PER_CALL, readNfts } from '../operations/reconcile/listing.ts'
import { type Found, findRun } from './find-run.ts'
import { RecordFile } from './journal/read.ts'
import type { LostRecord } from './journal/records.ts'
import type { Ledger } from './ledger.ts'
import { openWriter } from './open-ledger.ts'
import { ROW } from './row-table.ts'
import { interruption } from './run-context.ts'
import { journalPath, withState } from './run-files.ts'
import type { BatchOptions, CheckDeps } from './types.ts'

/** What was found out about the backend of a run. */
export interface Met {
  found: Found
  /** Whether its data were restored since the run was last at work. */
  restored: boolean
  notes: string[]
}

/**
 * Compares the backend that answers now with the one that the journal has. After a restore, every row with an ID is
 * checked before anything is planned or sent: rows whose NFT the backend no longer knows have an unknown outcome.
 *
 * @param lock of the run, to record what was found out; null for a dry run
 * @throws GdnError `wrong_backend`
 */
export async function meetBackend(
  options: BatchOptions,
  deps: CheckDeps,
  found: Found,
  lock: Lock | null,
): Promise<Met> {
  const { backend } = options
  const { run, ledger, journal } = found
  if (backend === undefined || journal === null) return { found, restored: false, notes: [] }
  const known = ledger.backend ?? {
    url: run.url ?? run.origin,
    id: run.backend ?? null,
    incarnation: run.incarnation ?? null,
  }
  refuseOtherBackend(`the run ${run.name}`, known, backend)
  const restored = isRestored(known, backend)
  const isSame = known.url === backend.url && known.incarnation === backend.incarnation
  if (isSame || (backend.silence !== null && !restored)) return { found, restored, notes: [] }
  const lost = await withState(options.stateDir, () => record(options, deps, found, { backend, lock, restored }))
  const notes = restored
    ? [`The backend was restored from a backup: ${lost} of the accepted rows are unknown to it now`]
    : []
  return { found: lock === null ? found : await findRun(options), restored, notes }
}

interface Meeting {
  backend: SeenBackend
  lock: Lock | null
  restored: boolean
}

/** Writes into the journal what the run is to know of its backend. Returns how many rows the backend lost. */
async function record(
  options: BatchOptions,
  deps: CheckDeps,
  { run, ledger, journal }: Found,
  { backend, lock, restored }: Meeting,
): Promise<number> {
  if (journal === null) return 0
  const path = journalPath(options.stateDir, run.id)
  if (lock === null) return restored ? await applyLost(options, deps, ledger, path) : 0
  const { writer, records } = await openWriter(path, journal, lock, deps.wrapJournal)
  try {
    const lost = restored ? await lostRecords(options, deps, ledger, records) : []
    for (const each of lost) await writer.append(each, { sync: false })
    const { url, id, incarnation } = backend
    // The last to be written: without it, everything is checked again.
    await writer.append({ t: 'backend', url, id, incarnation, restored, at: Date.now() }, { sync: true })
    return lost.reduce((sum, each) => sum + each.lost.length, 0)
  } finally {
    await Promise.all([writer.close(), records.close()])
  }
}

/** For a dry run: the ledger has what the journal would have. */
async function applyLost(options: BatchOptions, deps: CheckDeps, ledger: Ledger, path: string): Promise<number> {
  const records = await RecordFile.open(path)
  try {
    const lost = await lostRecords(options, deps, ledger, records)
    for (const each of lost) ledger.apply(each, { offset: 0, length: 0 })
    return lost.reduce((sum, each) => sum + each.lost.length, 0)
  } finally {
    await records.close()
  }
}

const HAS_NFT: ReadonlySet<number> = new Set([ROW.accepted, ROW.deployed, ROW.failed])

interface Given {
  n: number
  ids: (string | null)[]
  /** IDs of rows that have an NFT, as far as the journal knows. */
  checked: Set<string>
}

/** Asks for every NFT of the run once, and returns what the backend no longer knows, by request. */
async function lostRecords(
  { signal }: BatchOptions,
  { client, onEvent }: CheckDeps,
  ledger: Ledger,
  records: RecordFile,
): Promise<LostRecord[]> {
  const lost: LostRecord[] = []
  if (client === null) return lost
  let batch: Given[] = []
  const check = async () => {
    const ids = batch.flatMap(({ checked }) => [...checked])
    const known = new Set<string>()
    const finished = await readNfts({ client, signal }, ids, (nfts) => {
      for (const { nft_gdn_id } of nfts) known.add(nft_gdn_id)
    })
    if (!finished) throw interruption(signal?.reason)
    for (const { n, ids: all, checked } of batch) {
      const gone = all.flatMap((id, position): [number, string][] =>
        id !== null && checked.has(id) && !known.has(id) ? [[position, id]] : [],
      )
      if (gone.length === 0) continue
      const left = all.map((id) => (id !== null && checked.has(id) && !known.has(id) ? null : id))
      lost.push({ t: 'lost', n, ids: left, lost: gone, at: Date.now() })
    }
    batch = []
  }
  let size = 0
  for (let n = 1; n <= ledger.lastRequest; n++) {
    if (!ledger.hasAnswer(n)) continue
    const { ids = [] } = await ledger.readAnswer(records, n)
    const rows = ledger.rowsOf(n)
    const isWanted = (position: number) => {
      const row = rows[position]
      return row !== undefined && ledger.isCurrent(row, n) && HAS_NFT.has(ledger.state(row))
    }
    const checked = new Set(ids.filter((id, position): id is string => id !== null && isWanted(position)))
    if (checked.size === 0) continue
    batch.push({ n, ids, checked })
    size += checked.size
    if (size < IDS_PER_CALL) continue
    await check()
    size = 0
    onEvent?.({ type: 'looking_up', done: n, total: ledger.lastRequest })
  }
  await check()
  return lost
}
