/** @module-tag slow */
import { createPublicClient, getAddress, http, parseAbi, zeroAddress } from 'viem'
import { beforeAll, expect, it } from 'vitest'
import { backendForFile, call, type TestBackend, until, WALLETS } from '../../helpers/backend.ts'
import { newWallet, rpcOf } from '../../helpers/rpc-wallets.ts'
import { dynamicNfts, ended, update } from '../../helpers/updates.ts'

// What a marketplace does that knows only the standards: viem, the backend's /rpc and its IPFS gateway.

const STANDARDS = parseAbi([
  'function tokenURI(uint256) view returns (string)',
  'function contractURI() view returns (string)',
  'function supportsInterface(bytes4) view returns (bool)',
  'function royaltyInfo(uint256 tokenId, uint256 salePrice) view returns (address, uint256)',
  'event MetadataUpdate(uint256 _tokenId)',
  'event BatchMetadataUpdate(uint256 _fromTokenId, uint256 _toTokenId)',
  'event ContractURIUpdated()',
  'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)',
])
const [ALICE] = WALLETS

let backend: TestBackend

beforeAll(async () => {
  backend = await backendForFile()
})

const marketplace = () => createPublicClient({ transport: http(`${backend.url}/rpc/polygon`), pollingInterval: 100 })

it('a client of the standards sees updates, and reads the new metadata from the gateway', async () => {
  const { collection, ids, nfts } = await dynamicNfts(backend, ['Dawn', 'Noon', 'Dusk'])
  const client = marketplace()
  const address = getAddress(collection.address)
  const nameOf = async (tokenId: bigint) => {
    const uri = await client.readContract({ address, abi: STANDARDS, functionName: 'tokenURI', args: [tokenId] })
    const file = await fetch(`${backend.url}/ipfs/${uri.replace('ipfs://', '')}`)
    return ((await file.json()) as { name: string }).name
  }
  const tokens = nfts.map(({ token_id }) => BigInt(token_id ?? ''))
  expect(await Promise.all(tokens.map(nameOf))).toEqual(['Dawn', 'Noon', 'Dusk'])

  const refreshed = new Map<bigint, string>()
  const failures: Error[] = []
  const stale = async (from: bigint, to: bigint) => {
    for (let id = from; id <= to; id++) refreshed.set(id, await nameOf(id))
  }
  const stop = client.watchEvent({
    address,
    events: [STANDARDS[4], STANDARDS[5]],
    strict: true,
    onError: (error) => failures.push(error),
    async onLogs(logs) {
      for (const { eventName, args } of logs) {
        if (eventName === 'MetadataUpdate') await stale(args._tokenId, args._tokenId)
        else await stale(args._fromTokenId, args._toTokenId)
      }
    },
  })
  try {
    // A poll has to begin first, which viem doesn't tell.
    let title = ''
    const updated = async () => {
      title = `High noon ${refreshed.size} ${title.length}`
      await ended(backend, await update(backend, collection, ids[1] ?? '', title))
      return refreshed.get(tokens[1] ?? 0n)
    }
    await until(updated, (seen) => seen?.startsWith('High noon') === true)
    const others = [
      update(backend, collection, ids[0] ?? '', 'Late dawn'),
      update(backend, collection, ids[1] ?? '', 'Last noon'),
    ]
    for (const id of await Promise.all(others)) await ended(backend, id)
    await until(
      async () => refreshed,
      (seen) => seen.get(tokens[0] ?? 0n) === 'Late dawn' && seen.get(tokens[1] ?? 0n) === 'Last noon',
    )
  } finally {
    stop()
  }
  expect(failures).toEqual([])
  expect(await nameOf(tokens[2] ?? 0n)).toBe('Dusk')
})

it('a client of the standards finds the interfaces, the royalty and the metadata of the collection', async () => {
  const owner = newWallet()
  const { collection, nfts } = await dynamicNfts(backend, ['a'], {
    ...{ wallet_address: owner.address, royalty_bps: 750, royalty_receiver: ALICE, enable_burn: true },
  })
  const client = marketplace()
  const address = getAddress(collection.address)
  const contractCall = { address, abi: STANDARDS } as const
  const supports = (id: `0x${string}`) =>
    client.readContract({ ...contractCall, functionName: 'supportsInterface', args: [id] })
  // ERC-165, ERC-721, its metadata, ERC-2981, ERC-4906, and none.
  const interfaces = ['0x01ffc9a7', '0x80ac58cd', '0x5b5e139f', '0x2a55205a', '0x49064906', '0xffffffff'] as const
  expect(await Promise.all(interfaces.map(supports))).toEqual([true, true, true, true, true, false])
  const tokenId = BigInt(nfts[0]?.token_id ?? '')
  const royalty = await client.readContract({ ...contractCall, functionName: 'royaltyInfo', args: [tokenId, 10_000n] })
  expect(royalty).toEqual([getAddress(ALICE), 750n])

  const before = await client.readContract({ ...contractCall, functionName: 'contractURI' })
  const uri = 'data:application/json,{"name":"Another"}'
  await rpcOf(backend).send(owner, collection.address, { functionName: 'setContractURI', args: [uri] })
  const changed = await client.getContractEvents({ ...contractCall, eventName: 'ContractURIUpdated', fromBlock: 0n })
  expect(changed).toHaveLength(1)
  expect(await client.readContract({ ...contractCall, functionName: 'contractURI' })).toBe(uri)
  expect(before).not.toBe(uri)

  const body = { contract_address: address, nft_gdn_id: nfts[0]?.nft_gdn_id, holder_wallet_address: WALLETS[1] }
  await ended(backend, (await call(backend, 'burnnft', body)).response.transaction_gdn_id)
  const burns = { ...contractCall, eventName: 'Transfer', args: { to: zeroAddress }, fromBlock: 0n } as const
  expect((await client.getContractEvents(burns)).map(({ args }) => args.tokenId)).toEqual([tokenId])
})
