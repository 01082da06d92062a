import { GdnError } from '../core/errors.ts'
import type { JournalEnd } from './journal/read.ts'
import { JOURNAL_VERSION, type RunRecord } from './journal/records.ts'
import { Ledger } from './ledger.ts'
import { loadLedger, type OpenLedger } from './open-ledger.ts'
import { DEFAULT_CHUNK_SIZE } from './plan.ts'
import { journalPath, latestGeneration, runRef } from './run-files.ts'
import type { BatchOptions } from './types.ts'

/** A run as it is found at start: its journal folded, or nothing yet. */
export interface Found {
  run: RunRecord
  ledger: Ledger
  /** Up to where the journal is whole; null where there is none yet. */
  journal: Pick<JournalEnd, 'end' | 'lacksLineEnd'> | null
}

/** The newest generation of the run, or with `--again` a new one. */
export async function findRun(options: BatchOptions): Promise<Found> {
  const generation = options.generation ?? (await latestGeneration(options.stateDir, options))
  if (generation > 0) {
    const path = journalPath(options.stateDir, runRef(options, generation).id)
    if (options.again !== true) return goOn(await loadLedger(path), options)
    const problem = await unfinished(path)
    if (problem !== null) throw problem
  }
  const ref = runRef(options, generation + 1)
  if (options.reconcileOnly === true) {
    throw new GdnError('not_found_locally', `the run ${ref.name} has no journal on this machine`, {
      hint: 'gdn batch list shows the runs there are',
    })
  }
  const run: RunRecord = {
    t: 'run',
    v: JOURNAL_VERSION,
    ...ref,
    origin: options.origin,
    url: options.backend?.url ?? options.origin,
    backend: options.backend?.id ?? null,
    incarnation: options.backend?.incarnation ?? null,
    blockchain: options.blockchain,
    contract: options.contractAddress,
    manifest: options.manifestPath,
    run_name: options.runName ?? null,
    chunk_size: options.chunkSize ?? DEFAULT_CHUNK_SIZE,
    in_order: options.inOrder ?? false,
    generation: generation + 1,
    ...(options.again === true ? { again: true } : {}),
    ...(options.markerKey === undefined ? {} : { marker: options.markerKey }),
    ...(options.reading === undefined ? {} : { reading: options.reading }),
    at: new Date().toISOString(),
  }
  return { run, ledger: new Ledger(), journal: null }
}

function goOn({ run, ledger, ...journal }: OpenLedger, options: BatchOptions): Found {
  if (options.markerKey !== undefined && options.markerKey !== run.marker) {
    const begun = run.marker === undefined ? 'without markers' : `with the marker key ${JSON.stringify(run.marker)}`
    throw new GdnError('usage', `the run ${run.name} was begun ${begun}`, {
      place: { flag: '--marker-key' },
      hint: 'leave the flag out to go on with the run as it is',
    })
  }
  ledger.settleOpen()
  const chunk_size = ledger.chunkSize(options.chunkSize ?? run.chunk_size)
  return { run: { ...run, chunk_size, in_order: options.inOrder ?? run.in_order }, ledger, journal }
}

/**
 * Why no second drop can be ordered yet: the outcome of rows of the first is open. A repeated command, after Ctrl-C say,
 * would order a third. A damaged journal is no reason.
 */
async function unfinished(path: string): Promise<GdnError | null> {
  try {
    const { run, ledger } = await loadLedger(path)
    const { pending, unknown, accepted } = ledger.counts()
    const open = pending + unknown + accepted
    if (open === 0) return null
    const rows = open === 1 ? '1 row is' : `${open} rows are`
    return new GdnError('run_busy', `the run ${run.name} is not finished: ${rows} neither deployed nor failed`, {
      hint: 'Run the command without --again to go on with it. To order another drop now, name it with --run NAME.',
    })
  } catch (error) {
    if (error instanceof GdnError && error.code === 'data_dir') return null
    throw error
  }
}

/** @throws GdnError `run_finished` where there is nothing left to do */
export function refuseFinished({ ledger, run }: Found): void {
  const { pending, unknown, accepted, failed, deployed } = ledger.counts()
  // A run that was killed after its last row, before anyone heard of it, tells its end once more.
  if (!ledger.ended || pending + unknown + accepted > 0) return
  const outcome = failed === 0 ? `all ${deployed} rows are deployed` : `${deployed} rows are deployed, ${failed} failed`
  throw new GdnError('run_finished', `the run ${run.name} is finished: ${outcome}`, {
    hint: 'to mint all rows of this manifest a second time, add --again',
    details: { run: run.name, run_id: run.id, deployed, failed },
  })
}
