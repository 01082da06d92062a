import { size } from 'viem'
import { checksumAddress } from '../../../../api/address.ts'
import type { EvmBlockchain } from '../../../../api/blockchains.ts'
import { isSameAddress } from '../../../../api/same-address.ts'
import type { Settings } from '../../../../config/settings.ts'
import { flagError, GdnError } from '../../../../core/errors.ts'
import { formatCoins } from '../../../../core/units.ts'
import { DEFAULT_WAIT_MS } from '../../../../operations/defaults.ts'
import { ENVELOPE_BYTES } from '../../../../server/chain/evm/cost/drop-gas.ts'
import { computeMaxCost, readDataFee } from '../../../../server/chain/evm/cost/network-fees.ts'
import type { Signer } from '../../../../server/chain/evm/evm-signer.ts'
import type { Fees, Hex } from '../../../../server/chain/evm/network.ts'
import { checkKeystoreFile, openKeystoreFile } from '../../../../server/chain/evm/open-signer.ts'
import { estimateGas, idleNonce, sendCall } from '../../../../server/chain/evm/owner/send.ts'
import { encodeOwnerCall, readOwnerSettings } from '../../../../server/chain/evm/owner/settings.ts'
import type { RemoteNetwork } from '../../../../server/chain/evm/remote/remote-network.ts'
import { NodeFailedError } from '../../../../server/chain/evm/remote/responses.ts'
import { describeMissingFunds } from '../../../../server/chain/missing-funds.ts'
import { RpcError } from '../../../../server/chain/rpc/rpc-response.ts'
import { findCoinSymbol } from '../../../../server/settings/networks.ts'
import { queryStateIfReadable } from '../../../../state/glance.ts'
import { listKnownCollections } from '../../../../state/known-collections.ts'
import { formatServerFlags } from '../../../batch/options/format-flags.ts'
import { findCollectionByAddress } from '../../../connect/known-collections.ts'
import { type Node, withNetwork } from '../../../connect/open-network.ts'
import { costsMoney } from '../../../cost/confirm-spending.ts'
import { spentText } from '../../../cost/spent.ts'
import type { Connection, Deps, Intent, WalletSpending } from '../../../deps.ts'
import { safe } from '../../../io/io.ts'
import { type DataRecord, isOutputRequested, type Output } from '../../../render/output.ts'
import { refuseChanged } from '../../../request/intent.ts'
import { toPendingError } from '../../chain/pending-on-timeout.ts'
import { findKeystore } from '../../wallet/find-keystore.ts'
import { readPassword } from '../../wallet/password.ts'
import { openWithProgress } from '../../wallet/while-opening.ts'
import { type SettingChange, settingChanges, settingText } from './changes.ts'
import type { SetFlags } from './flags.ts'
import { acceptedNfts } from './max-supply.ts'
import { changeMetadata, readCreation } from './metadata.ts'

/**
 * Interval in milliseconds at which an embedded chain is polled. The interval is short, because embedded chains mine
 * immediately.
 */
const EMBEDDED_POLL_MS = 200

export interface SettingsTarget {
  /** Connects to the server on the first call. Later calls return the same connection. */
  connect: () => Promise<Connection>
  settings: Settings
  /** The node that the user selected; null for the server's embedded chain. */
  node: Node | null
  contract: Hex
  blockchain: EvmBlockchain
  flags: SetFlags
  output: Output
}

/** State that the steps of the command share. */
interface EditContext extends SettingsTarget {
  deps: Deps
  network: RemoteNetwork
  /** Returns the description and image that the collection was created with. */
  creation: () => ReturnType<typeof readCreation>
}

