import type { Db } from './schema.ts'

/** The content of an event, and its account. */
export interface Subject {
  accountId: string
  data: object
}

const withError = (error: string | null) => (error === null ? {} : { error })

/** Returns NFTs in the format of getnfts, with the blockchain. */
export async function nftSubjects(db: Db, ids: readonly string[]): Promise<Subject[]> {
  const rows = await db
    .selectFrom('nfts')
    .innerJoin('collections', 'collections.id', 'nfts.collection_id')
    .select([
      ...(['nfts.id', 'nfts.token_id', 'nfts.receiver', 'nfts.owner', 'nfts.status', 'nfts.metadata'] as const),
      ...(['nfts.metadata_url', 'nfts.error'] as const),
      ...(['collections.contract_address', 'collections.blockchain', 'collections.account_id'] as const),
    ])
    .where('nfts.id', 'in', ids)
    .orderBy('nfts.seq')
    .execute()
  return rows.map((row) => ({
    accountId: row.account_id,
    data: {
      nft_gdn_id: row.id,
      token_id: row.token_id,
      contract_address: row.contract_address,
      blockchain: row.blockchain,
      receiver_wallet_address: row.owner ?? row.receiver,
      status: row.status,
      request_metadata: JSON.parse(row.metadata) as unknown,
      metadata_url: row.metadata_url,
      ...withError(row.error),
    },
  }))
}

/** Returns a collection in the format of getcollections. */
export async function collectionSubject(db: Db, id: string): Promise<Subject> {
  const row = await db.selectFrom('collections').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  return {
    accountId: row.account_id,
    data: {
      transaction_gdn_id: row.id,
      contract_address: row.contract_address,
      blockchain: row.blockchain,
      name: row.name,
      wallet_address: row.wallet_address,
      enable_api: row.enable_api === 1,
      enable_transfer: row.enable_transfer === 1,
      is_locked: row.is_locked === 1,
      description: row.description ?? '',
      image: row.image ?? '',
      status: row.status,
      ...withError(row.error),
    },
  }
}

/** Returns a transfer with the fields of transfernft and gettransactions. */
export async function transferSubject(db: Db, id: string): Promise<Subject> {
  const row = await db
    .selectFrom('transfers')
    .innerJoin('nfts', 'nfts.id', 'transfers.nft_id')
    .innerJoin('collections', 'collections.id', 'transfers.collection_id')
    .leftJoin('transactions', 'transactions.id', 'transfers.transaction_id')
    .select(['transfers.nft_id', 'transfers.blockchain', 'transfers.sender', 'transfers.receiver', 'transfers.status'])
    .select(['transfers.error', 'nfts.token_id', 'collections.contract_address', 'collections.account_id'])
    .select('transactions.hash')
    .where('transfers.id', '=', id)
    .executeTakeFirstOrThrow()
  return {
    accountId: row.account_id,
    data: {
      transaction_gdn_id: id,
      nft_gdn_id: row.nft_id,
      token_id: row.token_id,
      contract_address: row.contract_address,
      blockchain: row.blockchain,
      sender_wallet_address: row.sender,
      receiver_wallet_address: row.receiver,
      status: row.status,
      transaction_hash: row.hash,
      ...withError(row.error),
    },
  }
}
