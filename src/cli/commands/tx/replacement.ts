import { type EvmBlockchain, isTestnet } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import { formatCoins } from '../../../core/units.ts'
import { withTimeout } from '../../../core/with-timeout.ts'
import type { ShownTransaction } from '../../../server/admin/transactions.ts'
import type { ReplacementCost, ReplacementFees } from '../../../server/pipeline/evm/public-network/replacement-cost.ts'
import type { TransactionAction } from '../../../server/store/schema.ts'
import { GdnCommand } from '../../command.ts'
import {
  addDataDirFlag,
  type DatabaseOptions,
  type DataDirFlags,
  resolveAdministeredDatabase,
  withDatabaseAt,
} from '../../connect/data-dir.ts'
import { insertBackendFlags } from '../../connect/insert-backend-flags.ts'
import { formatAmount } from '../../cost/estimate.ts'
import type { Deps } from '../../deps.ts'
import { addOutputFlags, type OutputFlags } from '../../flags/common.ts'
import { createOutput, type DataRecord, type View } from '../../render/output.ts'
import { parseTransactionName } from './list.ts'
import { TX_VIEW, withLinks } from './tx-view.ts'

/** Maximum time that a prompt waits for the network's fees, in milliseconds. */
const FEES_TIMEOUT_MS = 5_000

/** The view of a replaced transaction, with its maximum cost before and after the replacement. */
const REPLACEMENT_VIEW: View = {
  ...TX_VIEW,
  fields: [...TX_VIEW.fields, 'max_cost_before_wei', 'max_cost_after_wei', 'currency', 'pending_reason'],
  card: (record) => [
    ...TX_VIEW.fields.map((field) => [field, record[field]] as const),
    ['max_cost', costText(record)],
    ['pending_reason', record.pending_reason],
  ],
}

function costText({ max_cost_before_wei: before, max_cost_after_wei: after, currency }: DataRecord): string | null {
  if (before == null) return null
  const then = after == null ? '' : `, and at most ${formatAmount(after, 'up')} after the replacement`
  return `${formatAmount(before, 'up')} ${currency ?? 'coins'} now${then}`
}

/** The cost of replacing a transaction. */
interface Replacement {
  /** Whether the transaction is already being canceled. */
  isCanceled: boolean
  costsMoney: boolean
  /** The current maximum cost of the transaction, such as ` (now at most 0.003 ETH)`. */
  nowText: string
  /** The end of a question, such as `, for at most 0.1 ETH (max_fee_gwei, 0.004 ETH at the current fees)`. */
  atMostText: string
  /** The reason why the backend can't sign the replacement at the current fees; null if it can. */
  waitsFor: string | null
  data: DataRecord
}

/** The texts of a command that replaces transactions. */
interface CommandTexts {
  about: string
  /** The summary of the command's example. */
  example: string
  /** The description of `--yes`. */
  yes: string
  /** Returns the question for the prompt; null if there is no prompt. */
  question(transaction: ShownTransaction, cost: Replacement): string | null
  /** The message if the user declines. */
  declined: string
  /** Returns a clause that describes what the backend does. */
  does(cost: Replacement): string
  /** A clause about the purpose of `gdn tx show`. */
  see: string
}

/** Creates a command that asks the running backend to replace a pending transaction. */
export function replacementCommand(deps: Deps, action: TransactionAction, texts: CommandTexts): GdnCommand {
  const { about, example, yes, question, declined, does, see } = texts
  const line = `gdn tx ${action} 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d`
  const command = new GdnCommand({ about, examples: [[example, line]] })
  command.argument('<transaction>')
  command.switchFlag('-y, --yes', yes)
  addDataDirFlag(command)
  addOutputFlags(command)
  return command.action(async (idOrHash: string, flags: OutputFlags & DataDirFlags & { yes?: boolean }) => {
    const output = createOutput(deps.io, flags, REPLACEMENT_VIEW)
    const name = parseTransactionName(idOrHash)
    const { findReplaceableTransaction, requestAction } = await import('../../../server/admin/transactions.ts')
    const place = await resolveAdministeredDatabase(deps, flags)
    const transaction = await withDatabaseAt(deps, place, (store) => findReplaceableTransaction(store, name))
    const on = { name, blockchain: transaction.blockchain as EvmBlockchain }
    const cost = await findReplacement(deps, place, on, action)
    const { waitsFor } = cost
    if (waitsFor !== null) deps.io.note(`The backend can't sign the replacement yet: ${waitsFor}.`)
    const prompt = question(transaction, cost)
    if (prompt !== null && !flags.yes) await deps.io.confirm(prompt, '--yes', { message: declined })
    const replaced = await withDatabaseAt(deps, place, (store) => requestAction(store, name, action, deps.now()))
    await output.one({ ...(await withLinks(deps, flags, [replaced]))[0], ...cost.data })
    const when = waitsFor === null ? 'at the next check' : 'when fees fall, or the limit is raised'
    deps.io.note(insertBackendFlags(`The backend ${does(cost)} ${when}. ${see}, run \`gdn tx show ${name}\`.`, flags))
  })
}

