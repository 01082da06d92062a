import { ZERO_ADDRESS } from '../../api/address.ts'
import { collectionFields } from './collections.ts'
import { resolveOwner } from './nfts.ts'
import type { Db, TransferKind, UpdateKind } from './schema.ts'
import { finalTransfers, resolveReceiverName } from './transfers.ts'

/** The data of an event, and the account to which the event belongs. */
export interface EventSubject {
  accountId: string
  data: object
}

const receiverNameField = (receiver_name: string | null) => (receiver_name === null ? {} : { receiver_name })
const errorField = (error: string | null) => (error === null ? {} : { error })

/** Returns NFTs in the format of getnfts, with their blockchain. */
export async function nftSubjects(db: Db, ids: readonly string[]): Promise<EventSubject[]> {
  const rows = await db
    .selectFrom('nfts')
    .innerJoin('collections', 'collections.id', 'nfts.collection_id')
    .select([
      ...([
        'nfts.id',
        'nfts.token_id',
        'nfts.receiver',
        'nfts.receiver_name',
        'nfts.owner',
        'nfts.status',
        'nfts.metadata',
      ] as const),
      ...(['nfts.metadata_url', 'nfts.error', 'nfts.revision', 'nfts.dynamic', 'nfts.frozen'] as const),
      ...(['collections.dynamic as collection_dynamic', 'collections.frozen as collection_frozen'] as const),
      ...(['collections.contract_address', 'collections.blockchain', 'collections.account_id'] as const),
    ])
    .where('nfts.id', 'in', ids)
    .orderBy('nfts.seq')
    .execute()
  const transfers = await finalTransfers(db, ids)
  return rows.map((row) => ({
    accountId: row.account_id,
    data: {
      nft_gdn_id: row.id,
      token_id: row.token_id,
      contract_address: row.contract_address,
      blockchain: row.blockchain,
      receiver_wallet_address: resolveOwner(row),
      status: row.status,
      request_metadata: JSON.parse(row.metadata) as unknown,
      metadata_url: row.metadata_url,
      minted_to: row.receiver,
      ...receiverNameField(resolveReceiverName(row, transfers.get(row.id))),
      revision: row.revision,
      transfers: transfers.get(row.id)?.count ?? 0,
      is_dynamic: row.dynamic === 1 || row.collection_dynamic === 1,
      is_frozen: row.frozen === 1 || row.collection_frozen === 1,
      burned: row.owner === ZERO_ADDRESS,
      ...errorField(row.error),
    },
  }))
}

/** Returns a collection in the format of getcollections. */
export async function collectionSubject(db: Db, id: string): Promise<EventSubject> {
  const row = await db.selectFrom('collections').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  return {
    accountId: row.account_id,
    data: {
      transaction_gdn_id: row.id,
      ...collectionFields(row),
    },
  }
}

/** Returns a transfer or burn with the fields of its request and the fields of gettransactions. */
export async function transferSubject(db: Db, id: string): Promise<EventSubject & { kind: TransferKind }> {
  const row = await db
    .selectFrom('transfers')
    .innerJoin('nfts', 'nfts.id', 'transfers.nft_id')
    .innerJoin('collections', 'collections.id', 'transfers.collection_id')
    .leftJoin('transactions', 'transactions.id', 'transfers.transaction_id')
    .select(['transfers.nft_id', 'transfers.blockchain', 'transfers.sender', 'transfers.receiver', 'transfers.status'])
    .select(['transfers.error', 'nfts.token_id', 'collections.contract_address', 'collections.account_id'])
    .select(['transactions.hash', 'transfers.kind', 'transfers.receiver_name'])
    .where('transfers.id', '=', id)
    .executeTakeFirstOrThrow()
  return {
    accountId: row.account_id,
    kind: row.kind,
    data: {
      transaction_gdn_id: id,
      nft_gdn_id: row.nft_id,
      token_id: row.token_id,
      contract_address: row.contract_address,
      blockchain: row.blockchain,
      ...(row.kind === 'burn'
        ? { holder_wallet_address: row.sender }
        : {
            sender_wallet_address: row.sender,
            receiver_wallet_address: row.receiver,
            ...receiverNameField(row.receiver_name),
          }),
      status: row.status,
      transaction_hash: row.hash,
      ...errorField(row.error),
    },
  }
}

/**
 * Returns updates, freezes and commitments in the order of acceptance, with the fields of their requests and the fields
 * of gettransactions.
 */
export async function updateSubjects(
  db: Db,
  seqs: readonly number[],
): Promise<(EventSubject & { kind: UpdateKind })[]> {
  const rows = await db
    .selectFrom('updates')
    .leftJoin('nfts', 'nfts.id', 'updates.nft_id')
    .innerJoin('collections', 'collections.id', 'updates.collection_id')
    .leftJoin('transactions', 'transactions.id', 'updates.transaction_id')
    .select(['updates.id', 'updates.kind', 'updates.nft_id', 'updates.blockchain', 'updates.status', 'updates.error'])
    .select(['updates.metadata', 'updates.revision', 'updates.first_token_id', 'nfts.token_id', 'nfts.metadata_url'])
    .select(['collections.contract_address', 'collections.account_id', 'transactions.hash'])
    .where('updates.seq', 'in', seqs)
    .orderBy('updates.seq')
    .execute()
  return rows.map((row) => ({
    accountId: row.account_id,
    kind: row.kind,
    data: {
      transaction_gdn_id: row.id,
      ...(row.kind === 'provenance'
        ? { provenance: row.metadata, first_token_id: row.first_token_id }
        : { nft_gdn_id: row.nft_id, token_id: row.token_id }),
      contract_address: row.contract_address,
      blockchain: row.blockchain,
      ...(row.kind === 'update'
        ? {
            request_metadata: JSON.parse(row.metadata) as unknown,
            metadata_url: row.metadata_url,
            revision: row.revision,
          }
        : {}),
      status: row.status,
      transaction_hash: row.hash,
      ...errorField(row.error),
    },
  }))
}
