import { writeFile } from 'node:fs/promises'
import { createPublicClient, getAddress, http, parseAbi, zeroAddress } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { folder } from '../cli/batch/drop.ts'
import { cli, errorOf } from '../cli/harness.ts'
import { call, createTestCollection, showCollection, type TestBackend, until, WALLETS } from '../helpers/backend.ts'
import { backUp, restore } from '../helpers/backups.ts'
import { type NetworkPlace, setUpNetwork } from '../helpers/network-backend.ts'
import { type PublicNetwork, startPublicNetwork } from '../helpers/public-network.ts'

const [ALICE, BOB] = WALLETS
const EVENT = parseAbi(['event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)'])[0]

let real: PublicNetwork
let place: NetworkPlace
let backend: TestBackend
let stopMining = async () => {}
beforeAll(async () => {
  real = await startPublicNetwork()
  place = await setUpNetwork(real)
  stopMining = real.mineEvery(30)
  backend = await place.start()
})
afterAll(async () => {
  await stopMining()
  await backend?.close()
  await place?.remove()
  await real?.close()
})

async function startFrom(backup: string) {
  await backend.close()
  await restore(place.dataDir, backup)
  backend = await place.start()
}

test('burns of saved plans are made once, and of no other NFT, across two restores of the database', async () => {
  const collection = await createTestCollection(backend, { enable_burn: true, enable_transfer: true })
  await until(
    async () => (await showCollection(backend, collection.id)).status,
    (status) => status === 'deployed',
  )
  const { path, options } = await folder()
  const gdn = async (command: string[], ...ids: string[]) => {
    const rows = ids.map((id) => `${id},Title ${id},x,${id === 'c' ? BOB : ALICE}`)
    if (ids.length > 0) await writeFile(path('drop.csv'), `id,title,description,receiver\n${rows.join('\n')}\n`)
    const target = ['-c', collection.address, '-b', collection.blockchain, '--base-url', backend.url, '--json']
    const env = { ...options.env, GDN_API_KEY: backend.apiKey.reveal() }
    return await cli([...command, ...target], { ...options, env })
  }
  const pruned = async (...ids: string[]) => {
    const { code, stdout, stderr } = await gdn(
      ['plan', path('drop.csv'), '--prune', '--out', path('plan.json')],
      ...ids,
    )
    expect(code, stderr).toBe(0)
    return (JSON.parse(stdout) as { action: string; key: string; reason: string }[]).map(
      (one) => `${one.action} ${one.key}`,
    )
  }
  const apply = () => gdn(['apply', path('plan.json'), '--yes', '--max-burns', '9'])
  const burnedTitles = async () => {
    const filter = { address: getAddress(collection.address), fromBlock: 0n, event: EVENT } as const
    const events = await createPublicClient({ transport: http(real.url) }).getLogs(filter)
    const tokens = events.flatMap(({ args }) => (args.to === zeroAddress ? String(args.tokenId) : []))
    return tokens.map((token) => titles.get(token))
  }

  expect((await gdn(['apply', path('drop.csv'), '--yes'], 'a', 'b', 'c', 'd')).code).toBe(0)
  const { nft_gdn_ids } = await call(backend, 'getnftgdnids', {
    ...{ contract_addresses: collection.address, blockchain: collection.blockchain },
  })
  const titles = new Map<unknown, string>()
  for (const nft of (await call(backend, 'getnfts', { nft_gdn_ids })).nfts) {
    titles.set(nft.token_id, (nft.request_metadata as { title: string }).title)
  }
  await backend.close()
  const backup = await backUp(place.dataDir)
  backend = await place.start()
  const gone: string[] = []
  for (const ids of [
    ['a', 'c', 'd'],
    ['a', 'd'],
  ]) {
    const id = ids.includes('c') ? 'b' : 'c'
    expect(await pruned(...ids)).toEqual([`burn ${id}`])
    expect(await apply()).toMatchObject({ code: 0, stdout: expect.stringContaining('"burned":1') })
    gone.push(`Title ${id}`)
    await startFrom(backup)
    // Nothing waits here for the backend to find the burns of before.
    expect(errorOf(await apply())).toMatchObject({ code: 'refused', message: expect.stringContaining('restored') })
    await pruned(...ids)
    await apply()
    await until(
      () => pruned(...ids),
      (changes) => changes.length === 0,
    )
    expect(await burnedTitles()).toEqual(gone)
  }
})
