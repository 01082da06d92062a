import { beforeAll, describe, expect, it } from 'vitest'
import type { EndpointName } from '../../../src/api/endpoints.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  plainMetadata,
  settled,
  type TestBackend,
  WALLETS,
} from '../../helpers/backend.ts'
import { ENDPOINTS } from '../../helpers/endpoints.ts'
import { makeKey, type TestKey } from '../../helpers/keys.ts'

const OWNER_EMAIL = 'owner@example.com'
const OTHER_EMAIL = 'other@example.com'

/** The resources of an account that a request can name. */
interface Things {
  contract: string
  nft: string
  token: string
  /** The ID of a collection's creation. */
  transaction: string
  email: string
  /** The reference ID of the NFT. */
  reference: string
}

/** Well-formed names of resources that don't exist. */
const NOBODYS: Things = {
  contract: '0x00000000000000000000000000000000000000aa',
  nft: '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d',
  token: '0',
  transaction: '0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5',
  email: 'nobody@example.com',
  reference: 'reference-of-nobody',
}

const transfer = { blockchain: 'polygon', sender_wallet_address: WALLETS[1], receiver_wallet_address: WALLETS[2] }

/** A valid request to each endpoint that names resources; null if it names none or is open to every account. */
const REQUESTS: Record<EndpointName, ((things: Things) => object) | null> = {
  createnft: ({ contract }) => ({
    contract_address: contract,
    blockchain: 'polygon',
    receiver_wallet_address: WALLETS[1],
    metadata: plainMetadata(1),
  }),
  transfernft: ({ contract, nft, token }) => ({
    ...transfer,
    contract_address: contract,
    nft_gdn_id: nft,
    token_id: token,
  }),
  createnfttrans: ({ contract }) => ({ ...transfer, contract_address: contract, metadata: plainMetadata(1) }),
  creatednft: ({ contract }) => ({
    contract_address: contract,
    blockchain: 'polygon',
    receiver_wallet_address: WALLETS[1],
    metadata: plainMetadata(1),
  }),
  updatednft: ({ contract, nft }) => ({ contract_address: contract, nft_gdn_id: nft, metadata: plainMetadata(1) }),
  freezenft: ({ contract, nft }) => ({ contract_address: contract, nft_gdn_ids: [nft] }),
  burnnft: ({ contract, nft }) => ({
    ...{ contract_address: contract, nft_gdn_id: nft, holder_wallet_address: WALLETS[1] },
  }),
  // Before the next one, whose commitment would be pending in one response and deployed in another.
  getprovenances: ({ contract }) => ({ contract_address: contract }),
  commitprovenance: ({ contract }) => ({ contract_address: contract, provenance: `0x${'ab'.repeat(32)}` }),
  getnftgdnids: ({ contract }) => ({ contract_addresses: contract, blockchain: 'polygon' }),
  getnfts: ({ nft }) => ({ nft_gdn_ids: [nft] }),
  // It accepts NFTs of any account.
  getisgdnnft: null,
  createcollection: null,
  getpresignedurl: ({ email }) => ({ email }),
  getcollections: ({ transaction }) => ({ transaction_gdn_ids: [transaction] }),
  getcollectionsettings: ({ transaction }) => ({ transaction_gdn_ids: [transaction] }),
  gettransactions: ({ transaction }) => ({ transaction_gdn_ids: [transaction] }),
  getnfthistory: ({ nft }) => ({ nft_gdn_id: nft }),
  getnftowners: ({ contract }) => ({ contract_address: contract, blockchain: 'polygon' }),
  getsupply: ({ contract }) => ({ contract_address: contract, blockchain: 'polygon' }),
  getreferences: ({ contract, reference }) => ({
    ...{ operation: 'createnft', contract_address: contract, blockchain: 'polygon' },
    reference_ids: [reference],
  }),
  getcontentreferences: ({ contract }) => ({
    ...{ operation: 'createnft', contract_address: contract, blockchain: 'polygon', reference_label: 'a' },
  }),
  relabelreferences: ({ contract, reference }) => ({
    ...{ operation: 'createnft', contract_address: contract, blockchain: 'polygon', reference_ids: [reference] },
    ...{ replaces_label: 'a', reference_label: 'b' },
  }),
  aliasreferences: ({ contract, nft }) => ({
    ...{ operation: 'createnft', contract_address: contract, blockchain: 'polygon' },
    ...{ reference_ids: ['alias'], nft_gdn_ids: [nft] },
  }),
  getfees: null,
  // Names of runs belong to an account.
  getruncosts: null,
  setrunmaxcost: ({ contract }) => ({ run: 'r', contract_address: contract, blockchain: 'polygon', max_cost: '1' }),
  setrunmaxfee: ({ contract }) => ({ run: 'r', contract_address: contract, blockchain: 'polygon', max_fee: '1' }),
  files: null,
}

