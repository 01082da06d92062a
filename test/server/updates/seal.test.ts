/** @module-tag slow */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { computeSeal } from '../../../src/api/provenance-seal.ts'
import {
  type Answer,
  call,
  createTestCollection,
  freshDataDir,
  mint,
  settled,
  showNfts,
  startTestBackend,
  type TestBackend,
  type TestCollection,
  until,
} from '../../helpers/backend.ts'
import { holdSettling } from '../../helpers/hold.ts'
import { type PublicNetwork, startPublicNetwork } from '../../helpers/public-network.ts'
import { CONFIRMATIONS, FINALITY, type RemoteBackend, startRemoteBackend } from '../../helpers/remote-backend.ts'
import { ended, metadataOf } from '../../helpers/updates.ts'

const commitTo = (backend: TestBackend, { address: contract_address }: TestCollection, body: object) =>
  backend.post('/api/v1/commitprovenance', { contract_address, ...body })

const transactionOf = ({ json }: Answer): string => json.response?.transaction_gdn_id ?? JSON.stringify(json)

async function leavesOn({ url, apiKey }: TestBackend, text: string): Promise<string> {
  const body = new FormData()
  body.append('file', new Blob([text]), 'leaves.txt')
  const response = await fetch(`${url}/api/v1/files`, {
    ...{ method: 'POST', headers: { 'x-api-key': apiKey.reveal() }, body },
  })
  return ((await response.json()) as { url: string }).url
}

let drops = 0

/** A drop with its own hash and leaves file. */
async function newDrop(backend: TestBackend) {
  const drop = `0x${(++drops).toString(16).padStart(64, '0')}`
  const leaves = await leavesOn(backend, `leaves of ${drop}`)
  const slots = (...numbers: number[]) =>
    numbers.map((slot) => ({
      ...metadataOf(`slot ${slot}`),
      file_fields: [{ key: 'provenance', url: leaves }],
      provenance_row: String(slot),
    }))
  return { drop, slots, seal: { provenance: computeSeal(drop), seal_of: drop, leaves_url: leaves } }
}

describe('on an embedded chain', () => {
  let dataDir: Awaited<ReturnType<typeof freshDataDir>>
  let backend: TestBackend
  beforeAll(async () => {
    dataDir = await freshDataDir()
    backend = await startTestBackend(dataDir.path)
  })
  afterAll(async () => {
    await backend?.close()
    await dataDir?.remove()
  })

  async function held() {
    let letGo: (() => Promise<void>) | null = await holdSettling(dataDir.path, 'mint')
    const release = async () => {
      await letGo?.()
      letGo = null
    }
    onTestFinished(release)
    return release
  }

  async function shuffled() {
    const collection = await createTestCollection(backend)
    const one = await newDrop(backend)
    await ended(
      backend,
      transactionOf(await commitTo(backend, collection, { provenance: one.drop, shuffle_margin: 1 })),
    )
    return { collection, ...one }
  }

  const mintSlots = async ({ collection, slots }: Awaited<ReturnType<typeof shuffled>>, ...numbers: number[]) =>
    await backend.post('/api/v1/createnft', {
      contract_address: collection.address,
      blockchain: 'polygon',
      receiver_wallet_address: `0x${'ab'.repeat(20)}`,
      metadata: slots(...numbers),
    })

  it('refuses NFTs of a sealed drop as a whole, and accepts all others', { tags: ['promise'] }, async () => {
    const one = await shuffled()
    const { collection, drop, slots, seal } = one
    await settled(backend, await mint(backend, collection, slots(1, 2)))
    const sealed = transactionOf(await commitTo(backend, collection, seal))
    // The seal holds from its acceptance.
    const late = await mintSlots(one, 3)
    expect(late.status).toBe(409)
    expect(late.headers.get('error-code')).toBe('drop_sealed')
    expect(late.json.error.message).toContain(
      'is sealed, so no more NFTs of the drop can be minted; nothing was accepted',
    )
    expect((await ended(backend, sealed))?.status).toBe('deployed')
    const mixed = await backend.post('/api/v1/createnft', {
      contract_address: collection.address,
      blockchain: 'polygon',
      receiver_wallet_address: `0x${'ab'.repeat(20)}`,
      metadata: [metadataOf('other'), ...slots(3)],
    })
    expect(mixed.status).toBe(409)
    const { nft_gdn_ids } = await call(backend, 'getnftgdnids', {
      ...{ contract_addresses: collection.address, blockchain: 'polygon' },
    })
    expect(nft_gdn_ids).toHaveLength(2)
    const other = await newDrop(backend)
    await settled(backend, await mint(backend, collection, [metadataOf('other'), ...other.slots(1)]))
    const { provenances } = await call(backend, 'getprovenances', { contract_address: collection.address })
    expect(provenances).toMatchObject([
      { provenance: drop, shuffle_margin: 1, seal_of: null, is_final: true, first_token_id: '1' },
      { provenance: seal.provenance, shuffle_margin: null, seal_of: drop, is_final: true, first_token_id: '3' },
    ])
    // Another machine seals the drop, too.
    expect(transactionOf(await commitTo(backend, collection, seal))).toBe(sealed)
  })

  it('refuses a seal while an NFT that names the leaves file is pending', async () => {
    const one = await shuffled()
    const { collection, slots, seal } = one
    const letGo = await held()
    const [id = ''] = await mint(backend, collection, slots(1))
    const early = await commitTo(backend, collection, seal)
    expect([early.status, early.headers.get('error-code')]).toEqual([409, 'drop_not_final'])
    expect(early.json.error.message).toBe('1 NFT of the drop is pending or not final yet; nothing was accepted')
    await letGo()
    await settled(backend, [id])
    expect((await ended(backend, transactionOf(await commitTo(backend, collection, seal))))?.status).toBe('deployed')
  })

  it('ignores pending NFTs of other drops', async () => {
    const { collection, seal } = await shuffled()
    const other = await newDrop(backend)
    const letGo = await held()
    await mint(backend, collection, other.slots(1))
    expect((await commitTo(backend, collection, seal)).status).toBe(200)
    await letGo()
  })

  it('refuses a seal without its drop, and a hash that is not the seal', async () => {
    const { collection, seal, drop } = await shuffled()
    const other = await newDrop(backend)
    const refused = async (body: object, status: number, message: string) => {
      const answer = await commitTo(backend, collection, body)
      expect([answer.status, JSON.stringify(answer.json)]).toEqual([status, expect.stringContaining(message)])
    }
    await refused(other.seal, 400, `the collection is not committed to the shuffled drop ${other.drop}`)
    await refused({ ...seal, provenance: other.drop }, 400, 'provenance is not the seal of the drop in seal_of')
    await refused(
      { provenance: computeSeal(drop) },
      400,
      `provenance seals the drop ${drop}: add seal_of and leaves_url`,
    )
    await refused({ ...seal, leaves_url: undefined }, 400, 'leaves_url is required to seal a drop')
    // A drop whose rows aren't shuffled has no seal.
    await ended(backend, transactionOf(await commitTo(backend, collection, { provenance: other.drop })))
    await refused(other.seal, 400, 'is not committed to the shuffled drop')
  })
})

