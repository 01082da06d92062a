/** @module-tag slow */
import { join } from 'node:path'
import { type Abi, encodeDeployData, encodeFunctionData, type Hex, parseAbi, zeroAddress } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compileSolidity } from '../../src/build/contracts.mjs'
import { cli, tempHome } from '../cli/harness.ts'
import { GatewayStandIn } from '../helpers/ipfs-gateway-stand-in.ts'
import { type PlainAnvil, startPlainAnvil } from '../helpers/plain-anvil.ts'
import { cloneOf, DROP, deployCode, published, ZORA } from '../helpers/published-contracts.ts'
import { pixels } from './collection-world.ts'
import { opened } from './opened-archive.ts'

const PRAGMA = '// SPDX-License-Identifier: MIT\npragma solidity ^0.8.26;\n'
const SOURCES = {
  'Oz721.sol': `${PRAGMA}
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
contract Oz721 is ERC721 {
  string base;
  constructor(string memory base_) ERC721("Tide", "T") { base = base_; for (uint256 i = 1; i < 4; ++i) _mint(msg.sender, i); }
  function _baseURI() internal view override returns (string memory) { return base; }
}`,
  'A721.sol': `${PRAGMA}
import {ERC721AUpgradeable} from "erc721a-upgradeable/contracts/ERC721AUpgradeable.sol";
contract A721 is ERC721AUpgradeable {
  string base;
  constructor(string memory base_) initializerERC721A { __ERC721A_init("Fast", "F"); base = base_; _mint(msg.sender, 3); }
  function _startTokenId() internal pure override returns (uint256) { return 1; }
  function _baseURI() internal view override returns (string memory) { return base; }
}`,
  'Mutable.sol': `${PRAGMA}
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
contract Mutable is ERC721 {
  string base;
  constructor(string memory base_) ERC721("Tide", "T") { base = base_; for (uint256 i = 1; i < 4; ++i) _mint(msg.sender, i); }
  function upgrade() external { base = "https://elsewhere.example/"; _burn(2); }
  function _baseURI() internal view override returns (string memory) { return base; }
}`,
  'Oz1155.sol': `${PRAGMA}
import {ERC1155} from "@openzeppelin/contracts/token/ERC1155/ERC1155.sol";
contract Oz1155 is ERC1155 {
  constructor(string memory base) ERC1155(string.concat(base, "{id}")) { for (uint256 i = 1; i < 4; ++i) _mint(msg.sender, i, i, ""); }
}`,
}
const MANIFOLD = parseAbi(['constructor(string name, string symbol)', 'function mintBase(address to, string uri)'])
const COIN = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'
const NO_ROOT: Hex = `0x${'0'.repeat(64)}`

let anvil: PlainAnvil
let gateway: GatewayStandIn
let admin: Hex
/** The IPFS directory with the metadata of tokens 0 to 3, also under the names that ERC-1155 asks for. */
let base: string

beforeAll(async () => {
  // The contract of Zora is larger than networks permit; it is published for others.
  anvil = await startPlainAnvil(['--disable-code-size-limit'])
  admin = anvil.accounts[0] as Hex
  gateway = await new GatewayStandIn().start()
  const ids = [0, 1, 2, 3]
  const images = await gateway.add(Object.fromEntries(ids.map((id) => [`${id}.png`, pixels(id)])))
  const metadata = (id: number) =>
    Buffer.from(JSON.stringify({ name: `Tide ${id}`, image: `ipfs://${images}/${id}.png` }))
  const names = (id: number) => [String(id), id.toString(16).padStart(64, '0')]
  base = `ipfs://${await gateway.add(Object.fromEntries(ids.flatMap((id) => names(id).map((name) => [name, metadata(id)]))))}/`
})
afterAll(async () => {
  await anvil.stop()
  await gateway.close()
})