let backend: TestBackend
let stranger: TestKey
let owner: TestKey
let owned: Things
let strangers: Things

async function things(headers: Record<string, string>, email: string, name: string): Promise<Things> {
  const answer = await call(
    backend,
    'createcollection',
    { wallet_address: WALLETS[0], name, blockchain: 'polygon', enable_transfer: true },
    headers,
  )
  const transaction = answer.response.transaction_gdn_id
  const { collections } = await call(backend, 'getcollections', { transaction_gdn_ids: [transaction] }, headers)
  const contract = collections[0]?.contract_address ?? ''
  const reference = `reference-${name}`
  const { nfts } = await call(
    backend,
    'createnft',
    {
      ...{ contract_address: contract, blockchain: 'polygon', receiver_wallet_address: WALLETS[1] },
      ...{ metadata: plainMetadata(1), reference_ids: [reference] },
    },
    headers,
  )
  const nft = nfts[0]?.nft_gdn_ids ?? ''
  const deployed = await settled({ ...backend, post: (path, body) => backend.post(path, body, headers) }, [nft])
  return { contract, nft, token: deployed[0]?.token_id ?? '', transaction, email, reference }
}

beforeAll(async () => {
  backend = await backendForFile()
  owner = await makeKey(backend.dataDir, { email: OWNER_EMAIL })
  stranger = await makeKey(backend.dataDir, { email: OTHER_EMAIL })
  owned = await things(owner.headers, OWNER_EMAIL, 'Mine')
  strangers = await things(stranger.headers, OTHER_EMAIL, 'Theirs')
})

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g

/** A response with the names in the request replaced by placeholders. */
async function answerTo(name: EndpointName, body: object, named: Things, headers = stranger.headers) {
  const { status, json } = await backend.post(ENDPOINTS[name].path, body, headers)
  const values = Object.entries(named) as [keyof Things, string][]
  const anonymous = values.reduce(
    (text, [kind, value]) => (value.length < 10 ? text : text.replaceAll(new RegExp(value, 'gi'), `<${kind}>`)),
    JSON.stringify(json),
  )
  // An accepted request gets new IDs and a new date.
  return {
    status,
    anonymous: anonymous.replaceAll(UUID, '<new>').replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, '<date>'),
  }
}

const cases = Object.entries(REQUESTS).flatMap(([name, build]) => (build === null ? [] : [[name, build] as const]))

describe.each(cases)('%s for the resources of another account', (name, build) => {
  it('responds to requests for another account’s resources as if they did not exist', async () => {
    const endpoint = name as EndpointName
    const theirs = await answerTo(endpoint, build(owned), owned)
    const nobodys = await answerTo(endpoint, build({ ...NOBODYS, token: owned.token }), NOBODYS)
    expect(theirs).toEqual(nobodys)
    for (const value of [owned.contract, OWNER_EMAIL, 'Mine']) expect(theirs.anonymous).not.toContain(value)
  })

  it('responds to requests for another account’s resources as if they did not exist, even through one’s own collection', async () => {
    const endpoint = name as EndpointName
    // Names their NFT with my collection, and my NFT with theirs.
    for (const mixed of ['contract', 'nft'] as const) {
      const [theirs, nobodys] = [owned, NOBODYS].map((others) => ({
        ...others,
        token: strangers.token,
        [mixed]: strangers[mixed],
      }))
      if (theirs === undefined || nobodys === undefined) throw new Error('two')
      expect(await answerTo(endpoint, build(theirs), theirs)).toEqual(await answerTo(endpoint, build(nobodys), nobodys))
    }
  })
})

