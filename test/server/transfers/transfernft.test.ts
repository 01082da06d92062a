/** @module-tag slow */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sql } from 'kysely'
import { zeroAddress } from 'viem'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { stateDb } from '../../../src/server/state/state-db.ts'
import {
  type Answer,
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showNfts,
  type TestBackend,
  type TestCollection,
  until,
  usedNonces,
  WALLETS,
  withStore,
} from '../../helpers/backend.ts'
import { expectRejected } from '../../helpers/expect-rejected.ts'
import { holdFollowing, holdMining, holdSettling, holdSigning } from '../../helpers/hold.ts'
import { stopProcess } from '../../helpers/processes.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'
import { isOnPostgres } from '../../helpers/test-database.ts'

const [, , BOB] = WALLETS
const owner = newWallet()
const holder = newWallet()

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})
afterEach(() => {
  expect(backend.log.filter((line) => line.includes('failed unexpectedly'))).toEqual([])
})

const createCollection = (request: object = {}) =>
  createTestCollection(backend, { wallet_address: owner.address, enable_transfer: true, ...request })

/** A request to transfer the holder's NFT to Bob. */
async function transferable(collection: TestCollection, receiver: string = holder.address) {
  const [nft] = await settled(backend, await mint(backend, collection, plainMetadata(1), { receiver }))
  return {
    contract_address: collection.address,
    token_id: String(nft?.token_id),
    blockchain: collection.blockchain,
    nft_gdn_id: String(nft?.nft_gdn_id),
    sender_wallet_address: receiver,
    receiver_wallet_address: BOB as string,
  }
}

const transfer = (body: object, headers?: Record<string, string>) => backend.post('/api/v1/transfernft', body, headers)

/** Waits for transactions with one request at a time: a poll for each would keep the backend from making them. */
async function outcomes(transaction_gdn_ids: string[]) {
  const ask = async () => (await call(backend, 'gettransactions', { transaction_gdn_ids })).transactions
  return until(ask, (all) => all.length > 0 && all.every(({ status }) => status !== 'initiated'))
}
const outcome = async (id: string) => (await outcomes([id]))[0]

const idOf = (answer: Answer): string => {
  expect(answer.status).toBe(200)
  return answer.json.response.transaction_gdn_id
}
const ownerOf = async (id: string) => (await showNfts(backend, [id]))[0]?.receiver_wallet_address