describe('on a network with reorgs', () => {
  let real: PublicNetwork
  let remote: RemoteBackend
  beforeAll(async () => {
    real = await startPublicNetwork()
    remote = await startRemoteBackend(real)
  })
  afterAll(async () => {
    await remote?.close()
    await real?.close()
  })

  it('refuses a margin below finality, and a seal until the mints are final', async () => {
    const { backend } = remote
    const collection = await createTestCollection(backend)
    await until(
      async () => {
        await real.mine()
        return await call(backend, 'getcollections', { transaction_gdn_ids: [collection.id] })
      },
      ({ collections }) => collections[0]?.status === 'deployed',
    )
    await real.call('anvil_mine', [2 * FINALITY, 2])
    const { drop, slots, seal } = await newDrop(backend)
    const short = await commitTo(backend, collection, { provenance: drop, shuffle_margin: 1 })
    expect([short.status, short.json.error.message]).toEqual([
      400,
      expect.stringMatching(/^shuffle_margin is 1 s, but the newest blocks of polygon took \d+ s to become final$/),
    ])
    const mined = async <T>(ask: () => Promise<T>, right: (answer: T) => boolean) =>
      await until(async () => {
        await real.mine()
        return await ask()
      }, right)
    const committed = await commitTo(backend, collection, { provenance: drop, shuffle_margin: 1800 })
    const provenances = async () =>
      (await call(backend, 'getprovenances', { contract_address: collection.address })).provenances
    expect(committed.status).toBe(200)
    await mined(provenances, ([found]) => found?.status === 'deployed')
    const ids = await mint(backend, collection, slots(1))
    // Exactly as many blocks as `deployed` needs: a block per poll could make the mint final before the next request.
    await until(
      () => real.pool(),
      ({ length }) => length > 0,
    )
    await real.mine(CONFIRMATIONS)
    await until(
      () => showNfts(backend, ids),
      ([nft]) => nft?.status === 'deployed',
    )
    const early = await commitTo(backend, collection, seal)
    expect([early.status, early.headers.get('error-code')]).toEqual([409, 'drop_not_final'])
    await mined(
      () => commitTo(backend, collection, seal),
      ({ status }) => status === 200,
    )
    await mined(provenances, (found) => found[1]?.is_final === true)
  })
})