// What these requests leave out in version 1.2 is taken from the collection.
it.each(['transfernft', 'createnfttrans'] as const)(
  '%s of version 1.2 responds for the resources of another account as if they did not exist',
  async (name) => {
    const { headers } = await makeKey(backend.dataDir, { email: OTHER_EMAIL, apiVersion: '1.2' })
    const left = name === 'transfernft' ? { blockchain: undefined } : { sender_wallet_address: undefined }
    const [theirs, nobodys] = await Promise.all(
      [owned, { ...NOBODYS, token: owned.token }].map(async (things) => ({
        things,
        answer: await answerTo(name, { ...REQUESTS[name]?.(things), ...left }, things, headers),
      })),
    )
    expect(theirs?.answer).toEqual(nobodys?.answer)
    expect(theirs?.answer.anonymous).toContain('is not a collection of this account')
  },
)

it.each(cases.map(([name]) => name).filter((name) => name.startsWith('get')))(
  '%s responds differently for one’s own resources',
  async (name) => {
    const endpoint = name as EndpointName
    const build = REQUESTS[endpoint]
    if (build === null) throw new Error(`no request to ${name}`)
    const own = await answerTo(endpoint, build(strangers), strangers)
    // An endpoint without a route has the same response for all.
    if (own.status !== 404) expect(own).not.toEqual(await answerTo(endpoint, build(owned), owned))
  },
)

it('requests of another account change nothing', async () => {
  const listing = { contract_addresses: owned.contract, blockchain: 'polygon' }
  expect((await call(backend, 'getnftgdnids', listing, owner.headers)).nft_gdn_ids).toEqual([owned.nft])
  const { nfts } = await call(backend, 'getnfts', { nft_gdn_ids: [owned.nft] }, owner.headers)
  expect(nfts).toMatchObject([{ status: 'deployed', receiver_wallet_address: WALLETS[1] }])
})

it('keys of one account have the same access, regardless of the case of their e-mail address', async () => {
  const second = await makeKey(backend.dataDir, { email: OWNER_EMAIL.toUpperCase() })
  const { nfts } = await call(backend, 'getnfts', { nft_gdn_ids: [owned.nft, strangers.nft] }, second.headers)
  expect(nfts.map((nft) => nft.nft_gdn_id)).toEqual([owned.nft])
})

it('the local account and other accounts cannot see each other’s resources', async () => {
  const { id } = await createTestCollection(backend, { name: 'Local' })
  const ask = (transaction: string, headers = {}) =>
    call(backend, 'getcollections', { transaction_gdn_ids: [transaction] }, headers)
  expect((await ask(owned.transaction)).collections).toEqual([])
  expect((await ask(id, owner.headers)).collections).toEqual([])
  expect((await ask(id)).collections).toHaveLength(1)
})

it('reference IDs are private to an account: neither collections nor conflicts of others are returned', async () => {
  const body = { wallet_address: WALLETS[0], name: 'Named', blockchain: 'polygon', reference_id: 'shared-name' }
  const send = (key: TestKey, name = 'Named') =>
    call(backend, 'createcollection', { ...body, name }, key.headers).then(({ response }) => response)
  const first = await send(owner)
  const second = await send(stranger, 'Another')
  expect([first.created, second.created]).toEqual([true, true])
  expect(second.transaction_gdn_id).not.toBe(first.transaction_gdn_id)
  expect(await send(owner)).toMatchObject({ transaction_gdn_id: first.transaction_gdn_id, created: false })
  const ask = { operation: 'createcollection', reference_ids: ['shared-name'] }
  const { references } = await call(backend, 'getreferences', ask, stranger.headers)
  expect(references).toMatchObject([{ transaction_gdn_id: second.transaction_gdn_id }])
})

it('an Idempotency-Key is private to an account: responses of others are never replayed', async () => {
  const body = { wallet_address: WALLETS[0], name: 'Twice', blockchain: 'polygon' }
  const send = (key: TestKey, name = 'Twice') =>
    backend.post('/api/v1/createcollection', { ...body, name }, { ...key.headers, 'idempotency-key': 'same' })
  const first = await send(owner)
  const second = await send(stranger)
  expect([first.status, second.status, second.headers.get('idempotency-replayed')]).toEqual([200, 200, null])
  expect(second.json.response.transaction_gdn_id).not.toBe(first.json.response.transaction_gdn_id)
  expect((await send(stranger, 'Another body')).status).toBe(422)
  expect((await send(owner)).headers.get('idempotency-replayed')).toBe('true')
})