describe('a transfer', () => {
  it('is accepted with an echo of the request, and makes the receiver the owner on chain and in getnfts', async () => {
    const collection = await createCollection()
    const body = await transferable(collection)
    const answer = await transfer(body)
    const id = idOf(answer)
    expect(answer.json).toEqual({
      requests: {
        contract_address: body.contract_address,
        receiver_wallet_address: BOB,
        blockchain: 'polygon',
        sender_wallet_address: holder.address,
      },
      response: { transaction_gdn_id: id, accepted_date: expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/) },
    })
    const done = await outcome(id)
    expect(done).toEqual({
      transaction_gdn_id: id,
      status: 'deployed',
      transaction_hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      gas_used: expect.stringMatching(/^\d+$/),
      fee_paid: expect.stringMatching(/^\d+$/),
      currency: 'POL',
      is_simulated: true,
      error: null,
    })
    // Once the transfer is reported as done, the new owner is visible.
    expect(await ownerOf(body.nft_gdn_id)).toBe(BOB)
    expect(await rpcOf(backend).ownerOf(collection.address, body.token_id)).toBe(BOB)
    const receipt = await rpcOf(backend).reader.getTransactionReceipt({ hash: done?.transaction_hash as `0x${string}` })
    expect(String(receipt.gasUsed)).toBe(done?.gas_used)
  })

  it('accepts the sample’s spelling tokenid, a trailing slash and addresses in any case', async () => {
    const { token_id: tokenid, ...rest } = await transferable(await createCollection())
    const body = {
      ...rest,
      tokenid,
      sender_wallet_address: rest.sender_wallet_address.toLowerCase(),
      contract_address: rest.contract_address.toLowerCase(),
    }
    const answer = await backend.post('/api/v1/transfernft/', body)
    expect((await outcome(idOf(answer)))?.status).toBe('deployed')
    expect(answer.json.requests).toEqual({
      contract_address: body.contract_address,
      receiver_wallet_address: BOB,
      blockchain: 'polygon',
      sender_wallet_address: body.sender_wallet_address,
    })
  })

  it('to the sender itself is valid', async () => {
    const body = await transferable(await createCollection())
    const id = idOf(await transfer({ ...body, receiver_wallet_address: body.sender_wallet_address }))
    expect(await outcome(id)).toMatchObject({ status: 'deployed' })
    expect(await ownerOf(body.nft_gdn_id)).toBe(holder.address)
  })

  it('is rejected if replaces_transfers is not the number of transfers that the NFT has', async () => {
    const collection = await createCollection()
    const request = { ...(await transferable(collection)), receiver_wallet_address: holder.address }
    const { nft_gdn_id } = request
    const transfers = async () => (await showNfts(backend, [nft_gdn_id]))[0]?.transfers
    expect(await transfers()).toBe(0)
    expectRejected(await transfer({ ...request, replaces_transfers: 1 }), /replaces_transfers is 1, but the NFT has 0/)
    const first = await transfer({ ...request, replaces_transfers: 0 })
    expect(first.status).toBe(200)
    await until(transfers, (count) => count === 1)
    expectRejected(await transfer({ ...request, replaces_transfers: 0 }), /replaces_transfers is 0, but the NFT has 1/)
    expect((await transfer({ ...request, replaces_transfers: 1 })).status).toBe(200)
  })

  // The order of the statements is the same on PostgreSQL.
  it.skipIf(isOnPostgres())('is rejected if another transfer becomes final while it is accepted', async () => {
    const request = { ...(await transferable(await createCollection())), receiver_wallet_address: holder.address }
    await outcome(idOf(await transfer(request)))
    const drop = await withStore(backend.dataDir, async ({ db }) => {
      const columns = sql.raw('request_id, collection_id, nft_id, blockchain, sender, receiver, status, transaction_id')
      await sql`create trigger meanwhile before insert on transfers when new.status = 'initiated' begin
        insert into transfers (id, ${columns}) select ${sql.lit('meanwhile')}, ${columns} from transfers
        where nft_id = new.nft_id limit 1; end`.execute(db)
      return () => withStore(backend.dataDir, (store) => sql`drop trigger meanwhile`.execute(store.db))
    })
    const answer = await transfer({ ...request, replaces_transfers: 1 })
    await drop()
    expectRejected(answer, /replaces_transfers is 1, but the NFT has 2/)
    expect((await transfer({ ...request, replaces_transfers: 1 })).status).toBe(200)
  })

  it('can be followed by another from the new owner', async () => {
    const body = await transferable(await createCollection())
    await outcome(idOf(await transfer(body)))
    const back = { ...body, sender_wallet_address: BOB, receiver_wallet_address: holder.address }
    expect(await outcome(idOf(await transfer(back)))).toMatchObject({ status: 'deployed' })
    expect(await ownerOf(body.nft_gdn_id)).toBe(holder.address)
  })

  it('works on another EVM chain, too', async () => {
    const body = await transferable(await createCollection({ blockchain: 'bnb-testnet' }))
    expect(await outcome(idOf(await transfer(body)))).toMatchObject({ status: 'deployed' })
  })

  it('completes 100 times at once in one collection during mints, with every nonce used once', async () => {
    const collection = await createCollection()
    const ids = await mint(backend, collection, plainMetadata(100), { receiver: holder.address })
    const nfts = await settled(backend, ids)
    const bodies = nfts.map((nft) => ({
      contract_address: collection.address,
      token_id: nft.token_id,
      blockchain: 'polygon',
      nft_gdn_id: nft.nft_gdn_id,
      sender_wallet_address: holder.address,
      receiver_wallet_address: BOB,
    }))
    const [transfers, minted] = await Promise.all([
      Promise.all(bodies.map(async (body) => idOf(await transfer(body)))).then(outcomes),
      Promise.all(Array.from({ length: 10 }, () => mint(backend, collection, plainMetadata(3)))),
    ])
    expect(transfers.map(({ status }) => status)).toEqual(bodies.map(() => 'deployed'))
    expect((await settled(backend, minted.flat())).every((nft) => nft.status === 'deployed')).toBe(true)
    expect((await showNfts(backend, ids)).map((nft) => nft.receiver_wallet_address)).toEqual(ids.map(() => BOB))
    for (const nonces of Object.values(await usedNonces(backend.dataDir)))
      expect(nonces).toEqual(nonces.map((_, i) => i))
  })
})

