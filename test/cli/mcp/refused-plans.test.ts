/** @module-tag slow */
import { beforeAll, expect, test } from 'vitest'
import { backendForFile, type TestBackend, WALLETS } from '../../helpers/backend.ts'
import { openMcpSession, type TestMcpSession } from '../../helpers/mcp-session.ts'
import { CSV, folder } from '../batch/drop.ts'

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

/** Runs a plan, and returns its data. */
async function done<Data>(session: TestMcpSession, tool: string, values: object): Promise<Data> {
  const { plan_id } = await session.call(tool, values)
  const answer = await session.call(tool, { dry_run: false, plan_id })
  expect(answer, JSON.stringify(answer)).toMatchObject({ status: 'ok' })
  return answer.data as Data
}

/** Mints an NFT in a collection with these rights, and returns the ID of the NFT. */
async function minted(session: TestMcpSession, rights: object): Promise<string> {
  const [wallet, receiver] = WALLETS
  const target = { blockchain: 'polygon' }
  const created = { name: 'Dawn', wallet, ...target, ...rights }
  const { contract_address: contract } = await done<{ contract_address: string }>(session, 'collection_create', created)
  const nft = { contract, ...target, receiver, title: 'Dawn' }
  return (await done<{ nft_gdn_id: string }>(session, 'nft_mint', nft)).nft_gdn_id
}

async function withSession(act: (session: TestMcpSession) => Promise<void>): Promise<void> {
  const { path } = await folder({ 'project/drop.csv': CSV })
  const env = { GDN_API_KEY: backend.apiKey.reveal(), GDN_BASE_URL: backend.url }
  const session = await openMcpSession({ home: path(''), url: backend.url, env, maxCost: null })
  await act(session).finally(() => session.close())
}

test('no burn or transfer is planned that the rights of the collection do not permit', async () => {
  await withSession(async (session) => {
    const id = await minted(session, {})
    const burn = await session.call('nft_burn', { nft_gdn_id: [id] })
    expect(burn).toMatchObject({
      plan_id: null,
      error: { code: 'refused', hint: expect.stringContaining('Only the owner of an NFT can burn it') },
    })
    const transfer = await session.call('nft_transfer', { nft_gdn_id: id, receiver: WALLETS[0] })
    expect(transfer).toMatchObject({
      plan_id: null,
      error: { code: 'refused', message: 'enable_transfer is off for this collection' },
    })
  })
})

test('no change of a collection is planned with a wallet that cannot sign it', async () => {
  await withSession(async (session) => {
    const [wallet] = WALLETS
    const request = { name: 'Dawn', wallet, blockchain: 'polygon' }
    const { contract_address: contract } = await done<{ contract_address: string }>(
      session,
      'collection_create',
      request,
    )
    const change = { address: contract, blockchain: 'polygon', royalty: '5%' }
    expect(await session.call('collection_set', { ...change, wallet: '@deleted' })).toMatchObject({
      plan_id: null,
      error: { message: '--wallet: @deleted is not the name of a wallet or address on this machine' },
    })
  })
})

test('a call of an unknown tool names the nearest one', async () => {
  await withSession(async (session) => {
    expect((await session.call('nft_brun', {})).error).toMatchObject({
      message: 'there is no such tool: nft_brun',
      hint: 'Did you mean nft_burn?',
    })
  })
})

test('no burn of a burned NFT is planned', async () => {
  await withSession(async (session) => {
    const id = await minted(session, { enable_burn: true })
    await done(session, 'nft_burn', { nft_gdn_id: [id] })
    for (const [tool, why] of [
      ['nft_burn', 'Each of the NFTs is already burned, so there is nothing to do.'],
      ['nft_freeze', 'Each of the NFTs is already frozen or burned, so there is nothing to do.'],
    ] as const) {
      expect(await session.call(tool, { nft_gdn_id: [id] })).toMatchObject({ status: 'ok', plan_id: null, next: why })
    }
  })
})
