import { ZERO_ADDRESS } from '../../api/address.ts'
import { type Blockchain, isEvm } from '../../api/blockchains.ts'
import { MAX_EVENTS_PER_REQUEST } from '../../api/endpoints/getnfthistory.ts'
import { ERROR_TITLES } from '../../api/errors.ts'
import { formatUtcTime } from '../../core/time.ts'
import { listHistory } from '../store/nft-history.ts'
import { findNft } from '../store/nfts.ts'
import { readFeesOfMint } from '../store/run-costs.ts'
import type { Db } from '../store/schema.ts'
import { paidFeeFields } from './get-transactions.ts'
import { readBlockTimes, readShownChanges } from './nft-history.ts'
import { Refusal } from './refusals.ts'
import type { RequestOf, ServiceDeps } from './services.ts'

/** Returns an NFT's share of the gas and the fee of its mint. All NFTs of a transaction have equal shares. */
async function readMintCost(
  { db, chains }: Pick<ServiceDeps, 'chains'> & { db: Db },
  id: string,
  blockchain: Blockchain,
): Promise<{ gas_used?: string | null; fee_paid?: string; currency?: string | null; is_simulated?: boolean }> {
  const paid = await readFeesOfMint(db, id)
  if (paid === null) return {}
  const part = (amount: string | null) => (amount === null ? null : String(BigInt(amount) / BigInt(paid.token_count)))
  return { gas_used: part(paid.gas_used), ...paidFeeFields(chains, blockchain, part(paid.fee_paid)) }
}

/** Returns the history of an NFT, including events that the service didn't cause. */
export async function getNftHistory(
  { store: { db }, chains }: Pick<ServiceDeps, 'store' | 'chains'>,
  { accountId, parsed }: RequestOf<'getnfthistory'>,
) {
  const { nft_gdn_id: id, offset = 0, limit = MAX_EVENTS_PER_REQUEST } = parsed
  const nft = await findNft(db, id)
  if (nft?.account_id !== accountId) throw new Refusal(404, ERROR_TITLES.notFound, `there is no NFT ${id}`)
  const { blockchain } = nft
  const history = await listHistory(db, nft, { offset, limit: limit + 1 })
  const rows = history.slice(0, limit)
  const times = await readBlockTimes({ db, chains }, blockchain, rows)
  const dateOf = (ms: number | null | undefined) => (typeof ms === 'number' ? formatUtcTime(ms) : null)
  const events = []
  // Process rows one after the other, because the metadata of each event may be a megabyte long.
  for (const row of rows) {
    const { kind, status, accepted_at, block_number, transaction_hash, sender, receiver, revision, error } = row
    const link = transaction_hash === null ? null : chains.transactionUrl(blockchain, transaction_hash)
    events.push({
      kind,
      status,
      transaction_gdn_id: row.id,
      accepted_date: dateOf(accepted_at),
      block_date: dateOf(times.get(block_number ?? -1)),
      block_number,
      transaction_hash,
      from: sender,
      to: isEvm(blockchain) || receiver !== ZERO_ADDRESS ? receiver : null,
      revision,
      ...(await readShownChanges(db, id, row)),
      error,
      ...(kind === 'mint' && status === 'deployed' ? await readMintCost({ db, chains }, id, blockchain) : {}),
      ...(link === null ? {} : { explorer_url: link }),
    })
  }
  return { requests: parsed, events, next_offset: history.length > limit ? offset + limit : null }
}