const sourced = async (name: keyof typeof SOURCES) => {
  const contract = compileSolidity(SOURCES)[name.replace('.sol', '')]
  if (contract === undefined) throw new Error(`there is no ${name}`)
  return await deployCode(
    anvil,
    encodeDeployData({ abi: contract.abi as Abi, bytecode: contract.bytecode, args: [base] }),
  )
}

async function manifold(): Promise<Hex> {
  const bytecode = await published('holders/manifold-erc721-creator')
  const creator = await deployCode(anvil, encodeDeployData({ abi: MANIFOLD, bytecode, args: ['Tide', 'T'] }))
  for (const id of [1, 2, 3]) {
    const args = [admin, `${base}${id}`] as const
    await anvil.send(admin, creator, encodeFunctionData({ abi: MANIFOLD, functionName: 'mintBase', args }))
  }
  return creator
}

async function thirdweb(): Promise<Hex> {
  const drop = await deployCode(
    anvil,
    cloneOf(await deployCode(anvil, await published('wallet/proofs/thirdweb-drop-erc721'))),
  )
  const send = (data: Hex) => anvil.send(admin, drop, data)
  const own = [admin, 'Drop', 'D', '', [], admin, admin, 0n, 0n, admin] as const
  await send(encodeFunctionData({ abi: DROP, functionName: 'initialize', args: own }))
  await send(encodeFunctionData({ abi: DROP, functionName: 'lazyMint', args: [10n, base, '0x'] }))
  const free = { merkleRoot: NO_ROOT, pricePerToken: 0n, currency: COIN, metadata: '' } as const
  const claims = { startTimestamp: 0n, maxClaimableSupply: 10n, supplyClaimed: 0n, quantityLimitPerWallet: 10n }
  const condition = [[{ ...claims, ...free }], true] as const
  await send(encodeFunctionData({ abi: DROP, functionName: 'setClaimConditions', args: condition }))
  const proof = { proof: [], quantityLimitPerWallet: 0n, pricePerToken: 0n, currency: zeroAddress }
  await send(encodeFunctionData({ abi: DROP, functionName: 'claim', args: [admin, 3n, COIN, 0n, proof, '0x'] }))
  return drop
}

async function zora(): Promise<Hex> {
  const bytecode = await published('holders/zora-creator-1155-impl')
  const args = [admin, admin, admin, admin] as const
  const creator = await deployCode(
    anvil,
    cloneOf(await deployCode(anvil, encodeDeployData({ abi: ZORA, bytecode, args }))),
  )
  const send = (data: Hex) => anvil.send(admin, creator, data)
  const own = ['Editions', '', { mintSchedule: 0, bps: 0, receiver: admin }, admin, []] as const
  await send(encodeFunctionData({ abi: ZORA, functionName: 'initialize', args: own }))
  for (const id of [1n, 2n, 3n]) {
    await send(encodeFunctionData({ abi: ZORA, functionName: 'setupNewToken', args: [`${base}${id}`, 1000n] }))
    await send(encodeFunctionData({ abi: ZORA, functionName: 'adminMint', args: [admin, id, 2n, '0x'] }))
  }
  return creator
}

