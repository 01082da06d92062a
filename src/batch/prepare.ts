import { refuseSilentBackend } from '../client/backend.ts'
import { GdnError } from '../core/errors.ts'
import { type RowsIn, rowsAt } from '../state/rows.ts'
import { checkBackend } from './check-backend.ts'
import { refuseTaken } from './claim.ts'
import { newDuplicates } from './duplicate-rows.ts'
import { type EarlierMints, findEarlierMints } from './earlier-mints.ts'
import { findReplaced } from './edited-rows.ts'
import { type Gathered, gather, MAX_EXAMPLES, noChanges, planRows } from './gather.ts'
import { withMintedElsewhere } from './minted-elsewhere.ts'
import { rowsWithMovedFiles } from './moved-files.ts'
import { labelsOfMoved } from './moved-labels.ts'
import { refuseFinished } from './open-store.ts'
import { findPairs, type Pair, pairedOf, renamedOf } from './pairing.ts'
import { type Plan, positionsOf } from './plan.ts'
import { isSharedScope, shownKey } from './row-key.ts'
import type { RunStore } from './run-store.ts'
import type { BatchOptions, CheckDeps, ManifestChanges, PlannedEvent } from './types.ts'

/** A run that passed every check before its rows are entered. */
export interface Prepared {
  gathered: Gathered
  plan: Plan
  before: EarlierMints
  /** Rows that got an ID since their mint. */
  pairs: Pair[]
  /** Operations of sent rows that left the manifest while others are added. */
  replaced: string[]
  planned: PlannedEvent
}

/**
 * Reads and plans the rows, and makes every check of a start: the backend, edits of the manifest, other runs, and the
 * NFTs of the collection. A dry run and a real run both use this function, so that they reach the same verdict.
 *
 * @param writes whether the rows and the backend are recorded; false in a dry run
 * @throws GdnError as `runBatch`
 */
export async function prepare(
  store: RunStore,
  options: BatchOptions,
  deps: CheckDeps,
  { writes }: { writes: boolean },
): Promise<Prepared> {
  const { restored, notes } = await checkBackend(store, options, deps, writes)
  const sends = options.reconcileOnly !== true
  const isNew = store.drop.setId === null
  const gathered = await gather(deps, store, { writes })
  let plan = await planRows(store, gathered, options)
  if (!gathered.isRead) gathered.changes = await changedRows(store, gathered.rows, gathered.changed, plan)
  if (options.backend !== undefined && deps.client !== null) refuseSilentBackend(options.backend)
  const isMoved = store.movedFrom !== null
  if (!isNew && sends && options.settle === undefined && !restored && !isMoved) refuseFinished(store, gathered.changes)
  const { drop } = store
  const hasNew = gathered.isRead && sends && (isNew || gathered.changes.added > 0)
  const isSecond = options.again === true && !isSharedScope(drop.referenceScope)
  const asked = isSecond || options.skipLookup === true ? null : deps.client
  const pairs = hasNew && (!isNew || asked !== null) ? await findPairs(store, options, asked, gathered.rows) : []
  if (hasNew && !isNew) pairs.push(...(await store.read((sql) => rowsWithMovedFiles(sql, drop, gathered.rows))))
  const renamed = renamedOf(pairs)
  const found = pairs.filter(({ sent }) => sent === null)
  const replaced = isNew || !hasNew ? [] : await replacedRows(store, options, asked, { gathered, pairs })
  const known = new Map(
    pairs.map(({ row, sent }): [number, 'renamed' | 'adopted'] => [
      row.position,
      sent === null ? 'adopted' : 'renamed',
    ]),
  )
  if (known.size > 0) plan = await planRows(store, gathered, options, known)
  if (plan.rows + pairs.length > 0) {
    await store.read((sql) =>
      refuseTaken(sql, store, options, {
        ...gathered,
        pending: [...positionsOf(plan), ...found.map(({ row }) => row.position)],
        renamed: renamed.map(({ row }) => row),
      }),
    )
  }
  await refuseUnlessDynamic(store, options, deps, plan)
  const before = await findEarlierMints(store, options, deps, { gathered, plan, pairs })
  before.notes.push(...notes)
  if (isMoved && deps.client !== null) {
    before.relabeled.push(...(await labelsOfMoved(store, options, deps.client, gathered)))
    before.notes.push(`The run ${drop.name} follows its manifest, which was moved from ${store.movedFrom}`)
  }
  before.adopted.unshift(...found)
  if (before.adopted.length > 0) {
    for (const { row } of before.adopted) known.set(row.position, 'adopted')
    before.notes.push(`Rows that the server already has, which are not sent: ${before.adopted.length}`)
    plan = await planRows(store, gathered, options, known)
  }
  const adopted = new Set(before.adopted.map(({ row }) => row.position))
  const duplicates =
    gathered.isRead && sends && plan.rows > 0
      ? await store.read((sql) => newDuplicates(sql, drop, gathered.rows, (position) => !adopted.has(position)))
      : { count: 0, rows: [] }
  const planned: PlannedEvent = {
    type: 'planned',
    run: { id: drop.id, name: drop.name },
    resumed: !isNew,
    rows: { ...store.counts },
    requests: plan.requests,
    receivers: plan.receivers,
    reordered: plan.reordered,
    files: plan.withFiles.length,
    changes: gathered.changes,
    notes: before.notes,
    duplicates,
  }
  return { gathered, plan, before, pairs, replaced, planned }
}

/** Returns the operations of sent rows that new rows are minted in addition to. @throws GdnError `edited_rows` */
async function replacedRows(
  store: RunStore,
  options: BatchOptions,
  client: CheckDeps['client'],
  { gathered: { rows }, pairs }: { gathered: Gathered; pairs: readonly Pair[] },
): Promise<string[]> {
  const { drop } = store
  const known = pairedOf(pairs)
  const paired = client === null ? known : await withMintedElsewhere(store, options, client, { rows, paired: known })
  const newRows = options.newRows === true
  return await store.read((sql) => findReplaced(sql, drop, rows, { newRows, setId: drop.setId, paired }))
}

/** Refuses a dynamic drop on a server without creatednft. */
async function refuseUnlessDynamic(
  { drop }: RunStore,
  { hasCreatednft, signal }: BatchOptions,
  { client }: CheckDeps,
  plan: Plan,
): Promise<void> {
  if (!drop.dynamic || hasCreatednft === true || client === null || plan.rows === 0) return
  if (client.supportsUpdates() === null) await client.learnIdempotency({ signal })
  if (client.supportsUpdates() !== false) return
  throw new GdnError('usage', 'the server has no creatednft, so its NFTs are never dynamic', {
    place: { flag: '--dynamic' },
    hint: 'For a service with version 1.2 of the API, run `gdn config set api_version 1.2`.',
  })
}

/** Counts the rows that were sent with other content. Each start reports them, even if the manifest is unchanged. */
async function changedRows(
  store: RunStore,
  rows: RowsIn,
  positions: readonly number[],
  plan: Plan,
): Promise<ManifestChanges> {
  const changes = noChanges()
  if (positions.length === 0) return changes
  const sent = new Set(positionsOf(plan))
  for (const { key, line, position } of await store.read((sql) => rowsAt(sql, rows, positions))) {
    changes.changed++
    if (!sent.has(position)) changes.keptAccepted++
    if (changes.examples.length < MAX_EXAMPLES) changes.examples.push({ kind: 'changed', key: shownKey(key), line })
  }
  return changes
}
