/** @module-tag slow */
import { getAddress } from 'viem'
import { beforeAll, describe, expect, it } from 'vitest'
import { stateDb } from '../../../src/server/state/state-db.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showCollection,
  showNfts,
  type TestBackend,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { holdSigning } from '../../helpers/hold.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'

const [ALICE, BOB] = WALLETS
const owner = newWallet()
const holder = newWallet()

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

async function restart(): Promise<void> {
  await backend.close()
  backend = await backendForFile({ dataDir: backend.dataDir })
}

const createCollection = (request: object = {}) =>
  createTestCollection(backend, { wallet_address: owner.address, enable_transfer: true, ...request })

async function held(receiver: string = holder.address) {
  const collection = await createCollection()
  const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1), { receiver }))
  return { collection, id: String(nft?.nft_gdn_id), token: BigInt(nft?.token_id ?? '') }
}

const move = (address: string, from: typeof owner, to: string, token: bigint) =>
  rpcOf(backend).send(from, address, { functionName: 'transferFrom', args: [from.address, getAddress(to), token] })
const shown = async (id: string) => (await showNfts(backend, [id]))[0]?.receiver_wallet_address

describe('the shown owner is the one on chain', () => {
  it('at once after a transfer by the owner’s wallet', async () => {
    const { collection, id, token } = await held()
    expect(await move(collection.address, holder, owner.address, token)).toBe('success')
    expect(await shown(id)).toBe(owner.address)
    await move(collection.address, owner, BOB, token)
    expect(await shown(id)).toBe(BOB)
  })

  it('after several transfers in one block', async () => {
    const { collection, id, token } = await held(owner.address)
    const { reader } = rpcOf(backend)
    const nonce = await reader.getTransactionCount({ address: owner.address })
    const raws = await Promise.all(
      [holder.address, owner.address].map((to, index) =>
        index === 0
          ? signMove(owner, { to, nonce, token, contract: collection.address })
          : signMove(holder, { to, nonce: -1, token, contract: collection.address }),
      ),
    )
    const calls = raws.map((raw, i) => ({ jsonrpc: '2.0', id: i, method: 'eth_sendRawTransaction', params: [raw] }))
    const { json } = await backend.post('/rpc/polygon', calls)
    const receipts = await Promise.all(
      json.map(({ result }: { result: `0x${string}` }) => reader.getTransactionReceipt({ hash: result })),
    )
    expect(receipts.map((receipt) => receipt.status)).toEqual(['success', 'success'])
    expect(receipts[0]?.blockNumber).toBe(receipts[1]?.blockNumber)
    expect(await shown(id)).toBe(owner.address)
  })

  it('after a transfer that precedes the confirmation of the mint', async () => {
    const { collection, token } = await held()
    // As after a kill between mining and recording the block: the NFT is pending, and the owner's event is stored.
    await move(collection.address, holder, BOB, token)
    await backend.close()
    await withStore(backend.dataDir, async ({ db }) => {
      const nft = await stateDb(db)
        .updateTable('nfts')
        .set({ status: 'initiated', step: 'chain', owner: null, token_id: null, metadata_url: null })
        .where('collection_id', '=', collection.id)
        .returning(['id', 'transaction_id'])
        .executeTakeFirstOrThrow()
      await stateDb(db)
        .updateTable('transactions')
        .set({ state: 'signed' })
        .where('id', '=', nft.transaction_id ?? '')
        .execute()
    })
    backend = await backendForFile({ dataDir: backend.dataDir })
    const { nft_gdn_ids } = await call(backend, 'getnftgdnids', {
      contract_addresses: collection.address,
      blockchain: 'polygon',
    })
    const [nft] = await settled(backend, nft_gdn_ids)
    expect(nft).toMatchObject({ status: 'deployed', token_id: '1', receiver_wallet_address: BOB })
  })

  it('after a restart, including blocks that were not read before it', async () => {
    const { collection, id, token } = await held()
    await move(collection.address, holder, BOB, token)
    await restart()
    expect(await shown(id)).toBe(BOB)
    await backend.close()
    // As after a kill between mining a block and storing its effects.
    await withStore(backend.dataDir, async ({ db }) => {
      await db.deleteFrom('owner_cursors').where('blockchain', '=', 'polygon').execute()
      await db.deleteFrom('owner_events').where('collection_id', '=', collection.id).execute()
      await db.deleteFrom('owner_events').execute()
      await db.updateTable('nfts').set({ owner: holder.address }).where('id', '=', id).execute()
    })
    backend = await backendForFile({ dataDir: backend.dataDir })
    await expect.poll(() => shown(id)).toBe(BOB)
  })

  it('after any events of foreign contracts', async () => {
    const { collection, id, token } = await held()
    const wallet = newWallet()
    const { reader } = rpcOf(backend)
    // The constructor emits the Transfer event of ERC-721, then that of ERC-20, with two indexed arguments.
    const topic = 'ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef'
    const code = `0x6001600273${'11'.repeat(20)}7f${topic}5f5fa45f60017f${topic}5f5fa300`.replaceAll('5f', '6000')
    const raw = await wallet.signTransaction({
      type: 'eip1559',
      chainId: 137,
      nonce: 0,
      data: code as `0x${string}`,
      gas: 500_000n,
      maxFeePerGas: 100_000_000_000n,
      maxPriorityFeePerGas: 1n,
    })
    const { json } = await backend.post('/rpc/polygon', {
      jsonrpc: '2.0',
      id: 1,
      method: 'eth_sendRawTransaction',
      params: [raw],
    })
    expect((await reader.getTransactionReceipt({ hash: json.result })).logs.length).toBeGreaterThan(0)
    expect(await shown(id)).toBe(holder.address)
    await move(collection.address, holder, BOB, token)
    expect(await shown(id)).toBe(BOB)
    expect(backend.log.filter((line) => line.includes('owners polygon'))).toEqual([])
  })

  it('in getnfts after every mint and grant', async () => {
    const collection = await createCollection()
    const ids = await mint(backend, collection, plainMetadata(30), { receiver: ALICE })
    const { nfts } = await call(backend, 'createnfttrans', {
      contract_address: collection.address,
      blockchain: 'polygon',
      sender_wallet_address: ALICE,
      receiver_wallet_address: BOB,
      metadata: plainMetadata(30),
    })
    const records = await settled(backend, [...ids, ...nfts.map((nft) => nft.nft_gdn_ids)])
    for (const nft of records) {
      expect(await rpcOf(backend).ownerOf(collection.address, nft.token_id)).toBe(nft.receiver_wallet_address)
    }
  })
})