/** Makes the requested changes. The wallet signs one transaction for each change. */
export async function applySettings(deps: Deps, target: SettingsTarget): Promise<void> {
  const { connect, node, contract, blockchain, flags, output } = target
  const { io } = deps
  const at = node ?? { url: `${(await connect()).server.baseUrl}/rpc/${blockchain}`, flag: '--blockchain' }
  const polling = node === null ? { pollMs: EMBEDDED_POLL_MS } : {}
  let created: ReturnType<typeof readCreation> | undefined
  const creation = () => (created ??= connect().then((connection) => readCreation(deps, connection, contract)))
  await withNetwork(at, { blockchain, signal: deps.signals.signal, ...polling }, async (network) => {
    const editing = { ...target, deps, network, creation }
    const { current, accepted, changes } = await compare(editing)
    if (accepted === null) io.note(ACCEPTED_UNKNOWN_WARNING)
    if (changes.length === 0) {
      await output.many([])
      return io.note('Nothing to change.')
    }
    const wanted: RequiredSigner = {
      role: flags.acceptOwner ? 'new owner' : 'owner',
      address: flags.acceptOwner ? (current.pendingOwner ?? current.owner) : current.owner,
    }
    if (flags.safe !== undefined) return await writeForSafe(editing, flags.safe, { wanted, changes })
    const keystore = await findWallet(deps, flags, wanted).catch(async (error: unknown) => {
      throw await withSafeHint(network, error, wanted)
    })
    const plan = await planChanges(editing, wanted, changes)
    if (flags.dryRun || keystore === null) return await showPlan(editing, plan)
    if (node !== null) await refuseWithoutFunds(editing, plan)
    const signer = await openWallet(editing, keystore, wanted)
    await confirm(editing, plan)
    await sendChanges(editing, plan, signer)
    if (flags.newOwner !== undefined) {
      io.note(
        `To accept the ownership, the new owner runs \`gdn collection set ${contract} -b ${blockchain}${formatServerFlags(flags)} --accept-owner --wallet <name>\`. If the new owner is a Safe, use --safe <file> instead of --wallet.`,
      )
    }
  })
}

/** Compares the flags with the settings in the contract. */
async function compare(editing: EditContext) {
  const { deps, connect, creation, network, contract, blockchain, flags } = editing
  const current = await readOwnerSettings(network, contract)
  const metadata = await changeMetadata(deps, { connect, creation, uri: current.contractUri }, flags)
  const accepted = flags.maxSupply === undefined ? 0 : await acceptedNfts(deps, connect, { contract, blockchain })
  const isAccepted = flags.acceptOwner && current.pendingOwner === null && (await isOwner(editing, current.owner))
  return { current, accepted, changes: isAccepted ? [] : settingChanges(flags, current, metadata, accepted ?? 0) }
}

/** Writes the changes to a file for the Safe that must sign them. */
async function writeForSafe(
  { deps, network, contract, flags, output }: EditContext,
  file: string,
  { wanted: from, changes }: Pick<SettingsPlan, 'wanted' | 'changes'>,
): Promise<void> {
  const { writeSafeBatch } = await import('./write-safe-batch.ts')
  const description = changes.map(formatChange).join('').trimEnd()
  const dryRun = flags.dryRun === true
  const { address } = await writeSafeBatch(deps, network, { file, contract, from, changes, description, dryRun })
  const status = dryRun ? 'planned' : 'written'
  if (dryRun && deps.io.stdoutTty && !isOutputRequested(flags)) return await deps.io.print(`${description}\n`)
  await output.many(changes.map((change) => ({ ...toChangeRecord(change, status), safe_address: address })))
}

interface SettingsPlan {
  wanted: RequiredSigner
  changes: readonly SettingChange[]
  offer: Offer
  /** The spending of the wallet, without its maximum. */
  spending: Omit<WalletSpending, 'maxCostWei'>
}

async function planChanges(
  editing: EditContext,
  wanted: RequiredSigner,
  changes: readonly SettingChange[],
): Promise<SettingsPlan> {
  const { deps, connect, settings, node, network, contract, blockchain } = editing
  const offer = await priceChanges(network, { from: wanted.address, contract, changes })
  const isPublic = node !== null || (await costsMoney(deps, blockchain, await connect()))
  const spending = { kind: 'wallet', blockchain, settings, coin: findCoinSymbol(network.chainId), isPublic } as const
  return { wanted, changes, offer, spending }
}

/** Shows what a command without --dry-run would change, and the maximum cost. */
async function showPlan(
  { deps, node, flags, output }: EditContext,
  { changes, offer, spending }: SettingsPlan,
): Promise<void> {
  const { io } = deps
  deps.checkPlan?.(toIntent(changes))
  await deps.quote?.({ ...spending, maxCostWei: offer.maxCostWei }, null)
  // On a terminal, the columns of a table would truncate the values.
  if (io.stdoutTty && !isOutputRequested(flags)) await io.print(changes.map(formatChange).join(''))
  else
    await output.many(
      changes.map((change) => ({ ...toChangeRecord(change, 'planned'), ...offerRecord(offer, change) })),
    )
  io.note(node === null ? 'Nothing was sent.' : `Nothing was sent. The changes cost at most ${offer.text}.`)
}

