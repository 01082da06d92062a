import { randomInt, randomUUID } from 'node:crypto'
import { basename } from 'node:path'
import { count } from '../../core/count.ts'
import { flagError, GdnError } from '../../core/errors.ts'
import { LOCK_TIMING, type LockHolder, type LockTiming, thisProcess } from '../../core/lock-holder.ts'
import { acquire, type BusyRun, findBusyRun, LeasedRun, leaseFreeRun } from '../../operations/leased-run.ts'
import type { Sql } from '../../sqlite/shared-database.ts'
import { listCollectionIds } from '../../state/collections.ts'
import { type Drop, insertDrop, isListDrop, listFamilyDrops, type NewDrop, readDrop } from '../../state/drops.ts'
import type { State, StateReader } from '../../state/open-state.ts'
import { removeOtherSets } from '../../state/rows.ts'
import { deleteRun, insertRun, type RunLease } from '../../state/runs.ts'
import { resolveOpenRequests } from '../../state/send-rows.ts'
import { DEFAULT_CHUNK_SIZE } from '../request-plan.ts'
import { countOpenRows, countRowsByStatus } from '../rows/row-counts.ts'
import { ownScope, referenceScope } from '../rows/row-key.ts'
import type { BatchOptions, ManifestChanges } from '../types.ts'
import { formatMintListHint } from './how-to-resume.ts'
import { formerPath, listCollectionDrops, resolveFamily } from './moved-run.ts'
import { familyId, runRef } from './run-identity.ts'
import { StoredRun } from './stored-run.ts'

const describeRunOptions = ({ runName, manifestPath }: BatchOptions): string => runName ?? basename(manifestPath ?? '')

const FENCES_PER_MS = 1_000

/**
 * Acquires the run of a manifest for this process, or creates it. Only one process at a time can work on the drops of a
 * run.
 *
 * @throws GdnError `run_busy` if another process has acquired the run; `not_found_locally`, `usage`
 */
export async function leaseStoredRun(
  state: State,
  options: BatchOptions,
  timing: LockTiming = LOCK_TIMING,
): Promise<StoredRun> {
  // After an interruption, ignore the signal, because the command still reads the run to report its status.
  const signal = options.signal?.aborted === true ? undefined : options.signal
  const note = `batch of ${describeRunOptions(options)}`
  const holder = await thisProcess(note)
  const { lease } = await acquire(state, (sql) => acquireOrRead(sql, options, holder), { timing, signal })
  const drop = await state.read((sql) => readDrop(sql, lease.runId), signal)
  if (drop === null) throw new Error('a run that was just created is missing')
  const leasedRun = new LeasedRun(state, lease, timing.beatMs)
  return new StoredRun(state, withOptions(drop, options), leasedRun, formerPath(drop, options))
}

/** Returns the run of a manifest for reading. A new run is not stored. */
export async function readStoredRun(state: StateReader, options: BatchOptions): Promise<StoredRun> {
  const drop = await state.read((sql) => {
    const runOfManifest = selectedDrop(sql, options)
    return runOfManifest.known ?? virtualDrop(sql, newDrop(sql, options, runOfManifest.generation))
  }, options.signal)
  return new StoredRun(state, withOptions(drop, options), null, formerPath(drop, options))
}

/** Returns a drop of the run that a process has acquired, or null if there is none. */
export const acquiredDrop = (sql: Sql, family: string): BusyRun | null =>
  listFamilyDrops(sql, family)
    .map(({ id }) => findBusyRun(sql, id))
    .find((busyRun) => busyRun !== null) ?? null

function acquireOrRead(
  sql: Sql,
  options: BatchOptions,
  ownHolder: LockHolder,
): { kind: 'taken'; lease: RunLease } | BusyRun {
  const busy = acquiredDrop(sql, resolveFamily(sql, options))
  if (busy !== null) return busy
  const { known: knownDrop, generation } = selectedDrop(sql, options)
  if (knownDrop !== null) {
    const lease = leaseFreeRun(sql, knownDrop.id, ownHolder)
    resolveOpenRequests(sql, knownDrop.id)
    removeOtherSets(sql, knownDrop.id, knownDrop.setId)
    return { kind: 'taken', lease }
  }
  const drop = newDrop(sql, options, generation)
  // Remove a run without rows, which remains if a process ends early.
  deleteRun(sql, drop.id)
  const { name } = runRef(options, generation)
  // A new run has the same ID as a removed run of the same name. The different fencing token of the new run prevents a
  // suspended process that had acquired the removed run from writing to the new run.
  const now = Date.now()
  const fence = now * FENCES_PER_MS + randomInt(FENCES_PER_MS)
  const lease = insertRun(sql, {
    id: drop.id,
    kind: 'manifest',
    name,
    note: ownHolder.note,
    holder: ownHolder,
    fence,
    now,
  })
  insertDrop(sql, drop)
  return { kind: 'taken', lease }
}