describe('the shown collection matches the chain', () => {
  it('with the flags set by its owner, at once', async () => {
    const { collection } = await held()
    const { send } = rpcOf(backend)
    const flags = async () => {
      const { enable_api, enable_transfer } = await showCollection(backend, collection.id)
      return { enable_api, enable_transfer }
    }
    expect(await flags()).toEqual({ enable_api: true, enable_transfer: true })
    await send(owner, collection.address, { functionName: 'setEnableTransfer', args: [false] })
    expect(await flags()).toEqual({ enable_api: true, enable_transfer: false })
    await send(owner, collection.address, { functionName: 'setEnableApi', args: [false] })
    expect(await flags()).toEqual({ enable_api: false, enable_transfer: false })
    await send(owner, collection.address, { functionName: 'setEnableTransfer', args: [true] })
    await send(owner, collection.address, { functionName: 'setEnableApi', args: [true] })
    expect(await flags()).toEqual({ enable_api: true, enable_transfer: true })
    const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
    expect(nft?.status).toBe('deployed')
  })

  it('with its new wallet after an ownership transfer', async () => {
    const { collection } = await held()
    await rpcOf(backend).send(owner, collection.address, {
      functionName: 'transferOwnership',
      args: [holder.address],
    })
    expect((await showCollection(backend, collection.id)).wallet_address).toBe(owner.address)
    await rpcOf(backend).send(holder, collection.address, { functionName: 'acceptOwnership' })
    expect((await showCollection(backend, collection.id)).wallet_address).toBe(holder.address)
    // The collection still works, at the same address.
    const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1)))
    expect(nft).toMatchObject({ status: 'deployed', contract_address: collection.address })
  })

  it('with both flags off permanently after the service was revoked', async () => {
    const { collection } = await held()
    await rpcOf(backend).send(owner, collection.address, { functionName: 'revokeService' })
    expect(await showCollection(backend, collection.id)).toMatchObject({ enable_api: false, enable_transfer: false })
    await restart()
    expect(await showCollection(backend, collection.id)).toMatchObject({ enable_api: false, enable_transfer: false })
  })

  it('without changes after a stranger’s reverted call', async () => {
    const { collection } = await held()
    const change = { functionName: 'setEnableApi', args: [false] } as { functionName: 'setEnableApi'; args: [boolean] }
    expect(await rpcOf(backend).send(holder, collection.address, change)).toBe('reverted')
    expect((await showCollection(backend, collection.id)).enable_api).toBe(true)
  })
})

