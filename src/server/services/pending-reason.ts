import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { count } from '../../core/count.ts'
import { formatUtcTime } from '../../core/time.ts'
import { chainFacts } from '../pipeline/chain-facts.ts'
import { findCollections } from '../store/collections.ts'
import { limitedRuns, listRunsOfUnmined, readRunsOfRequests } from '../store/run-costs.ts'
import type { Db } from '../store/schema.ts'
import { countMintableTokens } from '../store/supply.ts'
import { heldCollections } from '../store/transactions.ts'
import { readFeesOrNull } from './get-fees.ts'
import type { ServiceDeps } from './services.ts'

type Chains = Pick<ServiceDeps['chains'], 'remote' | 'solana'>

/**
 * Returns why no signer of a blockchain can sign, such as missing funds. Returns null if a signer can sign. For signed
 * transactions, returns the reason only if a signer can't pay for its next pending transaction.
 */
export function findSigningProblem(
  { remote, solana }: Chains,
  blockchain: Blockchain,
  isSigned: boolean,
): string | null {
  if (isEvm(blockchain)) return remote.problem(blockchain, isSigned)
  return isSigned ? null : solana.clusters.problem(blockchain)
}

/**
 * Returns why no block includes a transaction: no node is usable, or there are no new blocks. Returns null otherwise.
 */
export async function findStallReason(
  { remote }: Pick<Chains, 'remote'>,
  blockchain: Blockchain,
): Promise<string | null> {
  if (!isEvm(blockchain) || !remote.has(blockchain)) return null
  const silence = remote.silenceReason(blockchain)
  if (silence !== null) return `the network ${blockchain} can't be used: ${silence}`
  const newest = await remote.newestBlock(blockchain)
  if (newest === null || !newest.isStalled) return null
  return `the network ${blockchain} has had no new block since ${formatUtcTime(newest.time)} UTC`
}

/**
 * Returns why a request without NFTs is pending: the signers lack funds, or the nodes or blocks of the blockchain delay
 * it.
 */
export const findPendingReason = async (
  chains: Chains,
  blockchain: Blockchain,
  isSigned: boolean,
): Promise<string | null> =>
  findSigningProblem(chains, blockchain, isSigned) ?? (await findStallReason(chains, blockchain))

/** Returns the number of blocks until a block is final, at least 1; null if the newest block isn't known. */
async function countBlocksLeft({ remote }: Pick<Chains, 'remote'>, blockchain: Blockchain, block: number) {
  const newest = isEvm(blockchain) ? await remote.newestBlock(blockchain) : null
  if (newest === null || !isEvm(blockchain)) return null
  return Math.max(1, block + remote.network(blockchain).publicNetwork.finality - 1 - newest.number)
}

/**
 * Returns why the unsigned mints of collections wait, by collection: for a transaction, or for a maximum supply that
 * isn't final yet. Returns an empty map except on public networks.
 */
export async function findHeldReasons(
  db: Db,
  chains: Pick<Chains, 'remote'>,
  collections: readonly { id: string; blockchain: Blockchain }[],
): Promise<ReadonlyMap<string, string>> {
  const onPublic = new Map(
    collections.flatMap(({ id, blockchain }) =>
      isEvm(blockchain) && chains.remote.has(blockchain) ? [[id, blockchain] as const] : [],
    ),
  )
  const holdingTransactions = onPublic.size === 0 ? [] : await heldCollections(db, [...onPublic.keys()])
  const reasons = new Map<string, string>()
  for (const row of onPublic.size === 0 ? [] : await findCollections(db, [...onPublic.keys()])) {
    if (countMintableTokens(row) > 0) continue
    reasons.set(
      row.id,
      `the collection has reached its maximum supply of ${row.max_supply} NFTs, but its last mints are not final yet`,
    )
  }
  for (const [id, { outcome, block }] of holdingTransactions) {
    const blockchain = onPublic.get(id)
    const remaining =
      blockchain === undefined || block === null ? null : await countBlocksLeft(chains, blockchain, block)
    const blocks = remaining === null ? '' : `, ${count(remaining, 'block')} left`
    const status = outcome === 'cancelled' ? 'canceled' : outcome
    reasons.set(id, `waiting until the ${status} transaction of its collection is final${blocks}`)
  }
  return reasons
}

/** Returns why signed transactions wait for a higher limit of their run, by transaction. */
export async function findStuckReasons(
  { store: { db }, chains }: Pick<ServiceDeps, 'store' | 'chains'>,
  transactions: readonly { id: string; blockchain: Blockchain }[],
): Promise<ReadonlyMap<string, string>> {
  const reasons = new Map<string, string>()
  for (const blockchain of new Set(transactions.map((transaction) => transaction.blockchain))) {
    if (!isEvm(blockchain) || !chains.remote.has(blockchain)) continue
    const ids = new Set(transactions.filter((transaction) => transaction.blockchain === blockchain).map(({ id }) => id))
    const runs = await listRunsOfUnmined(db, [...ids])
    const { gas } = chainFacts(chains, blockchain)
    const current = runs.length === 0 || gas === undefined ? null : await readFeesOrNull(gas)
    if (gas === undefined || current === null) continue
    for (const run of runs) {
      const stuck = await gas.findStuckRun(db, run, current)
      for (const id of stuck?.transactions ?? []) reasons.set(id, stuck?.reason ?? '')
    }
  }
  return reasons
}

/** An accepted request, or one of its rows. */
interface Accepted {
  request_id: string
  collection_id: string
  blockchain: Blockchain
  transaction_id: string | null
}

/**
 * Returns why requests that aren't signed yet wait for a higher limit of their run or for lower fees. The map is keyed
 * by request.
 */
export async function findLimitReasons(
  { store: { db }, chains }: Pick<ServiceDeps, 'store' | 'chains'>,
  accepted: readonly Accepted[],
): Promise<ReadonlyMap<string, string>> {
  const reasons = new Map<string, string>()
  const unsigned = accepted.filter((row) => row.transaction_id === null)
  /** The fees by blockchain. Caching them avoids waiting for a slow network more than once. */
  const fees = new Map<string, Awaited<ReturnType<typeof readFeesOrNull>>>()
  const collections = new Map(unsigned.map((row) => [row.collection_id, row.blockchain]))
  for (const [collectionId, blockchain] of collections) {
    const rows = unsigned.filter((row) => row.collection_id === collectionId)
    const limited = await limitedRuns(db, collectionId)
    const { gas } = chainFacts(chains, blockchain)
    if (gas === undefined || limited.length === 0) continue
    const current = fees.get(blockchain) ?? (fees.has(blockchain) ? null : await readFeesOrNull(gas))
    fees.set(blockchain, current)
    if (current === null) continue
    const requests = [...(await readRunsOfRequests(db, [...new Set(rows.map(({ request_id }) => request_id))]))]
    for (const run of limited) {
      const requestsOfRun = requests.filter(([, name]) => name === run.run)
      if (requestsOfRun.length === 0) continue
      const stuck = await gas.findStuckRun(db, run, current)
      const reason = stuck?.reason ?? (await gas.findPriceWaitReason(db, run, current))
      if (reason !== null) for (const [id] of requestsOfRun) reasons.set(id, reason)
    }
  }
  return reasons
}
