import { decodeFunctionData, encodeFunctionResult, zeroAddress } from 'viem'
import { burnnft } from '../../src/api/endpoints/burnnft.ts'
import { freezenft } from '../../src/api/endpoints/freezenft.ts'
import { updatednft } from '../../src/api/endpoints/updatednft.ts'
import { gdnCollection } from '../../src/server/chain/evm/contracts/generated/artifacts.ts'
import type { Hex } from '../../src/server/chain/evm/network.ts'
import { burnNft } from '../../src/server/services/burn-nft.ts'
import { freezeNft } from '../../src/server/services/freeze-nft.ts'
import type { ServiceDeps } from '../../src/server/services/services.ts'
import { updateNft } from '../../src/server/services/update-nft.ts'
import type { Store } from '../../src/server/store/open-store.ts'
import type { Db } from '../../src/server/store/schema.ts'
import { WALLETS } from './backend.ts'
import { insertAccountAndRequest, insertCollection, insertNfts } from './rows.ts'

const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const NFT = '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'
const [OWNER = '', BOB = ''] = WALLETS
const { abi } = gdnCollection

/** Adds a deployed NFT in a collection that permits all changes. */
export async function addChangeable(db: Db): Promise<void> {
  await insertAccountAndRequest(db, { accepted_at: 1 })
  await insertCollection(db, {
    contract_address: CONTRACT,
    enable_transfer: 0,
    next_token_id: '2',
    dynamic: 1,
    enable_burn: 1,
  })
  await insertNfts(db, [
    {
      ...{ id: NFT, request_id: 'r', collection_id: 'c', receiver: BOB, owner: BOB, metadata: '{}', token_id: '1' },
      ...{ status: 'deployed', step: 'done', next_attempt_at: 0 },
    },
  ])
}

/** The collection and its token on chain. */
function answer(data: Hex): Hex {
  const { functionName } = decodeFunctionData({ abi, data })
  const [owner, holder] = [OWNER as Hex, BOB as Hex]
  const flags = { enableApi: true, enableTransfer: false, revoked: false, locked: false }
  const rights = { owner, ...flags, nextTokenId: 2n, maxSupply: 0n }
  const common = { version: 2n, dynamic: true, enableBurn: true, frozen: false }
  const lifecycle = { ...common, updateCount: 0, pendingOwner: zeroAddress }
  switch (functionName) {
    case 'state':
      return encodeFunctionResult({ abi, functionName, result: rights })
    case 'lifecycle':
      return encodeFunctionResult({ abi, functionName, result: lifecycle })
    case 'metadataState':
      return encodeFunctionResult({ abi, functionName, result: { revision: 0, dynamic: true, frozen: false } })
    case 'ownerOf':
      return encodeFunctionResult({ abi, functionName, result: holder })
    default:
      throw new Error(`unexpected call of ${functionName}`)
  }
}

/** @param beforeReading called before the chain is read, which is between the checks and the acceptance */
const depsOf = (store: Store, beforeReading = async () => {}) =>
  ({
    ...{ store, now: () => 1, storage: null, checkedFiles: null, signedUrls: null },
    chains: {
      remote: new Map(),
      network: async () => {
        await beforeReading()
        return { request: async (_: string, [{ data }]: [{ data: Hex }]) => answer(data) }
      },
    },
    pipeline: { onNftsAccepted() {}, onTransferAccepted() {} },
  }) as unknown as ServiceDeps

let requests = 0
const requestOf = <Parsed>(schema: { parse(body: unknown): Parsed }, body: Readonly<Record<string, unknown>>) => ({
  ...{ accountId: 'a', parsed: schema.parse(body), body, idempotencyKey: null, run: null },
  ...{ requestId: `request-${requests++}`, origin: () => '' },
})

/** Asks a service to change the NFT. */
export type AskChange = (store: Store, beforeReading?: () => Promise<void>) => Promise<unknown>

export const update: AskChange = (store, beforeReading) =>
  updateNft(
    depsOf(store, beforeReading),
    requestOf(updatednft.request, {
      ...{ nft_gdn_id: NFT, contract_address: CONTRACT, replaces_revision: 0 },
      metadata: [{ title: 'Dusk', description: '', file_fields: [] }],
    }),
  )

export const burn: AskChange = (store, beforeReading) =>
  burnNft(
    depsOf(store, beforeReading),
    requestOf(burnnft.request, { contract_address: CONTRACT, nft_gdn_id: NFT, holder_wallet_address: BOB }),
  )

export const freeze: AskChange = (store, beforeReading) =>
  freezeNft(
    depsOf(store, beforeReading),
    requestOf(freezenft.request, { contract_address: CONTRACT, nft_gdn_ids: [NFT] }),
  )
