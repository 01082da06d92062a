import { isEvm } from '../../../api/blockchains.ts'
import { sameAddress } from '../../../api/same-address.ts'
import { statusOf } from '../../../client/answers.ts'
import type { LocalContents } from '../../../files/local-content.ts'
import { withPlan } from '../../../plan/make-plan.ts'
import type { ChangePlan, PlanDeps, PlanOptions } from '../../../plan/planned.ts'
import { type GdnCommand, switchFlag, valueFlag } from '../../command.ts'
import { collectionsAtAGlance } from '../../connect/known-collections.ts'
import type { Connection, Deps } from '../../deps.ts'
import { notEmpty } from '../../flags/parse.ts'
import { addTargetFlags, type BatchMintFlags } from '../batch/flags.ts'
import type { OpenedManifest } from '../batch/mint-manifest.ts'

export interface PlanFlags extends BatchMintFlags {
  takeOver?: boolean
}

/** Adds the flags that decide what a plan compares. */
export function addPlanFlags(command: GdnCommand): void {
  addTargetFlags(command)
  valueFlag(command, '--run <name>', "Name of the run (the manifest's path)", { parse: notEmpty })
  switchFlag(command, '--take-over', 'Replace what others changed with what the manifest says')
}

/** The rows of a plan: of a manifest, or of a saved plan with their changes. */
export interface PlanSource {
  options: OpenedManifest['options']
  read: PlanDeps['readManifest']
  isSaved?: boolean
  /** What the local files of the rows contain. */
  contents: LocalContents
}

/** Makes the plan of a manifest, with progress, and passes it. */
export async function openPlan<Result>(
  deps: Deps,
  connection: Connection,
  { options, read, isSaved = false, contents }: PlanSource,
  takeOver: boolean,
  use: (plan: ChangePlan) => Promise<Result>,
): Promise<Result> {
  const { io, signals } = deps
  const progress = await io.progress('Comparing the manifest with the server')
  const planned: PlanOptions = {
    ...options,
    takeOver,
    isSaved,
    signal: signals.signal,
    noTransfers: () => noTransfers(deps, connection, options),
  }
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
        return await use(plan)
      },
    )
  } finally {
    progress.stop()
  }
}

/**
 * Returns why NFTs of a collection can't be transferred; null if they can. A collection is known by the transaction that
 * created it, so one that was created elsewhere can't be asked for: then the server decides when it is asked to transfer.
 */
async function noTransfers(
  deps: Deps,
  connection: Connection,
  { contractAddress, blockchain }: OpenedManifest['options'],
): Promise<string | null> {
  if (!isEvm(blockchain)) return `the API does not transfer NFTs on ${blockchain}`
  const [known] = await collectionsAtAGlance(deps, connection, [contractAddress])
  if (known === undefined) return null
  const { client } = connection
  const { signal } = deps.signals
  try {
    const request = { transaction_gdn_ids: [known.transaction_gdn_id] }
    const { collections } = await client.call('getcollections', request, { signal })
    const found = collections.find(({ contract_address: at }) => sameAddress(at ?? '', contractAddress))
    if (found?.is_locked === true) return 'the NFTs of the collection are locked'
    return found?.enable_transfer === false ? "the collection doesn't let the service transfer its NFTs" : null
  } catch (error) {
    if (statusOf(error) !== 404 && statusOf(error) !== 405) throw error
    return null
  }
}
