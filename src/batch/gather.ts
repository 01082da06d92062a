import { open, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { GdnError } from '../core/errors.ts'
import type { ManifestItem } from '../manifest/read.ts'
import { bytes, Sequence } from './columns.ts'
import type { Found } from './find-run.ts'
import type { KeptRows } from './kept-rows.ts'
import { KEY_WORDS } from './key-table.ts'
import type { Ledger } from './ledger.ts'
import { withRoomForMarker } from './marker.ts'
import { planOf } from './plan.ts'
import { type FileIdentity, type PlanIndex, readIndex, writeIndex } from './plan-index.ts'
import { ROW } from './row-table.ts'
import { fileExists, indexPath, spoolPath, withState } from './run-files.ts'
import { Spans } from './spans.ts'
import { FIRST_ROW, readSpool, SpoolReader, SpoolWriter } from './spool.ts'
import { dropUnseen, type Items, type Survey, type SurveyOptions, sentAgain, survey } from './survey.ts'
import type { BatchDeps, BatchOptions } from './types.ts'

/** The rows of a run with their plan. Nothing of what was kept earlier has changed yet. */
export interface Gathered extends Pick<Survey, 'plan' | 'changes' | 'dropped'> {
  /** Where the rows stand now. */
  path: string
  /** Puts the rows where the run has them. */
  place(): Promise<void>
  /** Leaves it at what was kept earlier. */
  discard(): Promise<void>
}

type Options = Pick<BatchOptions, 'stateDir' | 'reconcileOnly' | 'retryFailed' | 'retryAbsent'>

/** Beyond so many, looking at each takes as long as reading the manifest. */
const MAX_LOCAL_FILES = 10_000
/** Rows that are looked up together. */
const WARMED = 512

/**
 * Reads the manifest into a new spool, and plans. Where everything that shaped the rows is as it was when they were
 * kept, nothing is read again: they are those.
 *
 * @param drafts the folder of the new spool, until it is put in its place
 * @throws GdnError `invalid_manifest`, `not_found_locally`, `data_dir`
 */
export async function gather(
  { readManifest }: Pick<BatchDeps, 'readManifest'>,
  found: Found,
  options: Options,
  drafts: string,
): Promise<Gathered> {
  const { stateDir } = options
  const spoolAt = spoolPath(stateDir, found.run.id)
  if (readManifest === null && !(await fileExists(spoolAt))) {
    throw new GdnError('not_found_locally', `the rows of the run ${found.run.name} are not kept on this machine`, {
      hint: 'give the manifest',
    })
  }
  const items: Items | null = readManifest?.() ?? null
  const index = await usableIndex(stateDir, found.run.id, items)
  if (index !== null) {
    const restored = restore(index, found.ledger, surveyOptions(found, options))
    if (restored !== null) {
      return { ...restored, path: spoolAt, place: async () => {}, discard: async () => {} }
    }
  }
  return await gatherFrom(items ?? keptRows(spoolAt), join(drafts, `${found.run.id}.rows.new`), found, options)
}

/** Plans rows anew that were gathered, because the ledger knows more by now. */
export async function gatherAgain(
  gathered: Gathered,
  found: Found,
  options: Options,
  drafts: string,
): Promise<Gathered> {
  const again = await gatherFrom(keptRows(gathered.path), join(drafts, `${found.run.id}.rows.rest`), found, options)
  await gathered.discard()
  return again
}

function surveyOptions({ run }: Found, options: Options): SurveyOptions {
  const { reconcileOnly = false, retryFailed = false, retryAbsent = false } = options
  return {
    chunkSize: run.chunk_size,
    inOrder: run.in_order,
    retryFailed: retryFailed && !reconcileOnly,
    retryAbsent: retryAbsent && !reconcileOnly,
  }
}

async function gatherFrom(items: Items, draft: string, found: Found, options: Options): Promise<Gathered> {
  const { run, ledger } = found
  const { stateDir } = options
  const spoolAt = spoolPath(stateDir, run.id)
  const indexAt = indexPath(stateDir, run.id)
  const indexDraft = `${draft}.plan`
  const discard = async () => {
    await rm(draft, { force: true })
    await rm(indexDraft, { force: true })
  }
  try {
    const file = await withState(stateDir, () => open(draft, 'w', 0o600))
    try {
      const spool = new SpoolWriter(file)
      const roomy = withRoomForMarker(items, run.marker)
      const surveyed = await survey(roomy, () => readSpool(spoolAt), ledger, surveyOptions(found, options), {
        add: (row) => spool.add(row),
        flushIfFull: () => withState(stateDir, () => spool.flushIfFull()),
      })
      const { kept, paths, plan, changes, dropped } = surveyed
      const localFiles = await identitiesOf(paths)
      await withState(stateDir, async () => {
        await spool.flush()
        await file.sync()
        await writeIndex(indexDraft, kept, ledger, {
          fingerprint: localFiles === null ? null : (items.digest?.() ?? null),
          localFiles: localFiles ?? [],
          spool: { header: spool.header, size: spool.size },
        })
      })
      const place = async () => {
        // The index says of which rows it is: one that is left over from others is none.
        await rename(draft, spoolAt)
        await rename(indexDraft, indexAt)
      }
      return { plan, changes, dropped, path: draft, place, discard }
    } finally {
      await file.close()
    }
  } catch (error) {
    await discard()
    throw error
  }
}

async function* keptRows(spoolAt: string): AsyncGenerator<ManifestItem> {
  for await (const { row } of readSpool(spoolAt)) yield { row }
}

/** The index of the rows that a run keeps; null where there is none, or it is of other rows. */
export async function keptIndex(stateDir: string, id: string): Promise<PlanIndex | null> {
  const index = await readIndex(indexPath(stateDir, id))
  if (index === null) return null
  const spool = await SpoolReader.open(spoolPath(stateDir, id)).catch(() => null)
  const found = (await spool?.identity()) ?? null
  await spool?.close()
  return found?.header === index.spool.header && found.size === index.spool.size ? index : null
}

/** The index of the rows kept, where the manifest would give the same rows again. */
async function usableIndex(stateDir: string, id: string, items: Items | null): Promise<PlanIndex | null> {
  const index = await keptIndex(stateDir, id)
  if (index === null || items === null) return index
  if (index.fingerprint === null || (await items.fingerprint?.()) !== index.fingerprint) return null
  return (await areUnchanged(index.localFiles)) ? index : null
}

/** The rows of an index as a survey of them would find them; null where it would have something to tell. */
function restore(
  index: PlanIndex,
  ledger: Ledger,
  options: SurveyOptions,
): Pick<Survey, 'plan' | 'changes' | 'dropped'> | null {
  const key = new Uint32Array(KEY_WORDS)
  const keyAt = (line: number) => {
    for (let word = 0; word < KEY_WORDS; word++) key[word] = index.words[line * KEY_WORDS + word] ?? 0
    return key
  }
  const contentAt = (line: number) => index.content[line] ?? 0
  for (let line = 0; line < index.content.length; line++) {
    if (contentAt(line) !== 0 && ledger.rows.isKeptChanged(keyAt(line), contentAt(line))) return null
  }
  const states = sentAgain(options)
  const seen = bytes()
  const row = new Sequence()
  const pending = new Sequence()
  const spans = new Spans(FIRST_ROW)
  for (let line = 0; line < index.rows; line++) {
    const start = line * KEY_WORDS
    if (line % WARMED === 0) ledger.rows.warm(index.words.subarray(start, start + WARMED * KEY_WORDS))
    const number = ledger.rows.enterKept(index.words, start, index.line[line] ?? 0, contentAt(line))
    seen.set(number, 1)
    row.push(number)
    spans.push(index.length[line] ?? 0)
    ledger.rows.reopen(number, states)
    if (ledger.state(number) === ROW.pending) pending.push(line)
  }
  const kept: KeptRows = {
    spans,
    row,
    group: { get: (line) => (index.group === null ? line : (index.group[line] ?? 0)) },
    groupCount: index.groups,
    receiverOf: (group) => index.groupReceiver?.[group] ?? group,
    files: index.files,
  }
  return {
    plan: planOf(kept, pending, options.chunkSize, options.inOrder),
    changes: { added: 0, changed: 0, keptAccepted: 0, removed: 0, examples: [] },
    dropped: dropUnseen(ledger, seen),
  }
}

/** Local files as they are; null where they are too many, or one can't be looked at. */
async function identitiesOf(paths: ReadonlySet<string>): Promise<FileIdentity[] | null> {
  if (paths.size > MAX_LOCAL_FILES) return null
  const identities: FileIdentity[] = []
  for (const path of paths) {
    const found = await stat(path).catch(() => null)
    if (found === null) return null
    identities.push({ path, size: found.size, mtimeMs: found.mtimeMs })
  }
  return identities
}

async function areUnchanged(files: readonly FileIdentity[]): Promise<boolean> {
  for (const { path, size, mtimeMs } of files) {
    const found = await stat(path).catch(() => null)
    if (found === null || !found.isFile() || found.size !== size || found.mtimeMs !== mtimeMs) return false
  }
  return true
}
