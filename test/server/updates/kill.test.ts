import { createPublicClient, getAddress, http } from 'viem'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { freshDataDir, until, WALLETS, withStore } from '../../helpers/backend.ts'
import { type ChildBackend, startedChild } from '../../helpers/backend-child.ts'
import { bytes, type FileServer, pngOf, startFileServer } from '../../helpers/file-server.ts'
import { holdMining, holdSettling, holdSigning, holdUpdateFiles } from '../../helpers/hold.ts'
import { readChain, readMint, SOLANA_COLLECTION, solanaWallet } from '../../helpers/solana.ts'
import { metadataOf, TOKEN_ABI } from '../../helpers/updates.ts'

const TITLES = ['a', 'b', 'c']

let dataDir: Awaited<ReturnType<typeof freshDataDir>>
let backend: ChildBackend
let files: FileServer

beforeAll(async () => {
  files = await startFileServer({ '/new.png': bytes(pngOf('new')) })
})
afterAll(() => files?.close())
beforeEach(async () => {
  dataDir = await freshDataDir()
  backend = await startedChild(dataDir.path)
})
afterEach(async () => {
  await backend?.kill('SIGKILL')
  await dataDir?.remove()
})

// biome-ignore lint/suspicious/noExplicitAny: responses are only read to continue
async function post(endpoint: string, body: object): Promise<any> {
  const response = await fetch(`${backend.url}/api/v1/${endpoint}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': backend.apiKey },
    body: JSON.stringify(body),
  })
  if (response.status !== 200) throw new Error(`${endpoint} answered ${response.status}: ${await response.text()}`)
  return response.json()
}

const rows = () => withStore(dataDir.path, ({ db }) => db.selectFrom('updates').selectAll().execute())
const stepOf = async () => (await rows()).map(({ step }) => step).join()
const isHeld = () => backend.log().includes('held by a test')

/** Each commit of the update path: what prevents it, and how a test sees that everything before it has happened. */
const COMMITS = {
  'its files are recorded': [holdUpdateFiles, async () => isHeld()],
  'it is signed': [holdSigning, async () => isHeld()],
  'its block is stored': [holdMining, async () => (await stepOf()).includes('chain') && isHeld()],
  'its outcome is recorded': [holdSettling, async () => (await stepOf()).includes('chain') && isHeld()],
} as const

/** What differs between blockchains: the collection, a holder, and the URL of the metadata file that a token has. */
const CHAINS = {
  polygon: {
    ...{ collection: { blockchain: 'polygon', wallet_address: WALLETS[0] }, holder: WALLETS[1] },
    async uriOf(contract: string, token: string) {
      const client = createPublicClient({ transport: http(`${backend.url}/rpc/polygon`, { retryCount: 0 }) })
      const call = { address: getAddress(contract), abi: TOKEN_ABI, functionName: 'tokenURI' } as const
      return await client.readContract({ ...call, args: [BigInt(token)] })
    },
  },
  solana: {
    ...{ collection: SOLANA_COLLECTION, holder: solanaWallet('holder') },
    uriOf: async (_: string, token: string) => readMint(await readChain(dataDir.path), token)?.metadata?.uri ?? '',
  },
}

async function createCollection(blockchain: keyof typeof CHAINS): Promise<string> {
  const creation = await post('createcollection', { name: 'T', dynamic: true, ...CHAINS[blockchain].collection })
  const transaction_gdn_ids = [creation.response.transaction_gdn_id]
  const show = async () => (await post('getcollections', { transaction_gdn_ids })).collections[0]
  return (await until(show, ({ status }) => status === 'deployed')).contract_address
}

/** Kills the backend once everything before the held commit has happened, and starts it again without the hold. */
async function killBefore(
  kind: 'update' | 'provenance',
  [hold, reached]: (typeof COMMITS)[keyof typeof COMMITS],
  request: () => Promise<void>,
): Promise<void> {
  const letGo = await hold(dataDir.path, kind)
  await request()
  await until(reached, Boolean)
  await backend.kill('SIGKILL')
  await letGo()
  backend = await startedChild(dataDir.path)
}

const { 'its files are recorded': _, ...OF_COMMITMENTS } = COMMITS

it.each(Object.keys(OF_COMMITMENTS) as (keyof typeof OF_COMMITMENTS)[])(
  'killed before %s, commits to a hash once',
  async (commit) => {
    const contract_address = await createCollection('polygon')
    const provenance = `0x${'ab'.repeat(32)}` as const
    let id = ''
    await killBefore('provenance', COMMITS[commit], async () => {
      id = (await post('commitprovenance', { contract_address, provenance })).response.transaction_gdn_id
    })
    const show = async () => (await post('gettransactions', { transaction_gdn_ids: [id] })).transactions[0]
    const done = await until(show, ({ status }) => status === 'deployed')
    expect((await post('getprovenances', { contract_address })).provenances).toMatchObject([
      { provenance, first_token_id: '1', transaction_gdn_id: id, transaction_hash: done.transaction_hash },
    ])
    expect((await post('commitprovenance', { contract_address, provenance })).response.transaction_gdn_id).toBe(id)
    const transactions = await withStore(dataDir.path, ({ db }) =>
      db.selectFrom('transactions').select('state').where('kind', '=', 'provenance').execute(),
    )
    expect(transactions).toEqual([{ state: 'final' }])
  },
)

it.each(
  (['polygon', 'solana'] as const).flatMap((blockchain) =>
    (Object.keys(COMMITS) as (keyof typeof COMMITS)[]).map((commit) => ({ blockchain, commit })),
  ),
)('killed before $commit on $blockchain, makes each update once', async ({ blockchain, commit }) => {
  const { holder, uriOf } = CHAINS[blockchain]
  const address = await createCollection(blockchain)
  const created = await post('createnft', {
    ...{ contract_address: address, blockchain, receiver_wallet_address: holder },
    metadata: TITLES.map(metadataOf),
  })
  const ids: string[] = created.nfts.map((nft: { nft_gdn_ids: string }) => nft.nft_gdn_ids)
  const show = async () => (await post('getnfts', { nft_gdn_ids: ids })).nfts
  await until(show, (nfts) => nfts.every(({ status }: { status: string }) => status === 'deployed'))

  const file_fields = [{ key: 'image', url: `${files.url}/new.png` }]
  const transactions: string[] = []
  await killBefore('update', COMMITS[commit], async () => {
    for (const id of ids.slice(0, 2)) {
      const metadata = [{ ...metadataOf(`new ${id}`), file_fields }]
      const answer = await post('updatednft', { nft_gdn_id: id, contract_address: address, metadata })
      transactions.push(answer.response.transaction_gdn_id)
    }
  })

  const ended = async () => (await post('gettransactions', { transaction_gdn_ids: transactions })).transactions
  await until(ended, (all) => all.every(({ status }: { status: string }) => status === 'deployed'))
  const nfts = await show()
  expect(nfts.map((nft: { request_metadata: { title: string } }) => nft.request_metadata.title)).toEqual([
    `new ${ids[0]}`,
    `new ${ids[1]}`,
    'c',
  ])
  for (const { token_id, metadata_url } of nfts) {
    const uri = await uriOf(address, token_id)
    expect(uri).toBe(metadata_url)
    expect((await fetch(`${backend.url}/ipfs/${uri.slice('ipfs://'.length)}`)).status).toBe(200)
  }
  // The first may have been signed alone.
  const kinds = await withStore(dataDir.path, ({ db }) =>
    db.selectFrom('transactions').select(['update_sequence', 'token_count']).where('kind', '=', 'update').execute(),
  )
  expect(kinds.reduce((sum, { token_count }) => sum + token_count, 0)).toBe(2)
})
