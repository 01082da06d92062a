/** @module-tag slow */
import {
  address,
  appendTransactionMessageInstructions,
  type Blockhash,
  createKeyPairSignerFromPrivateKeyBytes,
  createTransactionMessage,
  getBase64EncodedWireTransaction,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import { findAssociatedTokenPda, getBurnInstruction, TOKEN_2022_PROGRAM_ADDRESS } from '@solana-program/token-2022'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { decodeMintAccount } from '../../../src/server/chain/solana/read-mint.ts'
import { call, showNfts, type TestBackend, type TestCollection, until, withStore } from '../../helpers/backend.ts'
import { backUp, restore } from '../../helpers/backups.ts'
import { type ClusterPlace, clusterPlace } from '../../helpers/cluster-backend.ts'
import { show } from '../../helpers/explorer.ts'
import { holdSettling, holdSigning } from '../../helpers/hold.ts'
import { SOLANA_COLLECTION, solanaWallet } from '../../helpers/solana.ts'
import { startCluster, type TestCluster } from '../../helpers/solana-cluster.ts'
import { dynamicNfts, ended, historyOf, metadataOf, update } from '../../helpers/updates.ts'

const HOLDER = solanaWallet('holder')
/** Surfpool can't be configured to drop transactions. */
const isSurfpool = process.env.GDN_TEST_SURFPOOL !== undefined

let cluster: TestCluster
let place: ClusterPlace
let backend: TestBackend

beforeEach(async () => {
  cluster = await startCluster()
  place = await clusterPlace(cluster)
  await cluster.fund(place.signer, 10_000_000_000n)
  await place.setUp()
  backend = await place.start()
})
afterEach(async () => {
  await backend?.close()
  await place?.remove()
  await cluster?.close()
})

async function stopAndBackUp(): Promise<string> {
  await backend.close()
  return await backUp(place.dataDir)
}

async function startFrom(backup: string): Promise<void> {
  await backend.close()
  await restore(place.dataDir, backup)
  backend = await place.start()
}

const onCluster = (titles: readonly string[], more: object = {}) =>
  dynamicNfts(backend, titles, { ...SOLANA_COLLECTION, receiver: HOLDER, ...more })

async function onChain(token: string | null | undefined) {
  return decodeMintAccount(Buffer.from((await cluster.account(token ?? '')) ?? '', 'base64'))
}

const changes = () =>
  withStore(place.dataDir, ({ db }) =>
    db
      .selectFrom('transactions')
      .select(['kind', 'state', 'hash'])
      .where('kind', 'in', ['update', 'freeze', 'burn'])
      .execute(),
  )

async function ask(endpoint: string, body: object): Promise<string> {
  const answer = await backend.post(`/api/v1/${endpoint}`, body)
  expect(answer).toMatchObject({ status: 200 })
  return answer.json.response.transaction_gdn_id
}

const freeze = (collection: TestCollection, ids: readonly string[]) =>
  ask('freezenft', { contract_address: collection.address, nft_gdn_ids: ids })
const burn = (collection: TestCollection, id: string) =>
  ask('burnnft', { contract_address: collection.address, nft_gdn_id: id, holder_wallet_address: HOLDER })

describe('a change of a token on a Solana cluster', () => {
  it.skipIf(isSurfpool)('is signed again after its blockhash expired, and made once', async () => {
    const { collection, ids, nfts } = await onCluster(['a', 'b', 'c'], { enable_burn: true })
    cluster.drop(true)
    const requests = [
      await update(backend, collection, ids[0] ?? '', 'A'),
      await freeze(collection, [ids[1] ?? '']),
      await burn(collection, ids[2] ?? ''),
    ]
    const isLost = (rows: { kind: string; state: string }[]) =>
      ['update', 'freeze', 'burn'].every((kind) => rows.some((row) => row.kind === kind && row.state === 'lost'))
    await until(changes, isLost)
    cluster.drop(false)
    for (const id of requests) expect(await ended(backend, id)).toMatchObject({ status: 'deployed' })
    expect(await onChain(nfts[0]?.token_id)).toMatchObject({ name: 'A', revision: 1 })
    expect(await onChain(nfts[1]?.token_id)).toMatchObject({ updateAuthority: null, revision: null })
    expect(await onChain(nfts[2]?.token_id)).toMatchObject({ supply: 0n })
    expect((await changes()).filter(({ state }) => state === 'final')).toHaveLength(3)
  })

  it.skipIf(isSurfpool)('is settled by the token if no node knows its signature any more', async () => {
    const { collection, ids } = await onCluster(['a'])
    const letGo = await holdSettling(place.dataDir, 'update')
    const id = await update(backend, collection, ids[0] ?? '', 'A')
    const [nft] = await showNfts(backend, ids)
    await until(
      () => onChain(nft?.token_id),
      ({ revision }) => revision === 1,
    )
    await backend.close()
    await letGo()
    const [sent] = await changes()
    cluster.forget(sent?.hash ?? '')
    backend = await place.start()
    expect(await ended(backend, id)).toMatchObject({ status: 'deployed', transaction_hash: sent?.hash })
    expect(await changes()).toMatchObject([{ state: 'final' }])
  })
})

describe('a restored database of a Solana cluster', () => {
  it('adopts changes that tokens show: none is made twice', async () => {
    const { collection, ids, nfts } = await onCluster(['a', 'b'])
    const letGo = await holdSigning(place.dataDir, 'update')
    const id = await update(backend, collection, ids[0] ?? '', 'A')
    const backup = await stopAndBackUp()
    await letGo()
    backend = await place.start()
    expect(await ended(backend, id)).toMatchObject({ status: 'deployed' })
    const before = await showNfts(backend, ids)
    await startFrom(backup)
    expect(await ended(backend, id)).toMatchObject({ status: 'deployed', transaction_hash: null })
    expect(await showNfts(backend, ids)).toEqual(before)
    expect(await onChain(nfts[0]?.token_id)).toMatchObject({ name: 'A', revision: 1 })
    const file = before[0]?.metadata_url?.slice('ipfs://'.length)
    expect((await backend.get(`/ipfs/${file}`)).status).toBe(200)
    const history = await call(backend, 'getnfthistory', { nft_gdn_id: ids[0] ?? '' })
    expect(history.events.map(({ kind, transaction_hash }) => [kind, transaction_hash === null])).toEqual([
      ['mint', false],
      ['update', true],
    ])
    expect(await ended(backend, await update(backend, collection, ids[0] ?? '', 'AA'))).toMatchObject({
      status: 'deployed',
    })
    expect(await onChain(nfts[0]?.token_id)).toMatchObject({ name: 'AA', revision: 2 })
  })

  it('adopts freezes and burns', async () => {
    const { collection, ids } = await onCluster(['a', 'b'], { enable_burn: true })
    const letGo = await holdSigning(place.dataDir, 'freeze')
    const frozen = await freeze(collection, [ids[0] ?? ''])
    const backup = await stopAndBackUp()
    await letGo()
    backend = await place.start()
    expect(await ended(backend, frozen)).toMatchObject({ status: 'deployed' })
    expect(await ended(backend, await burn(collection, ids[1] ?? ''))).toMatchObject({ status: 'deployed' })
    await startFrom(backup)
    expect(await ended(backend, frozen)).toMatchObject({ status: 'deployed' })
    const seen = () => showNfts(backend, ids)
    expect(await until(seen, (nfts) => nfts[1]?.burned === true)).toMatchObject([{ is_frozen: true }, { burned: true }])
  })

  it('adopts a burn that it had accepted', async () => {
    const { collection, ids, nfts } = await onCluster(['a'], { enable_burn: true })
    const letGo = await holdSigning(place.dataDir, 'burn')
    const id = await burn(collection, ids[0] ?? '')
    const backup = await stopAndBackUp()
    await letGo()
    backend = await place.start()
    expect(await ended(backend, id)).toMatchObject({ status: 'deployed', transaction_hash: expect.any(String) })
    await startFrom(backup)
    expect(await ended(backend, id)).toMatchObject({ status: 'deployed', transaction_hash: null })
    expect(await showNfts(backend, ids)).toMatchObject([{ burned: true, receiver_wallet_address: null }])
    const burned = { kind: 'burn', status: 'deployed', to: null }
    expect(await historyOf(backend, ids[0] ?? '')).toMatchObject([{ kind: 'mint' }, burned])
    expect(await onChain(nfts[0]?.token_id)).toMatchObject({ supply: 0n })
  })

  it('makes no update of a revision that it lost, and shows that revision', async () => {
    const { collection, ids, nfts } = await onCluster(['a'])
    const letGo = await holdSigning(place.dataDir, 'update')
    const pending = await update(backend, collection, ids[0] ?? '', 'A')
    const backup = await stopAndBackUp()
    await letGo()
    backend = await place.start()
    await ended(backend, pending)
    await ended(backend, await update(backend, collection, ids[0] ?? '', 'B'))
    await startFrom(backup)
    expect(await ended(backend, pending)).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/has revision 2 on chain, and this backend has no record of the revision/),
    })
    expect(await showNfts(backend, ids)).toMatchObject([{ revision: 2 }])
    expect(await onChain(nfts[0]?.token_id)).toMatchObject({ name: 'B', revision: 2 })
    const stale = { nft_gdn_id: ids[0], contract_address: collection.address, metadata: [metadataOf('C')] }
    const refused = await backend.post('/api/v1/updatednft', { ...stale, replaces_revision: 1 })
    expect(refused.json.error.message).toMatch(/the NFT has revision 2/)
  })

  it('refuses an update of a revision that only the chain has', async () => {
    const { collection, ids } = await onCluster(['a'])
    const backup = await stopAndBackUp()
    backend = await place.start()
    await ended(backend, await update(backend, collection, ids[0] ?? '', 'A'))
    await startFrom(backup)
    const body = { nft_gdn_id: ids[0], contract_address: collection.address, metadata: [metadataOf('A')] }
    const refused = await backend.post('/api/v1/updatednft', { ...body, replaces_revision: 0 })
    expect(refused.json.error.message).toMatch(/replaces_revision is 0, but the NFT has revision 1/)
  })
})