test.each<[name: string, deploy: () => Promise<Hex>, ids: number[]]>([
  ["OpenZeppelin's ERC721", () => sourced('Oz721.sol'), [1, 2, 3]],
  ["OpenZeppelin's ERC1155", () => sourced('Oz1155.sol'), [1, 2, 3]],
  ['ERC721A', () => sourced('A721.sol'), [1, 2, 3]],
  ["Manifold's ERC721Creator", manifold, [1, 2, 3]],
  ["thirdweb's DropERC721", thirdweb, [0, 1, 2]],
  ["Zora's ZoraCreator1155Impl", zora, [1, 2, 3]],
])('archives a collection of %s, and verifies its tokens', async (_name, deploy, ids) => {
  const contract = await deploy()
  const { dir, env } = await tempHome()
  const [file, sources] = [
    join(dir, 'tides.car'),
    ['-b', 'testchain', '--rpc-url', anvil.url, '--gateway', gateway.url],
  ]
  const archived = await cli(['collection', 'archive', contract, ...sources, '--to', file, '--json'], { env })
  expect(archived.code, archived.stderr).toBe(0)
  const { tokens, content } = await opened(file)
  expect(tokens.filter(({ token_id }) => token_id !== null).map(({ token_id }) => token_id)).toEqual(ids.map(String))
  for (const [at, { files }] of tokens.filter(({ token_id }) => token_id !== null).entries()) {
    const found = new Map(files.map(({ field, cid }) => [field, cid ?? '']))
    expect(JSON.parse(String(await content(found.get('metadata') ?? '')))).toMatchObject({ name: `Tide ${ids[at]}` })
    expect(await content(found.get('image') ?? '')).toEqual(pixels(ids[at] ?? -1))
  }
  for (const id of ids) {
    const verified = await cli(['nft', 'verify', `${contract}/${id}`, ...sources, '--json'], { env })
    expect(verified.code, verified.stderr).toBe(0)
  }
})

test('a contract that changes while it is archived is archived as of one block', async () => {
  const contract = await sourced('Mutable.sol')
  const { dir, env } = await tempHome()
  const file = join(dir, 'tides.car')
  const sources = ['-b', 'testchain', '--rpc-url', anvil.url, '--gateway', gateway.url]
  const { answer } = gateway
  let upgrade: Promise<unknown> | undefined
  gateway.answer = async (cid, path) => {
    upgrade ??= anvil.send(admin, contract, encodeFunctionData({ abi: parseAbi(['function upgrade()']) }))
    await upgrade
    return (await answer(cid, path)) ?? { status: 404, body: Buffer.alloc(0) }
  }
  try {
    const archived = await cli(['collection', 'archive', contract, ...sources, '--to', file, '--json'], { env })
    expect(archived.code, archived.stderr).toBe(0)
    const { tokens } = await opened(file)
    expect(tokens.map(({ token_id, uri }) => [token_id, uri])).toEqual([1, 2, 3].map((id) => [String(id), base + id]))
  } finally {
    gateway.answer = answer
  }
  const checked = await cli(['collection', 'check', contract, ...sources, '--archive', file, '--json'], { env })
  expect(checked.code, checked.stderr).toBe(7)
  const after = JSON.parse(checked.stdout)
  expect(JSON.stringify(after)).toContain('elsewhere.example')
})

test.each<[string, () => { status?: number; headers?: Record<string, string>; body: Buffer }, RegExp]>([
  ['lies', () => ({ body: Buffer.from('other bytes') }), /returned bytes that do not match/],
  [
    'answers with a page',
    () => ({ body: Buffer.from('<!doctype html><title>Sign in</title>'), headers: { 'content-type': 'text/html' } }),
    /returned bytes that do not match/,
  ],
])(
  'a gateway that %s after a while gives an archive that names the files, and no wrong bytes',
  async (_name, reply, why) => {
    const contract = await sourced('Oz721.sol')
    const { dir, env } = await tempHome()
    const file = join(dir, 'tides.car')
    const sources = ['-b', 'testchain', '--rpc-url', anvil.url, '--gateway', gateway.url]
    const { answer } = gateway
    let good = 6
    gateway.answer = (cid, path) => (good-- > 0 ? answer(cid, path) : reply())
    try {
      const archived = await cli(['collection', 'archive', contract, ...sources, '--to', file], { env })
      expect(archived.code).toBe(7)
      expect(archived.stderr).toMatch(why)
      // It checks each block against its CID.
      const { header, blocks } = await opened(file)
      expect(header.unreadable).toBeGreaterThan(0)
      for (const [cid, bytes] of blocks)
        if (gateway.blocks.has(cid)) expect(Buffer.from(bytes)).toEqual(gateway.blocks.get(cid))
      const checked = await cli(['collection', 'check', contract, ...sources, '--json'], { env })
      expect(checked.code).not.toBe(0)
    } finally {
      gateway.answer = answer
    }
  },
)