describe('getisgdnnft', () => {
  const ask = (body: object) => backend.post('/api/v1/getisgdnnft/', body)
  const question = (id: string, address: string, blockchain = 'polygon') => ({
    receiver_wallet_address: address,
    blockchain,
    nft_gdn_ids: [id],
  })

  it('returns true with the NFT for the current owner, and echoes a list of one ID as a string', async () => {
    const { collection, id } = await held()
    const body = question(id, holder.address)
    expect(await ask(body)).toMatchObject({ status: 200 })
    expect((await ask(body)).json).toEqual({
      requests: { receiver_wallet_address: holder.address, blockchain: 'polygon', nft_gdn_id: id },
      response: {
        isgdnnft: true,
        nft: {
          nft_gdn_id: id,
          token_id: '1',
          contract_address: collection.address,
          receiver_wallet_address: holder.address,
          status: 'deployed',
        },
      },
    })
  })

  it('accepts the ID as a string, as in the parameter table, and the address in any case', async () => {
    const { id } = await held()
    const body = { ...question(id, holder.address.toLowerCase()), nft_gdn_ids: id }
    const { json } = await ask(body)
    expect(json.requests).toEqual({
      receiver_wallet_address: holder.address.toLowerCase(),
      blockchain: 'polygon',
      nft_gdn_id: id,
    })
    expect(json.response).toMatchObject({ isgdnnft: true, nft: { receiver_wallet_address: holder.address } })
  })

  it('returns false without an NFT for a previous owner, another chain or an unknown ID', async () => {
    const { collection, id, token } = await held()
    await move(collection.address, holder, BOB, token)
    expect((await ask(question(id, BOB))).json.response.isgdnnft).toBe(true)
    for (const body of [
      question(id, holder.address),
      question(id, ALICE),
      question(id, BOB, 'fantom'),
      question('unknown', BOB),
      question(id, '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM', 'solana'),
    ]) {
      const answer = await ask(body)
      expect(answer.status).toBe(200)
      expect(answer.json.response).toEqual({ isgdnnft: false })
    }
  })

  it('returns false before the NFT is deployed', async () => {
    const collection = await createCollection()
    const resume = await holdSigning(backend.dataDir, 'mint')
    const [id = ''] = await mint(backend, collection, plainMetadata(1), { receiver: ALICE })
    expect((await ask(question(id, ALICE))).json.response).toEqual({ isgdnnft: false })
    await resume()
    await settled(backend, [id])
    expect((await ask(question(id, ALICE))).json.response.isgdnnft).toBe(true)
  })

  it('returns NFTs of any account', async () => {
    const { collection, id } = await held()
    await withStore(backend.dataDir, async ({ db }) => {
      await db.insertInto('accounts').values({ id: 'other', email: null, created_at: 9e15 }).execute()
      await db.updateTable('collections').set({ account_id: 'other' }).where('id', '=', collection.id).execute()
    })
    expect(await showNfts(backend, [id])).toEqual([])
    expect((await ask(question(id, holder.address))).json.response.isgdnnft).toBe(true)
  })

  it('returns 422 for several IDs, none, or an invalid body', async () => {
    const { id } = await held()
    for (const body of [
      { ...question(id, BOB), nft_gdn_ids: [id, id] },
      { ...question(id, BOB), nft_gdn_ids: [] },
      { ...question(id, BOB), receiver_wallet_address: '0x1' },
      { nft_gdn_ids: [id] },
      '{',
    ]) {
      const answer = await backend.post('/api/v1/getisgdnnft', body)
      expect(answer).toMatchObject({ status: 422, json: { error: { title: 'Request Validation Error' } } })
    }
  })
})

async function signMove(
  account: typeof owner,
  { to, nonce, token, contract }: { to: string; nonce: number; token: bigint; contract: string },
) {
  const word = (hex: string) => hex.replace(/^0x/, '').toLowerCase().padStart(64, '0')
  const count = await rpcOf(backend).reader.getTransactionCount({ address: account.address })
  return account.signTransaction({
    type: 'eip1559',
    chainId: 137,
    nonce: nonce === -1 ? count : nonce,
    to: getAddress(contract),
    data: `0x23b872dd${word(account.address)}${word(to)}${word(token.toString(16))}`,
    gas: 300_000n,
    maxFeePerGas: 100_000_000_000n,
    maxPriorityFeePerGas: 1_000_000_000n,
  })
}