/** Returns the cost of raising a pending transaction's fees or of canceling it. */
export async function findReplacement(
  deps: Deps,
  place: DatabaseOptions,
  { name, blockchain }: { name: string; blockchain: EvmBlockchain },
  action: TransactionAction,
): Promise<Replacement> {
  const [{ replacementCost }, { findTransaction }, { findCoinSymbol, findChainId }, settings] = await Promise.all([
    import('../../../server/pipeline/evm/public-network/replacement-cost.ts'),
    import('../../../server/admin/transactions.ts'),
    import('../../../server/settings/networks.ts'),
    readSettings(place, blockchain),
  ])
  const isFree = settings?.isTestNetwork ?? isTestnet(blockchain)
  const current = settings === null ? null : await currentFees(deps, place, blockchain)
  const cap = settings?.feeCap ?? null
  const cost = await withDatabaseAt(deps, place, async (store) =>
    replacementCost(store, await findTransaction(store, name), action, { cap, current }),
  )
  const chainId = settings?.chainId ?? findChainId(blockchain)
  const currency = chainId === null ? null : findCoinSymbol(chainId)
  const coin = currency ?? 'coins'
  const waitsFor = cost === null ? null : waitReasonText(cost, coin)
  const isCanceled = cost?.isCanceled ?? false
  const data = {
    max_cost_before_wei: cost === null ? null : String(cost.before),
    max_cost_after_wei: cost?.after == null ? null : String(cost.after),
    currency,
    pending_reason: waitsFor === null ? null : `waiting for lower fees: ${waitsFor}`,
  }
  if (cost === null || isFree) return { isCanceled, costsMoney: false, nowText: '', atMostText: '', waitsFor, data }
  return {
    isCanceled,
    costsMoney: true,
    waitsFor,
    nowText: ` (now at most ${formatCoins(cost.before, 'up')} ${coin})`,
    atMostText: maxCostText(cost, coin),
    data,
  }
}

function maxCostText({ after, limitedBy, atCurrentFees }: ReplacementCost, coin: string): string {
  const isLess = atCurrentFees !== null && (after === null || atCurrentFees < after)
  const currentCost = isLess ? `${formatCoins(atCurrentFees, 'up')} ${coin} at the current fees` : null
  if (after === null)
    return `, for at most the max_fee_gwei of the backend${currentCost === null ? '' : ` (${currentCost})`}`
  return `, for at most ${formatCoins(after, 'up')} ${coin} (${currentCost === null ? limitedBy : `${limitedBy}; ${currentCost}`})`
}

function waitReasonText({ waitsFor }: ReplacementCost, coin: string): string | null {
  if (waitsFor === null) return null
  const { limit, needed, left } = waitsFor
  const leaves = limit === 'max_fee_gwei' ? 'allows' : 'leaves'
  return `the replacement needs up to ${formatCoins(needed, 'up')} ${coin} at the current fees, but ${limit} ${leaves} only ${formatCoins(left)} ${coin}`
}

/**
 * Returns the configuration of a network; null if the backend's configuration is on another machine or doesn't contain
 * the network.
 */
async function readSettings({ dataDir, settingsFile }: DatabaseOptions, blockchain: EvmBlockchain) {
  const { loadServerSettings } = await import('../../../server/settings/settings.ts')
  return (await loadServerSettings(dataDir, settingsFile)).chains.get(blockchain) ?? null
}

/** Returns the current fees of a network; null if no node returns them in time. */
async function currentFees(
  { signals: { signal } }: Pick<Deps, 'signals'>,
  place: DatabaseOptions,
  blockchain: EvmBlockchain,
): Promise<ReplacementFees['current']> {
  const [{ withChain }, { readDataFee }] = await Promise.all([
    import('../../../server/setup/with-chain.ts'),
    import('../../../server/chain/evm/cost/network-fees.ts'),
  ])
  const reading = withChain(
    { ...place, credentialsDirectory: undefined, signal },
    blockchain,
    async ({ network }) => {
      const reading = Promise.all([network.publicNetwork.suggestFees(), readDataFee(network.request)])
      const [suggested, data] = (await withTimeout(reading, FEES_TIMEOUT_MS)) ?? []
      return suggested === undefined || data === undefined ? null : { suggested, data }
    },
    { keys: false },
  )
  try {
    return await reading
  } catch (error) {
    if (!(error instanceof GdnError) || signal.aborted) throw error
    return null
  }
}