describe('is rejected, with nothing accepted,', () => {
  let collection: TestCollection
  let body: Awaited<ReturnType<typeof transferable>>
  beforeAll(async () => {
    collection = await createCollection()
    body = await transferable(collection)
  })
  const count = () =>
    withStore(backend.dataDir, ({ db }) =>
      db
        .selectFrom('transfers')
        .select(({ fn }) => fn.countAll<number>().as('n'))
        .executeTakeFirstOrThrow(),
    )
  let before: { n: number }
  beforeEach(async () => {
    before = await count()
  })
  afterEach(async () => {
    expect(await count()).toEqual(before)
  })

  it('for another blockchain than that of the collection', async () => {
    expectRejected(
      await transfer({ ...body, blockchain: 'avalanche' }),
      /contract_address and blockchain are inconsistent/,
    )
  })

  it.each(['solana', 'solana-testnet'])('on %s', async (blockchain) => {
    const wallet = '4uQeVj5tqViQh7yWWGStvkEG1Zmhx6uasJtWCJziofM'
    const parties = { contract_address: wallet, sender_wallet_address: wallet, receiver_wallet_address: wallet }
    const answer = await transfer({ ...body, ...parties, blockchain })
    expect(answer).toMatchObject({ status: 400, json: { error: { title: 'Request Validation Error' } } })
    expect(answer.json.error.message).toMatch(/transfers are unsupported on Solana/)
  })

  it('if token_id is that of another NFT', async () => {
    const other = await transferable(collection)
    expectRejected(
      await transfer({ ...body, token_id: other.token_id }),
      /nft_gdn_id and token_id identify different NFTs/,
    )
  })

  it('if the NFT is in another collection', async () => {
    const other = await createCollection()
    expectRejected(
      await transfer({ ...body, contract_address: other.address }),
      /nft_gdn_id and contract_address are inconsistent/,
    )
  })

  it('if the NFT doesn’t exist', async () => {
    expectRejected(await transfer({ ...body, nft_gdn_id: 'nobody' }), /the collection has no such NFT/)
  })

  it('in a collection of another account', async () => {
    expectRejected(await transfer({ ...body, contract_address: BOB }), /is not a collection of this account/)
  })

  it('if the NFT is not deployed yet or failed', async () => {
    const resume = await holdSigning(backend.dataDir, 'mint')
    const [waiting = ''] = await mint(backend, collection, plainMetadata(1))
    expectRejected(await transfer({ ...body, nft_gdn_id: waiting }), /not deployed yet/)
    await resume()
    const lost = { title: 't', description: '', file_fields: [{ key: 'image', url: 'ipfs://bafkqaaa' }] }
    const ids = await mint(backend, collection, {
      ...lost,
      file_fields: [{ key: 'image', url: 'http://127.0.0.1:9/' }],
    })
    await withStore(backend.dataDir, ({ db }) =>
      stateDb(db)
        .updateTable('nfts')
        .set({ status: 'failed', step: 'done', error: 'no' })
        .where('id', 'in', ids)
        .execute(),
    )
    expectRejected(await transfer({ ...body, nft_gdn_id: ids[0] }), /the NFT failed/)
  })

  it('if the sender is not the current owner', async () => {
    expectRejected(
      await transfer({ ...body, sender_wallet_address: owner.address }),
      new RegExp(`does not own the NFT: its owner is ${holder.address}`),
    )
  })

  it('if the sender has transferred the token by wallet', async () => {
    const moved = await transferable(collection)
    const args: [`0x${string}`, `0x${string}`, bigint] = [holder.address, owner.address, BigInt(moved.token_id)]
    expect(await rpcOf(backend).send(holder, collection.address, { functionName: 'transferFrom', args })).toBe(
      'success',
    )
    expectRejected(await transfer(moved), /does not own the NFT/)
  })

  it('if enable_transfer is off', async () => {
    const closed = await createCollection({ enable_transfer: false })
    expectRejected(
      await transfer(await transferable(closed)),
      /enable_transfer is off.*setEnableTransfer\(true\) on the contract/,
    )
  })

  it('in a locked collection', async () => {
    const locked = await createCollection({ is_locked: true })
    expectRejected(await transfer(await transferable(locked)), /locked/)
  })

  it('once the owner has revoked the service', async () => {
    const revoked = await createCollection()
    const request = await transferable(revoked)
    await rpcOf(backend).send(owner, revoked.address, { functionName: 'revokeService' })
    expectRejected(await transfer(request), /revoked/)
  })

  it.each([
    'contract_address',
    'token_id',
    'blockchain',
    'nft_gdn_id',
    'sender_wallet_address',
    'receiver_wallet_address',
  ] as const)('without %s', async (field) => {
    const { [field]: _, ...rest } = body
    const answer = await transfer(rest)
    expect(answer).toMatchObject({ status: 400, json: { error: { title: 'Request Validation Error' } } })
    expect(answer.json.error.message).toContain(field)
  })

  it('to the zero address', async () => {
    const answer = await transfer({ ...body, receiver_wallet_address: zeroAddress })
    expect(answer).toMatchObject({ status: 400, json: { error: { title: 'Request Validation Error' } } })
  })

  it('with 503 while the chain is unreachable; the same request is accepted later', async () => {
    const alone = await transferable(await createCollection({ blockchain: 'fantom' }))
    const dir = join(backend.dataDir, 'chains')
    const [file = ''] = (await readdir(dir)).filter((name) => /^fantom\b(?!-)/.test(name) && name.endsWith('.pid'))
    const pid = Number.parseInt(/\d{2,}/.exec(await readFile(join(dir, file), 'utf8'))?.[0] ?? '', 10)
    await stopProcess(pid)
    try {
      const answer = await transfer(alone)
      expect(answer).toMatchObject({ status: 503, json: { error: { title: 'Service Unavailable' } } })
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(answer.json.error.message).toMatch(/nothing was accepted/)
      expect(backend.log.join('')).toContain('fantom did not respond within')
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    expect(await count()).toEqual(before)
    expect(await outcome(idOf(await transfer(alone)))).toMatchObject({ status: 'deployed' })
    before = await count()
  })
})

describe('between acceptance and the transaction', () => {
  it('a second transfer of the NFT is rejected until the first is done', async () => {
    const body = await transferable(await createCollection())
    const resume = await holdSigning(backend.dataDir, 'transfer')
    const first = idOf(await transfer(body))
    expectRejected(await transfer(body), /a transfer of this NFT is pending/)
    expectRejected(await transfer({ ...body, receiver_wallet_address: owner.address }), /is pending/)
    await resume()
    expect(await outcome(first)).toMatchObject({ status: 'deployed' })
    const next = { ...body, sender_wallet_address: BOB, receiver_wallet_address: holder.address }
    expect(await outcome(idOf(await transfer(next)))).toMatchObject({ status: 'deployed' })
  })

  it('one of many identical simultaneous requests is accepted', async () => {
    const body = await transferable(await createCollection())
    const answers = await Promise.all(Array.from({ length: 12 }, () => transfer(body)))
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, ...Array<number>(11).fill(400)])
    for (const answer of answers) if (answer.status === 200) await outcome(idOf(answer))
    expect(await ownerOf(body.nft_gdn_id)).toBe(BOB)
  })

  it('the transfer fails with the reason if the owner transfers the token by wallet', async () => {
    const collection = await createCollection()
    const body = await transferable(collection)
    const resume = await holdSigning(backend.dataDir, 'transfer')
    const id = idOf(await transfer(body))
    const args: [`0x${string}`, `0x${string}`, bigint] = [holder.address, owner.address, BigInt(body.token_id)]
    await rpcOf(backend).send(holder, collection.address, { functionName: 'transferFrom', args })
    await resume()
    const done = await outcome(id)
    expect(done).toMatchObject({ status: 'failed', transaction_hash: expect.stringMatching(/^0x/) })
    expect(done?.error).toBe(
      `the NFT no longer belonged to the sender ${holder.address}: its owner is ${owner.address}`,
    )
    expect(await ownerOf(body.nft_gdn_id)).toBe(owner.address)
    // Another transfer can follow.
    const next = { ...body, sender_wallet_address: owner.address }
    expect(await outcome(idOf(await transfer(next)))).toMatchObject({ status: 'deployed' })
  })

  it.each([
    [{ functionName: 'setEnableTransfer', args: [false] as [boolean] }, /disabled transfers/],
    [{ functionName: 'revokeService' }, /revoked the service's right to transfer/],
  ] as const)(
    'the transfer fails with the reason if the collection’s owner calls $functionName',
    async (change, reason) => {
      const collection = await createCollection()
      const body = await transferable(collection)
      const resume = await holdSigning(backend.dataDir, 'transfer')
      const id = idOf(await transfer(body))
      await rpcOf(backend).send(owner, collection.address, change as Parameters<ReturnType<typeof rpcOf>['send']>[2])
      await resume()
      expect(await outcome(id)).toMatchObject({ status: 'failed', error: expect.stringMatching(reason) })
      expect(await ownerOf(body.nft_gdn_id)).toBe(holder.address)
    },
  )

  it('the new owner is shown as soon as the transfer is done, even if no events are read', async () => {
    const body = await transferable(await createCollection())
    const resume = await holdFollowing(backend.dataDir)
    const id = idOf(await transfer(body))
    expect(await outcome(id)).toMatchObject({ status: 'deployed' })
    expect(await ownerOf(body.nft_gdn_id)).toBe(BOB)
    await resume()
  })

  it('the last owner is kept if the receiver transfers the token before the first transfer is settled', async () => {
    const collection = await createCollection()
    const body = { ...(await transferable(collection)), receiver_wallet_address: owner.address }
    const resume = await holdSettling(backend.dataDir, 'transfer')
    const id = idOf(await transfer(body))
    await until(
      () => ownerOf(body.nft_gdn_id),
      (shown) => shown === owner.address,
    )
    const args: [`0x${string}`, `0x${string}`, bigint] = [owner.address, BOB, BigInt(body.token_id)]
    expect(await rpcOf(backend).send(owner, collection.address, { functionName: 'transferFrom', args })).toBe('success')
    expect(await ownerOf(body.nft_gdn_id)).toBe(BOB)
    await resume()
    expect(await outcome(id)).toMatchObject({ status: 'deployed' })
    expect(await ownerOf(body.nft_gdn_id)).toBe(BOB)
  })

  it('each transfer is executed once if the backend is stopped at each step', async () => {
    const collection = await createCollection()
    const ids = await mint(backend, collection, plainMetadata(12), { receiver: holder.address })
    const nfts = await settled(backend, ids)
    const accepted: string[] = []
    const steps = [
      (dataDir: string) => holdSigning(dataDir, 'transfer'),
      holdMining,
      (dataDir: string) => holdSettling(dataDir, 'transfer'),
    ]
    for (const [index, holdStep] of steps.entries()) {
      const resume = await holdStep(backend.dataDir)
      for (const { token_id, nft_gdn_id } of nfts.slice(index * 4, index * 4 + 4)) {
        const body = {
          ...{ contract_address: collection.address, token_id, blockchain: 'polygon', nft_gdn_id },
          ...{ sender_wallet_address: holder.address, receiver_wallet_address: BOB },
        }
        // After a restart, the node that has the owner may still be starting.
        const response = await until(
          () => transfer(body),
          ({ status }) => status !== 503,
        )
        accepted.push(idOf(response))
      }
      await until(
        () => backend.log.some((line) => line.includes('held by a test')),
        (isHeld) => isHeld,
      )
      await backend.close()
      await resume()
      backend = await backendForFile({ dataDir: backend.dataDir })
    }
    for (const id of accepted) expect(await outcome(id)).toMatchObject({ status: 'deployed' })
    expect((await showNfts(backend, ids)).map((nft) => nft.receiver_wallet_address)).toEqual(ids.map(() => BOB))
    const { transfersOf } = rpcOf(backend)
    for (const nft of nfts) {
      expect(await transfersOf(collection.address, nft.token_id)).toEqual([
        { from: zeroAddress, to: holder.address },
        { from: holder.address, to: BOB },
      ])
    }
    for (const nonces of Object.values(await usedNonces(backend.dataDir)))
      expect(nonces).toEqual(nonces.map((_, i) => i))
  })
})