/**
 * Returns the drop that the options select (by default, the newest drop of the run), and the generation of the next
 * drop. `known` is null if a new drop is needed, as with `--again`.
 */
function selectedDrop(sql: Sql, options: BatchOptions): { known: Drop | null; generation: number } {
  const begun = listFamilyDrops(sql, resolveFamily(sql, options)).filter(({ setId }) => setId !== null)
  const latest = begun.find(({ generation }) => generation === options.generation) ?? begun.at(-1) ?? null
  let generation = (latest?.generation ?? 0) + 1
  // Skip IDs that are in use, because a run keeps its ID even if its manifest was moved.
  while (readDrop(sql, runRef(options, generation).id)?.setId != null) generation++
  if (latest !== null && options.again !== true) {
    refuseOtherMarker(latest, options)
    refuseOtherKind(latest, options)
    refuseOtherSource(latest, options)
    return { known: latest, generation }
  }
  if (latest !== null) refuseUnfinished(sql, latest)
  if (options.reconcileOnly === true) {
    throw new GdnError('not_found_locally', `there is no run ${runRef(options, generation).name} on this machine`, {
      hint: 'Run `gdn batch list` to list the runs.',
    })
  }
  return { known: null, generation }
}

function newDrop(sql: Sql, options: BatchOptions, generation: number): NewDrop {
  const { id } = runRef(options, generation)
  const isAgain = options.again === true
  const { origin, blockchain, contractAddress: contract, manifestPath: manifest, backend } = options
  const runName = options.runName ?? null
  const nameAndFile = { runName, manifest }
  const shared = referenceScope({ ...nameAndFile, order: null })
  const isSecond =
    isAgain && (runName === null || listCollectionDrops(sql, options).some((drop) => drop.referenceScope === shared))
  return {
    id,
    family: familyId(options),
    generation,
    origin,
    blockchain,
    contract,
    manifest,
    runName,
    reading: options.reading ?? {},
    chunkSize: options.chunkSize ?? DEFAULT_CHUNK_SIZE,
    inOrder: options.inOrder ?? false,
    maxCost: options.maxCostWei ?? null,
    maxFee: options.maxFeeWei ?? null,
    dynamic: options.dynamic ?? false,
    again: isAgain,
    marker: options.markerKey ?? null,
    // With --again, the run gets a scope of its own, because an earlier run may have a live operation for the same row.
    scope: isAgain ? ownScope(id) : '',
    referenceScope: isSecond ? referenceScope({ ...nameAndFile, order: randomUUID() }) : shared,
    url: backend?.url ?? origin,
    backend: {
      url: backend?.url ?? origin,
      id: backend?.id ?? null,
      incarnation: backend?.incarnation ?? null,
    },
  }
}

function virtualDrop(sql: Sql, drop: NewDrop): Drop {
  const { origin, blockchain, contract, backend } = drop
  const [collectionId = -1] = listCollectionIds(sql, { origin, backendId: backend.id, blockchain, contract })
  const { name } = runRef(
    {
      origin,
      blockchain,
      contractAddress: contract,
      manifestPath: drop.manifest,
      runName: drop.runName ?? undefined,
    },
    drop.generation,
  )
  return {
    ...drop,
    name,
    collectionId,
    setId: null,
    firstSet: null,
    beatAt: 0,
    restoredAfter: 0,
    largest: null,
    listedAt: null,
    fingerprint: null,
    localFiles: [],
    startedAt: Date.now(),
    endedAt: null,
    answeredAt: null,
    holder: null,
  }
}

function withOptions(drop: Drop, options: BatchOptions): Drop {
  const { manifestPath, reading, maxCostWei, maxFeeWei } = options
  const size = options.chunkSize ?? drop.chunkSize
  // Keep these stored properties, because the commitment of an unrevealed drop is permanent.
  const { provenance, seed, shuffle, seal, draw } = drop.reading
  return {
    ...drop,
    reading: reading === undefined ? drop.reading : { seal, draw, ...reading, provenance, seed, shuffle },
    manifest: manifestPath ?? drop.manifest,
    chunkSize: Math.min(size, drop.largest ?? size),
    inOrder: options.inOrder ?? drop.inOrder,
    maxCost: maxCostWei ?? drop.maxCost,
    maxFee: maxFeeWei ?? drop.maxFee,
  }
}

function refuseOtherMarker({ marker, name }: Drop, { markerKey }: BatchOptions): void {
  if (markerKey === undefined || markerKey === marker) return
  const begun = marker === null ? 'without markers' : `with the marker key ${JSON.stringify(marker)}`
  throw flagError('--marker-key', `the run ${name} was started ${begun}`, 'Omit the flag to resume the run.')
}

