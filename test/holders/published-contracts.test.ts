/** @module-tag slow */
import { encodeDeployData, encodeFunctionData, getAddress, type Hex, parseAbi, zeroAddress } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { cli } from '../cli/harness.ts'
import { type PlainAnvil, startPlainAnvil } from '../helpers/plain-anvil.ts'
import { cloneOf, DROP, deployCode, published, ZORA } from '../helpers/published-contracts.ts'
import { bruteForce } from './brute-force.ts'

const ABI = parseAbi([
  'constructor(string name, string symbol)',
  'function mintBase(address to)',
  'function mintBaseBatch(address to, uint16 count)',
  'function burn(uint256 tokenId)',
  'function transferFrom(address from, address to, uint256 tokenId)',
])
const COIN = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'

let anvil: PlainAnvil
let admin: Hex
let people: Hex[]

beforeAll(async () => {
  // The contract of Zora is larger than networks permit; it is published for others.
  anvil = await startPlainAnvil(['--disable-code-size-limit'])
  people = anvil.accounts.map((account) => getAddress(account))
  admin = people[0] as Hex
})
afterAll(() => anvil.stop())

const person = (at: number): Hex => people[at % people.length] as Hex

const deploy = (data: Hex) => deployCode(anvil, data)
const proxyOf = (implementation: Hex) => deployCode(anvil, cloneOf(implementation))

/** Compares the holders that gdn finds with the answers of the contract for each token or person. */
async function expectSame(contract: Hex, what: Parameters<typeof bruteForce>[2]) {
  const block = Number(await anvil.request<Hex>('eth_blockNumber', []))
  const flags = ['-b', 'testchain', '--rpc-url', anvil.url, '--block', String(block), '--json']
  const { code, stdout, stderr } = await cli(['collection', 'holders', contract, ...flags])
  expect(code, stderr).toBe(0)
  const found = (JSON.parse(stdout) as { receiver: string; count: string }[]).map(({ receiver, count }) => [
    receiver,
    count,
  ])
  expect(Object.fromEntries(found)).toEqual(await bruteForce(anvil, contract, what, block))
  expect(found.length).toBeGreaterThan(3)
}

test("finds the holders of Manifold's ERC721Creator", async () => {
  const bytecode = await published('holders/manifold-erc721-creator')
  const creator = await deploy(encodeDeployData({ abi: ABI, bytecode, args: ['Tide', 'T'] }))
  const send = (from: Hex, data: Hex) => anvil.send(from, creator, data)
  for (let i = 0; i < 6; i++) {
    await send(admin, encodeFunctionData({ abi: ABI, functionName: 'mintBase', args: [person(i)] }))
    await send(admin, encodeFunctionData({ abi: ABI, functionName: 'mintBaseBatch', args: [person(i + 1), 3] }))
  }
  const move = [person(0), person(7), 1n] as const
  await send(person(0), encodeFunctionData({ abi: ABI, functionName: 'transferFrom', args: move }))
  await send(person(1), encodeFunctionData({ abi: ABI, functionName: 'burn', args: [2n] }))
  await expectSame(creator, { tokens: 30 })
})

test("finds the holders of thirdweb's DropERC721", async () => {
  const drop = await proxyOf(await deploy(await published('wallet/proofs/thirdweb-drop-erc721')))
  const send = (from: Hex, data: Hex) => anvil.send(from, drop, data)
  const own = [admin, 'Drop', 'D', '', [], admin, admin, 0n, 0n, admin] as const
  await send(admin, encodeFunctionData({ abi: DROP, functionName: 'initialize', args: own }))
  const tokens = [100n, 'ipfs://tokens/', '0x'] as const
  await send(admin, encodeFunctionData({ abi: DROP, functionName: 'lazyMint', args: tokens }))
  const root: Hex = `0x${'0'.repeat(64)}`
  const free = { merkleRoot: root, pricePerToken: 0n, currency: COIN, metadata: '' } as const
  const claims = { startTimestamp: 0n, maxClaimableSupply: 100n, supplyClaimed: 0n, quantityLimitPerWallet: 50n }
  const condition = [[{ ...claims, ...free }], true] as const
  await send(admin, encodeFunctionData({ abi: DROP, functionName: 'setClaimConditions', args: condition }))
  const proof = { proof: [], quantityLimitPerWallet: 0n, pricePerToken: 0n, currency: zeroAddress }
  for (let i = 0; i < 7; i++) {
    const args = [person(i), BigInt(1 + (i % 3)), COIN, 0n, proof, '0x'] as const
    await send(person(i), encodeFunctionData({ abi: DROP, functionName: 'claim', args }))
  }
  const move = [person(0), person(8), 0n] as const
  await send(person(0), encodeFunctionData({ abi: DROP, functionName: 'transferFrom', args: move }))
  await send(person(1), encodeFunctionData({ abi: DROP, functionName: 'burn', args: [1n] }))
  await expectSame(drop, { tokens: 20 })
})

test("finds the holders of Zora's ZoraCreator1155Impl", async () => {
  const bytecode = await published('holders/zora-creator-1155-impl')
  const creator = await proxyOf(
    await deploy(encodeDeployData({ abi: ZORA, bytecode, args: [admin, admin, admin, admin] })),
  )
  const send = (from: Hex, data: Hex) => anvil.send(from, creator, data)
  const royalty = { mintSchedule: 0, bps: 0, receiver: admin }
  const own = ['Editions', '', royalty, admin, []] as const
  await send(admin, encodeFunctionData({ abi: ZORA, functionName: 'initialize', args: own }))
  for (let id = 1n; id <= 3n; id++) {
    const uri = [`ipfs://${id}`, 1000n] as const
    await send(admin, encodeFunctionData({ abi: ZORA, functionName: 'setupNewToken', args: uri }))
    for (let i = 0; i < 6; i++) {
      const args = [person(i), id, BigInt(i + 1), '0x'] as const
      await send(admin, encodeFunctionData({ abi: ZORA, functionName: 'adminMint', args }))
    }
  }
  const move = [person(5), person(9), 2n, 4n, '0x'] as const
  await send(person(5), encodeFunctionData({ abi: ZORA, functionName: 'safeTransferFrom', args: move }))
  const burn = [person(4), [1n, 2n], [5n, 1n]] as const
  await send(person(4), encodeFunctionData({ abi: ZORA, functionName: 'burnBatch', args: burn }))
  await expectSame(creator, { people, ids: 4 })
})