describe('Idempotency-Key', () => {
  it('returns the first response to a repeated request, even after another transfer, and rejects a different one', async () => {
    const body = await transferable(await createCollection())
    const headers = { 'idempotency-key': 'a-transfer' }
    const first = await transfer(body, headers)
    await outcome(idOf(first))
    const secondResponse = await transfer(body, headers)
    expect(secondResponse).toMatchObject({ status: 200, json: first.json })
    expect(secondResponse.headers.get('idempotency-replayed')).toBe('true')
    const other = await transfer({ ...body, receiver_wallet_address: owner.address }, headers)
    expect(other).toMatchObject({ status: 422, json: { error: { title: 'Request Validation Error' } } })
  })
})

describe('gettransactions', () => {
  it('returns collections, too, in the order of the IDs, without unknown ones', async () => {
    const collection = await createCollection()
    const body = await transferable(collection)
    const id = idOf(await transfer(body))
    await outcome(id)
    const ids = [id, 'unknown', collection.id]
    const answer = await call(backend, 'gettransactions', { transaction_gdn_ids: ids })
    expect(answer.requests).toEqual({ transaction_gdn_ids: ids })
    expect(answer.transactions.map((row) => [row.transaction_gdn_id, row.status])).toEqual([
      [id, 'deployed'],
      [collection.id, 'deployed'],
    ])
    for (const row of answer.transactions) {
      const receipt = await rpcOf(backend).reader.getTransactionReceipt({ hash: row.transaction_hash as `0x${string}` })
      expect(row.gas_used).toBe(String(receipt.gasUsed))
    }
  })

  it('accepts one ID without a list', async () => {
    const collection = await createCollection()
    const { transactions } = await call(backend, 'gettransactions', { transaction_gdn_ids: collection.id })
    expect(transactions).toHaveLength(1)
  })

  it('returns nothing of another account', async () => {
    const collection = await createCollection()
    const id = idOf(await transfer(await transferable(collection)))
    await outcome(id)
    await withStore(backend.dataDir, async ({ db }) => {
      await db.insertInto('accounts').values({ id: 'other', email: null, created_at: 9e15 }).execute()
      await db.updateTable('collections').set({ account_id: 'other' }).where('id', '=', collection.id).execute()
    })
    const { transactions } = await call(backend, 'gettransactions', { transaction_gdn_ids: [id, collection.id] })
    expect(transactions).toEqual([])
  })
})
