import { isEvm } from '../../api/blockchains.ts'
import { GdnError } from '../../core/errors.ts'
import type { LocalContents } from '../../files/local-content.ts'
import { withPlan } from '../../plan/make-plan.ts'
import { namesRemovedRows } from '../../plan/plan-notes.ts'
import type { ChangePlan, PlanDeps, PlanOptions } from '../../plan/planned.ts'
import type { SealedSlots } from '../../reveal/drop-state.ts'
import type { DrawnRows } from '../../reveal/shuffle/drawn-rows.ts'
import { type OpenedManifest, withErrorDetails } from '../batch/mint-manifest.ts'
import { addExchangedFlag, addTargetFlags, type BatchMintFlags } from '../batch/options/flags.ts'
import { printEditedRows } from '../batch/report/print-edited-rows.ts'
import type { GdnCommand } from '../command.ts'
import { findCollection } from '../connect/find-collection.ts'
import { addBeaconFlags, type BeaconFlags } from '../connect/open-beacon.ts'
import { serverFlag } from '../connect/server-flag.ts'
import type { Connection, Deps } from '../deps.ts'
import { notEmpty, positiveNumber } from '../flags/common.ts'

export interface PlanFlags extends BatchMintFlags, BeaconFlags {
  takeOver?: boolean
}

/** Adds the flags that affect the content of a plan. */
export function addPlanFlags(command: GdnCommand): void {
  addTargetFlags(command)
  command.valueFlag('--run <name>', "Name that identifies the run (the manifest's path)", notEmpty)
  command.valueFlag('--rate <n>', 'Maximum number of requests per second', positiveNumber)
  command.switchFlag('--take-over', 'Replace changes made outside the manifest with the values of the manifest')
  command.switchFlag('--new-rows', 'Mint new rows even if sent rows are missing from the manifest')
  command.switchFlag('--adopt', 'Use the NFTs of a manifest that was moved or renamed')
  addExchangedFlag(command)
  addBeaconFlags(command)
}

/** The source of the rows to plan: a manifest or a saved plan. */
export interface PlanSource {
  options: OpenedManifest['options']
  read: PlanDeps['readManifest']
  isSaved?: boolean
  /** For a saved plan: the labels that the run's label replaces. */
  adoptLabels?: readonly string[]
  /** For a saved plan: whether to mint new rows even if other rows without an ID are missing. */
  newRows?: boolean
  /** For a saved plan: whether to mint duplicate rows without asking for confirmation. */
  allowDuplicates?: boolean
  /** Whether to burn NFTs whose rows were removed. */
  prune?: boolean
  /** Warnings about parts of the manifest that are valid but probably unintended. A saved plan has none. */
  warnings?: OpenedManifest['warnings']
  /** The contents of the rows' local files. */
  contents: LocalContents
  /** The rows that were drawn for the slots of a shuffled drop. */
  drawn?: DrawnRows | null
  /** The slots of a shuffled drop that is sealed and not revealed. */
  sealed?: SealedSlots | null
}

/** Compares a manifest with the server and shows progress. Passes the plan to `use`. */
export async function openPlan<Result>(
  deps: Deps,
  connection: Connection,
  {
    options,
    read,
    isSaved = false,
    adoptLabels,
    newRows,
    prune = false,
    contents,
    drawn = null,
    sealed = null,
  }: PlanSource,
  { takeOver, only }: { takeOver: boolean; only?: 'mint' | undefined },
  use: (plan: ChangePlan) => Promise<Result>,
): Promise<Result> {
  const { io, signals } = deps
  const progress = await io.progress('Comparing the manifest with the server')
  const planned: PlanOptions = {
    ...options,
    newRows: newRows ?? options.newRows === true,
    takeOver,
    isSaved,
    adoptLabels,
    prune,
    drawnRows: drawn?.rows,
    sealedSlots: drawn?.slots ?? sealed?.slots,
    signal: signals.signal,
    whyNoTransfers: () => whyNoTransfers(deps, connection, options),
    async whyNoMints(reading) {
      const { whyNoMints } = await import('../batch/reveal/minted-unrevealed.ts')
      const { readStoredCommitment } = await import('../../reveal/unrevealed.ts')
      const ownCommitment = reading === null ? null : readStoredCommitment({ reading })
      const readRows = () => read({ row: async () => {}, burn: async () => {} })
      return await whyNoMints(deps, connection, { options, read: readRows }, ownCommitment)
    },
    async whyHidden(check) {
      const { whyHidden } = await import('../batch/reveal/minted-unrevealed.ts')
      return await whyHidden(options, check)
    },
    async committedRows() {
      const { createCommittedRowCheck, findCommittedRun } = await import('../../reveal/unrevealed.ts')
      const keptRun = await findCommittedRun(options)
      const commitment = keptRun?.commitment ?? null
      return commitment === null ? null : await createCommittedRowCheck(options.stateDir, commitment, drawn)
    },
    whyNoBurns: () => whyNoBurns(deps, connection, options),
  }
  let isNamed = false
  try {
    return await withPlan(
      planned,
      {
        client: connection.client,
        readManifest: read,
        contents,
        onProgress: (done) => progress.update(`Comparing the manifest with the server: ${done} rows`),
      },
      async (plan) => {
        progress.stop()
        await refuseHiddenChanges(options, plan, { only })
        isNamed = namesRemovedRows(plan.notes)
        return await use(plan)
      },
    )
  } catch (error) {
    progress.stop()
    if (error instanceof GdnError && error.code === 'edited_rows') await printEditedRows(io, error, { isNamed })
    throw withErrorDetails(error)
  } finally {
    progress.stop()
  }
}

/**
 * Refuses the updates of a plan if they would publish rows that another drop hides.
 *
 * @throws GdnError `refused`
 */
export async function refuseHiddenChanges(
  options: OpenedManifest['options'],
  plan: ChangePlan,
  { only }: { only?: 'mint' | undefined },
): Promise<void> {
  if (plan.counts.update === 0 || only === 'mint') return
  const { refuseHiddenUpdates } = await import('../batch/reveal/minted-unrevealed.ts')
  await refuseHiddenUpdates(options, plan)
}

/** Returns the reason why NFTs of a collection can't be transferred; null if they can, or if this is unknown. */
async function whyNoTransfers(
  deps: Deps,
  connection: Connection,
  options: OpenedManifest['options'],
): Promise<string | null> {
  if (!isEvm(options.blockchain)) return `the API does not transfer NFTs on ${options.blockchain}`
  const collection = await findCollection(deps, connection, options.contractAddress)
  if (collection?.is_locked === true) return 'the NFTs of the collection are locked'
  if (collection?.enable_transfer !== false) return null
  const target = `${options.contractAddress} -b ${options.blockchain}`
  return `the collection doesn't let the service transfer its NFTs: the owner can enable transfers with \`gdn collection set ${target} --enable-transfer --wallet <owner>${serverFlag(connection.server)}\``
}

/** Returns the reason why the service can't burn NFTs of a collection; null if it can, or if this is unknown. */
async function whyNoBurns(
  deps: Deps,
  connection: Connection,
  options: OpenedManifest['options'],
): Promise<string | null> {
  const collection = await findCollection(deps, connection, options.contractAddress)
  return collection?.enable_burn === false ? 'the collection was created without --enable-burn' : null
}