async function refuseWithoutFunds({ network }: EditContext, { wanted, offer, spending }: SettingsPlan): Promise<void> {
  const { blockchain, coin } = spending
  const balance = await network.publicNetwork.balance(wanted.address)
  const lacks = describeMissingFunds({ ...wanted, blockchain, coin }, balance, offer.maxCostWei)
  if (lacks !== null) throw new GdnError('refused', lacks, { hint: 'Nothing was sent. Fund the wallet first.' })
}

/** Sends one transaction for each change, and waits for it. */
async function sendChanges(editing: EditContext, plan: SettingsPlan, signer: Signer): Promise<void> {
  const { deps, network, contract, flags, output } = editing
  const { offer } = plan
  if (flags.timeout === undefined) deps.signals.endAfter(DEFAULT_WAIT_MS)
  const progress = await deps.io.progress('Sending the changes')
  const records: DataRecord[] = []
  let isSending = false
  try {
    const sleep = () => deps.sleep(network.publicNetwork.pollMs, deps.signals.signal)
    const nonce = await untilIdle(network, plan.wanted.address, sleep)
    const remaining = await permitRemaining(editing, plan)
    // Upload all files before sending any transaction.
    const calls: Hex[] = []
    for (const change of remaining) calls.push(encodeOwnerCall(await change.call()))
    for (const [index, change] of remaining.entries()) {
      isSending = true
      progress.update(`Changing ${change.setting} (${index + 1} of ${remaining.length})`)
      const data = calls[index] ?? '0x'
      const call = { to: contract, data, gas: findCost(offer, change).gas, fees: offer.fees }
      const sent = await sendCall(network, signer, nonce + index, call, sleep)
      records.push(sentRecord(editing, offer, { change, ...sent }))
    }
  } catch (error) {
    throw isSending ? toPendingError(error, 'the network has not confirmed all changes yet') : error
  } finally {
    progress.stop()
    // Print these records even after an error, because the changes were made.
    await output.many(records)
    const paid = records.filter(({ fee_paid_wei }) => typeof fee_paid_wei === 'string')
    if (paid.length > 0) deps.io.note(safe(`Paid: ${spentText(toTotalRecord(paid))}`))
  }
}

/** Requests permission for the changes that are still to be made. */
async function permitRemaining(
  editing: EditContext,
  { changes, offer, spending }: SettingsPlan,
): Promise<SettingChange[]> {
  const { deps } = editing
  // An earlier, interrupted command may have already made some of the changes.
  const { changes: remaining } = await compare(editing)
  deps.checkPlan?.(toIntent(remaining))
  refuseChanged(toIntent(changes), toIntent(remaining), { isBegun: true, hint: CHANGED_HINT })
  await deps.permit({
    ...spending,
    maxCostWei: remaining.reduce((sum, change) => sum + findCost(offer, change).maxCostWei, 0n),
  })
  return remaining
}

type SentChange = Awaited<ReturnType<typeof sendCall>> & { change: SettingChange }

const sentRecord = (
  { network, node }: EditContext,
  offer: Offer,
  { change, transactionHash, gasUsed, feePaid }: SentChange,
): DataRecord => ({
  ...toChangeRecord(change, 'confirmed'),
  ...offerRecord(offer, change),
  transaction_hash: transactionHash,
  gas_used: Number(gasUsed),
  fee_paid_wei: feePaid === null ? null : String(feePaid),
  currency: findCoinSymbol(network.chainId),
  simulated: node === null,
})

/**
 * Returns a `usage` error if the server has no embedded chain although one was requested. Returns other errors
 * unchanged.
 */
export function withoutNode(error: unknown, blockchain: EvmBlockchain): unknown {
  // The server responds, but it isn't a node.
  const isNoNode =
    error instanceof NodeFailedError && (error.cause instanceof RpcError || error.cause instanceof SyntaxError)
  if (!isNoNode) return error
  return new GdnError('usage', `no node of ${blockchain} is specified, and this server does not provide one`, {
    hint: `Nothing was sent. Set GDN_RPC_URL to the URL of a ${blockchain} node, or add --rpc-url-file <file>.`,
  })
}