function refuseOtherKind({ dynamic, name }: Drop, options: BatchOptions): void {
  if (options.dynamic !== true || dynamic) return
  throw new GdnError('usage', `the run ${name} was started without --dynamic: its NFTs can't be updated`, {
    place: { flag: '--dynamic' },
    hint: 'Nothing was sent. Omit the flag to resume the run.',
  })
}

/**
 * Refuses to use a manifest for a run of a list of receivers, or a list for a run of a manifest. The rows of a list and
 * of a manifest have different keys.
 */
function refuseOtherSource(drop: Drop, { reading, serverFlags = '' }: BatchOptions): void {
  if (reading === undefined || isListDrop(drop) === isListDrop({ reading })) return
  const howToMint = formatMintListHint(drop, serverFlags)
  throw howToMint !== null
    ? flagError(
        '--to',
        `is missing: the run ${drop.name} has a list of receivers`,
        `Nothing was sent. ${howToMint} ${OTHER_NAME}`,
      )
    : flagError('--to', `the run ${drop.name} has no list of receivers`, `Nothing was sent. ${OTHER_NAME}`)
}

const OTHER_NAME = 'To start another run, use another --run <name>.'

/**
 * Refuses a second run while rows of the first run have no final outcome. Otherwise, repeating a command with `--again`
 * after Ctrl-C would mint the rows a third time.
 */
function refuseUnfinished(sql: Sql, drop: Drop): void {
  const open = countOpenRows(countRowsByStatus(sql, drop, false))
  if (open === 0) return
  const rows = open === 1 ? '1 row is' : `${open} rows are`
  throw new GdnError('run_busy', `the run ${drop.name} is not finished: ${rows} neither deployed nor failed`, {
    hint: `To resume the run, omit --again.${drop.reading.shuffle === undefined ? ' To start another run now, add --run <name>.' : ''}`,
  })
}

/**
 * Returns whether a run is finished. A run that was killed before it printed its summary isn't finished, because the
 * next command must print the summary.
 */
export const isFinished = ({ drop, counts }: StoredRun): boolean => drop.endedAt !== null && countOpenRows(counts) === 0

/**
 * Refuses to resume a run with another manifest if at least half of the sent rows differ. Otherwise, the rows of
 * another drop with the same IDs would count as edited, and would never be minted.
 *
 * @throws GdnError `edited_rows`
 */
export async function refuseOtherManifest(
  run: StoredRun,
  { manifestPath, adopt, keepEdited }: BatchOptions,
  { keptAccepted, removed, removedUnsent, removedFailed }: ManifestChanges,
): Promise<void> {
  const { accepted, deployed, unknown } = run.counts
  const { id, name } = run.drop
  const sent = accepted + deployed + unknown
  const differing = keptAccepted + removed - removedUnsent - removedFailed
  const isAlike = keptAccepted === 0 || differing < sent / 2
  if (isAlike || adopt === true || keepEdited === true || isListDrop(run.drop)) return
  const { manifest = null } = (await run.read((sql) => readDrop(sql, id))) ?? {}
  if (manifest === null || manifest === manifestPath) return
  throw new GdnError(
    'edited_rows',
    `the run ${name} has another manifest (${manifest}), and ${differing} of its ${count(sent, 'sent row')} differ in this manifest`,
    {
      hint: 'Nothing was sent. If this manifest is another drop, add --run <name> with another name. If it replaces the manifest of the run, run `gdn apply` with the same flags.',
      details: { run: name, manifest },
    },
  )
}

/**
 * Refuses to resume a run that is finished.
 *
 * @throws GdnError `run_finished` if no work remains
 */
export function refuseFinished(run: StoredRun, { keptAccepted, ...changes }: ManifestChanges): void {
  const { removed, removedUnsent, removedFailed } = changes
  if (!isFinished(run)) return
  const { drop, counts } = run
  const { failed, deployed } = counts
  const rows = deployed === 1 ? '1 row is deployed' : `${failed === 0 ? 'all ' : ''}${deployed} rows are deployed`
  const outcome = failed === 0 ? rows : `${rows}, ${failed} failed`
  throw new GdnError('run_finished', `the run ${drop.name} is finished: ${outcome}`, {
    hint:
      drop.reading.shuffle === undefined
        ? 'To mint all rows of this manifest a second time, run `gdn batch mint` with --again.'
        : undefined,
    details: {
      ...{ run: drop.name, run_id: drop.id, deployed, failed, kept_accepted: keptAccepted },
      ...{ removed, removed_unsent: removedUnsent, removed_failed: removedFailed },
      // Without a fingerprint, the manifest may have local files that weren't recorded, for example because there were
      // too many.
      has_local_files: drop.localFiles.length > 0 || (drop.fingerprint === null && drop.manifest !== null),
    },
  })
}