it('sees that a holder burned an NFT', async () => {
  const holder = await createKeyPairSignerFromPrivateKeyBytes(Buffer.alloc(32, 9))
  const { collection, ids, nfts } = await onCluster(['a', 'b'], { receiver: holder.address, is_locked: true })
  await cluster.fund(holder.address, 1_000_000_000n)
  const rpc = async (method: string, params: unknown[]) => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const response = await fetch(cluster.url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    return ((await response.json()) as { result: unknown }).result
  }
  const mint = address(nfts[0]?.token_id ?? '')
  const seeds = { mint, owner: holder.address, tokenProgram: TOKEN_2022_PROGRAM_ADDRESS }
  const [account] = await findAssociatedTokenPda(seeds)
  const { value } = (await rpc('getLatestBlockhash', [])) as { value: { blockhash: string } }
  const message = pipe(
    createTransactionMessage({ version: 'legacy' }),
    (draft) => setTransactionMessageFeePayerSigner(holder, draft),
    (draft) =>
      setTransactionMessageLifetimeUsingBlockhash(
        { blockhash: value.blockhash as Blockhash, lastValidBlockHeight: 10n ** 9n },
        draft,
      ),
    (draft) =>
      appendTransactionMessageInstructions(
        [getBurnInstruction({ account, mint, authority: holder, amount: 1n })],
        draft,
      ),
  )
  const raw = getBase64EncodedWireTransaction(await signTransactionMessageWithSigners(message))
  await rpc('sendTransaction', [raw, { encoding: 'base64' }])
  const seen = () => showNfts(backend, ids)
  expect(await until(seen, ([nft]) => nft?.burned === true)).toMatchObject([
    { burned: true, receiver_wallet_address: null },
    { burned: false, receiver_wallet_address: holder.address },
  ])
  const histories = await Promise.all(ids.map((id) => historyOf(backend, id)))
  expect(histories.map((events) => events.map(({ kind }) => kind))).toEqual([['mint', 'burn'], ['mint']])
  expect(histories[0]?.[1]).toMatchObject({ status: 'deployed', transaction_hash: null, block_number: null, to: null })
  const page = await show(backend, `nfts/${ids[0]}`)
  expect(page).toMatchObject({ burned: true, history: [{ kind: 'burn' }, { kind: 'mint' }] })
  const after = { nft_gdn_id: ids[0], contract_address: collection.address, metadata: [metadataOf('b')] }
  expect((await backend.post('/api/v1/updatednft', after)).json.error.message).toMatch(/the NFT was burned/)
})