const ACCEPTED_UNKNOWN_WARNING =
  'The server did not return the number of accepted NFTs. Accepted NFTs that exceed the limit will fail.'

const CHANGED_HINT = 'Nothing was sent. Run the same command again to see the current differences.'

const toIntent = (changes: readonly SettingChange[]): Intent =>
  Object.fromEntries(changes.map(({ setting, before, after }) => [setting, { before, after }]))

const toChangeRecord = (
  { setting, before, after, final }: SettingChange,
  status: 'planned' | 'written' | 'confirmed',
): DataRecord => ({
  setting,
  before,
  after,
  irreversible: final !== undefined,
  status,
  transaction_hash: null,
  gas_used: null,
  fee_paid_wei: null,
  currency: null,
  simulated: null,
  safe_address: null,
})

/** Returns a record of the total gas and total fees of transactions. */
const toTotalRecord = (records: readonly DataRecord[]): DataRecord => {
  const sum = (field: string) => String(records.reduce((total, record) => total + BigInt(String(record[field])), 0n))
  return { ...records[0], gas_used: sum('gas_used'), fee_paid_wei: sum('fee_paid_wei') }
}

const findCost = ({ costs }: Offer, { setting }: SettingChange): TransactionCost =>
  costs.get(setting) ?? { gas: 0n, maxCostWei: 0n }

const offerRecord = (offer: Offer, change: SettingChange): DataRecord => ({
  max_fee_wei: String(findCost(offer, change).maxCostWei),
})

/** The maximum gas of a transaction, and its maximum cost in wei. */
interface TransactionCost {
  gas: bigint
  maxCostWei: bigint
}

interface Offer {
  fees: Fees
  /** The maximum cost of each setting's change. */
  costs: ReadonlyMap<string, TransactionCost>
  /** The maximum total cost, in wei. */
  maxCostWei: bigint
  /** The maximum total cost in coins, such as `0.001 POL`. */
  text: string
}

async function priceChanges(
  network: RemoteNetwork,
  { from, contract: to, changes }: { from: Hex; contract: Hex; changes: readonly SettingChange[] },
): Promise<Offer> {
  const [fees, dataFee] = await Promise.all([network.publicNetwork.suggestFees(), readDataFee(network.request)])
  const costs = new Map<string, TransactionCost>()
  for (const { setting, estimate } of changes) {
    try {
      const data = encodeOwnerCall(estimate)
      const gas = await estimateGas(network, { from, to, data })
      const used = { gasLimit: gas, bytes: ENVELOPE_BYTES + size(data) }
      costs.set(setting, { gas, maxCostWei: computeMaxCost(used, { data: dataFee, offered: fees.maxFeePerGas }) })
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      throw new GdnError('refused', `the change to ${setting} would fail: ${safe(error.message)}`, {
        hint: `Nothing was sent. Check the balance of ${from}, which pays for the gas.`,
      })
    }
  }
  const totalMaxCost = [...costs.values()].reduce((sum, cost) => sum + cost.maxCostWei, 0n)
  return {
    fees,
    costs,
    maxCostWei: totalMaxCost,
    text: `${formatCoins(totalMaxCost, 'up')} ${findCoinSymbol(network.chainId) ?? 'coins'}`,
  }
}

/**
 * Returns whether the account that accepts the ownership is already the owner, for example because the command is
 * repeated.
 */
async function isOwner({ deps, network, flags: { wallet, safe: file } }: EditContext, owner: Hex): Promise<boolean> {
  if (file !== undefined) {
    const { readSafe } = await import('../../../../server/chain/evm/owner/safe.ts')
    return await readSafe(network, owner, 'owner').then(
      () => true,
      (error: unknown) => {
        if (error instanceof GdnError && error.code === 'refused') return false
        throw error
      },
    )
  }
  const address = wallet === undefined ? null : checkKeystoreFile(await findKeystore(deps, wallet, '--wallet'))
  return address !== null && isSameAddress(address, owner)
}

/** The account that must sign the changes. */
interface RequiredSigner {
  role: 'owner' | 'new owner'
  address: Hex
}

/**
 * Returns the keystore file of the wallet that must sign the changes; null for a dry run without a wallet. Checks the
 * address in the file, so that even a dry run refuses the wrong wallet.
 */
async function findWallet(deps: Deps, { wallet, dryRun }: SetFlags, wanted: RequiredSigner): Promise<string | null> {
  if (wallet === undefined) {
    if (dryRun) return null
    const problem = `is required: the ${wanted.role} ${wanted.address} must sign the changes`
    throw flagError('--wallet', problem, await walletHint(deps, wanted.address))
  }
  const file = await findKeystore(deps, wallet, '--wallet')
  const address = checkKeystoreFile(file)
  if (address !== null) refuseOtherWallet(address, wanted)
  return file
}

/** If the account that must sign is a contract, adds a hint about `--safe` to an error about `--wallet`. */
async function withSafeHint(
  network: RemoteNetwork,
  error: unknown,
  { role, address }: RequiredSigner,
): Promise<unknown> {
  if (!(error instanceof GdnError) || error.place?.flag !== '--wallet') return error
  const { isContract } = await import('../../../../server/chain/evm/owner/safe.ts')
  // The hint is optional, so ignore an error of the node.
  if (!(await isContract(network, address).catch(() => false))) return error
  return error.with({
    hint: `Nothing was sent. The ${role} is a contract, so no wallet can sign for it. If it is a Safe, use --safe <file> instead of --wallet.`,
  })
}

function refuseOtherWallet(address: Hex, wanted: RequiredSigner): void {
  if (isSameAddress(address, wanted.address)) return
  throw new GdnError(
    'refused',
    `the ${wanted.role} of the collection is ${wanted.address}, not ${checksumAddress(address)}`,
    {
      place: { flag: '--wallet' },
      hint: 'Nothing was sent.',
    },
  )
}

async function openWallet({ deps, flags }: EditContext, file: string, wanted: RequiredSigner): Promise<Signer> {
  const { passwordFile } = flags
  const password = await readPassword(deps.io, passwordFile)
  const signer = await openWithProgress(deps, () => openKeystoreFile(file, password, passwordFile))
  refuseOtherWallet(signer.address, wanted)
  return signer
}

/** Returns a hint that names the wallet with this address on this machine, if there is one. */
async function walletHint(deps: Deps, address: Hex): Promise<string> {
  const wallets = (await deps.addresses()).list()
  const keystore = wallets.find(({ kind, problem, ...wallet }) => {
    return kind === 'keystore' && problem === null && wallet.address !== null && isSameAddress(wallet.address, address)
  })
  if (keystore !== undefined) return `Add --wallet @${keystore.name}, or --dry-run, which needs no wallet.`
  return 'Add --wallet with @name or a keystore file, or --dry-run, which needs no wallet.'
}

/** Formats the old and the new value of a setting on one line. */
function formatChange({ setting, before, after }: SettingChange): string {
  const [oldValue, newValue] = [before, after].map((value) =>
    typeof value === 'boolean' ? (value ? 'yes' : 'no') : value,
  )
  return `${safe(`${setting}: ${oldValue === null ? '' : `${settingText(oldValue)} → `}${newValue === null ? 'none' : settingText(newValue)}`)}\n`
}

/** Asks for confirmation before gas is spent on a public network, and before a change that can't be undone. */
async function confirm(editing: EditContext, { changes, offer, spending }: SettingsPlan): Promise<void> {
  const {
    deps: { io },
    settings: { stateDir },
    contract,
    blockchain,
    flags,
  } = editing
  const { isPublic } = spending
  const name = findCollectionByAddress(queryStateIfReadable(stateDir, listKnownCollections), contract)?.name ?? null
  const final = changes.flatMap((change) => change.final ?? [])
  if (flags.yes || (!isPublic && final.length === 0)) return
  for (const change of changes) io.note(formatChange(change).trimEnd())
  const settings = changes.map(({ setting }) => setting).join(', ')
  const action = final.length > 0 ? final.join('. ') : `Change ${settings}`
  const cost = isPublic ? `, for at most ${offer.text}` : ''
  const collection = name === null ? contract : `${safe(name)}, ${contract}`
  const warning = final.length > 0 ? " This can't be undone." : ''
  await io.confirm(`${action} (${collection} on ${blockchain}${cost})?${warning}`, '--yes')
}

/** Waits until an account has no pending transactions. Returns its next nonce. */
async function untilIdle(network: RemoteNetwork, account: Hex, sleep: () => Promise<void>): Promise<number> {
  for (;;) {
    const nonce = await idleNonce(network, account)
    if (nonce !== null) return nonce
    await sleep()
  }
}
