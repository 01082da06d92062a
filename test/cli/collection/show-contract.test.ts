/** @module-tag slow */
import {
  type Abi,
  encodeAbiParameters,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  type Hex,
  keccak256,
  parseAbi,
  toHex,
  zeroAddress,
} from 'viem'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { compileSolidity } from '../../../src/build/contracts.mjs'
import { addressesIn, answering, BURN_GAS, endWith, returnBytes, textIn, wordOf } from '../../helpers/answering-code.ts'
import { type PlainAnvil, startPlainAnvil } from '../../helpers/plain-anvil.ts'
import { cloneOf, deployCode, published } from '../../helpers/published-contracts.ts'
import { pruningFirst, startRpcProxy } from '../../helpers/rpc-proxy.ts'
import { fakeApi } from '../fake-api.ts'
import { cli, errorOf, tempHome } from '../harness.ts'

const OZ = '@openzeppelin/contracts'
const SOURCES = {
  'Shown.sol': `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;
import {ERC721} from "${OZ}/token/ERC721/ERC721.sol";
import {ERC721Royalty} from "${OZ}/token/ERC721/extensions/ERC721Royalty.sol";
import {ERC1155Supply, ERC1155} from "${OZ}/token/ERC1155/extensions/ERC1155Supply.sol";
import {AccessControl} from "${OZ}/access/AccessControl.sol";
import {AccessControlEnumerable} from "${OZ}/access/extensions/AccessControlEnumerable.sol";
import {Ownable, Ownable2Step} from "${OZ}/access/Ownable2Step.sol";
import {ERC1967Proxy} from "${OZ}/proxy/ERC1967/ERC1967Proxy.sol";
import {UpgradeableBeacon} from "${OZ}/proxy/beacon/UpgradeableBeacon.sol";
import {BeaconProxy} from "${OZ}/proxy/beacon/BeaconProxy.sol";
import {ERC721AUpgradeable} from "erc721a-upgradeable/contracts/ERC721AUpgradeable.sol";
contract Roles721 is ERC721Royalty, AccessControlEnumerable {
  uint256 public constant MAX_SUPPLY = 5000;
  constructor(address minter) ERC721("Hours", "H") {
    _grantRole(DEFAULT_ADMIN_ROLE, msg.sender);
    _grantRole(keccak256("MINTER_ROLE"), minter);
    _setDefaultRoyalty(minter, 750);
  }
  function contractURI() external pure returns (string memory) { return "ipfs://bafkreib/collection.json"; }
  function getTransferValidator() external pure returns (address) { return 0x721C008fdff27BF06E7E123956E2Fe03B63342e3; }
  function supportsInterface(bytes4 id) public view override(ERC721Royalty, AccessControlEnumerable) returns (bool) { return super.supportsInterface(id); }
}
contract Plain1155 is ERC1155Supply, AccessControl, Ownable2Step {
  constructor(address next) ERC1155("ipfs://{id}") Ownable(msg.sender) { transferOwnership(next); _mint(next, 7, 3, ""); }
  function supportsInterface(bytes4 id) public view override(ERC1155, AccessControl) returns (bool) { return super.supportsInterface(id); }
}
contract A721 is ERC721AUpgradeable {
  constructor() initializerERC721A { __ERC721A_init("Fast", "F"); _mint(msg.sender, 4); }
}
contract Proxy1967 is ERC1967Proxy { constructor(address to) ERC1967Proxy(to, "") {} }
contract Beacon is UpgradeableBeacon { constructor(address to) UpgradeableBeacon(to, msg.sender) {} }
contract OfBeacon is BeaconProxy { constructor(address beacon) BeaconProxy(beacon, "") {} }`,
}
const ZORA = parseAbi([
  'constructor(address mintFees, address upgrades, address rewards, address sales)',
  'struct Royalty { uint32 mintSchedule; uint32 bps; address receiver; }',
  'function initialize(string name, string uri, Royalty royalty, address admin, bytes[] actions)',
])
const DROP = parseAbi([
  'function initialize(address admin, string name, string symbol, string uri, address[] forwarders, address sale, address royalty, uint128 royaltyBps, uint128 feeBps, address fee)',
])
const MANIFOLD = parseAbi(['constructor(string name, string symbol)', 'function approveAdmin(address admin)'])

let anvil: PlainAnvil
let admin: Hex
let other: Hex
let compiled: ReturnType<typeof compileSolidity>

beforeAll(async () => {
  // The contract of Zora is larger than networks permit; it is published for others.
  anvil = await startPlainAnvil(['--disable-code-size-limit'])
  ;[admin = '0x', other = '0x'] = anvil.accounts.map((account) => getAddress(account))
  compiled = compileSolidity(SOURCES)
}, 180_000)
afterAll(() => anvil.stop())

const deploy = (name: string, ...args: unknown[]): Promise<Hex> => {
  const { abi, bytecode } = compiled[name] as { abi: Abi; bytecode: Hex }
  return deployCode(anvil, encodeDeployData({ abi, bytecode, args }))
}

let createdCount = 0
/** Puts runtime code at a new address. */
async function place(code: Hex): Promise<Hex> {
  const address = getAddress(`0x${keccak256(toHex(++createdCount)).slice(-40)}`)
  await anvil.request('anvil_setCode', [address, code])
  return address
}

const run = (contract: Hex, flags: readonly string[] = [], more: Parameters<typeof cli>[1] = {}) =>
  cli(['collection', 'show', contract, '-b', 'testchain', '--rpc-url', anvil.url, ...flags], more)

async function shown(contract: Hex) {
  const { code, stdout, stderr } = await run(contract, ['--json'])
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout)
}

describe('gdn collection show, for contracts of others', () => {
  test("shows OpenZeppelin's ERC-721 with roles, royalty, supply, URI and validator, at one block", async () => {
    const contract = await deploy('Roles721', other)
    const block = Number(await anvil.request<Hex>('eth_blockNumber', []))
    const found = await shown(contract)
    expect(found).toMatchObject({
      ...{ contract_address: contract, blockchain: 'testchain', block_number: block, name: 'Hours', symbol: 'H' },
      ...{ standard: 'erc721', erc165: 'supported', proxy: null, owner: null, contradictions: [], admins: null },
      ...{ max_supply: '5000', max_supply_function: 'MAX_SUPPLY()', total_supply: null },
      contract_uri: 'ipfs://bafkreib/collection.json',
      transfer_validator: '0x721C008fdff27BF06E7E123956E2Fe03B63342e3',
      royalty: { percent: 7.5, receiver: other },
      roles: [
        { role: 'DEFAULT_ADMIN_ROLE', members: [admin], member_count: 1, problem: null },
        { role: 'MINTER_ROLE', members: [other], id: keccak256(toHex('MINTER_ROLE')) },
      ],
      not_readable: { owner: 'owner() reverts', total_supply: 'totalSupply() reverts' },
    })
    expect(found.interfaces).toEqual(
      expect.arrayContaining(['ERC-721', 'ERC-2981 royalties', 'enumerable access control']),
    )
    expect(found.block_hash).toMatch(/^0x[0-9a-f]{64}$/)
  })

  test("shows OpenZeppelin's ERC-1155 with owner, pending owner and roles that can't be listed", async () => {
    const found = await shown(await deploy('Plain1155', other))
    expect(found).toMatchObject({ standard: 'erc1155', owner: admin, pending_owner: other, total_supply: '3' })
    expect(found.roles).toMatchObject([
      { role: 'DEFAULT_ADMIN_ROLE', members: null, member_count: null },
      { role: 'MINTER_ROLE', problem: expect.stringContaining('RoleGranted and RoleRevoked events') },
    ])
    expect(found.not_readable.max_supply).toBe('maxSupply(), MAX_SUPPLY(), maxTotalSupply(), cap(): reverts')
  })

  test('shows ERC721A', async () => {
    expect(await shown(await deploy('A721'))).toMatchObject({ standard: 'erc721', name: 'Fast', total_supply: '4' })
  })

  test("shows Manifold's ERC721Creator with its admins", async () => {
    const bytecode = await published('holders/manifold-erc721-creator')
    const creator = await deployCode(anvil, encodeDeployData({ abi: MANIFOLD, bytecode, args: ['Tide', 'T'] }))
    const approve = encodeFunctionData({ abi: MANIFOLD, functionName: 'approveAdmin', args: [other] })
    await anvil.send(admin, creator, approve)
    const found = await shown(creator)
    expect(found).toMatchObject({ standard: 'erc721', name: 'Tide', owner: admin, admins: [other] })
    expect(found.interfaces).toContain('Manifold creator core')
  })

  test("shows thirdweb's DropERC721 behind an EIP-1167 proxy, whose supply has no maximum", async () => {
    const implementation = await deployCode(anvil, await published('wallet/proofs/thirdweb-drop-erc721'))
    const drop = await deployCode(anvil, cloneOf(implementation))
    const args = [admin, 'Drop', 'D', 'ipfs://about', [], admin, other, 500n, 0n, admin] as const
    await anvil.send(admin, drop, encodeFunctionData({ abi: DROP, functionName: 'initialize', args }))
    const found = await shown(drop)
    expect(found).toMatchObject({
      ...{ standard: 'erc721', name: 'Drop', contract_uri: 'ipfs://about', owner: admin, total_supply: '0' },
      ...{ max_supply: null, max_supply_function: 'maxTotalSupply()', royalty: { percent: 5, receiver: other } },
      proxy: { kind: 'EIP-1167', implementation: getAddress(implementation), problem: null },
      not_readable: { max_supply: expect.stringContaining('maxTotalSupply() returns 0') },
    })
    expect(found.roles[0]).toMatchObject({ role: 'DEFAULT_ADMIN_ROLE', members: [admin] })
  })

  test("shows Zora's ZoraCreator1155Impl behind a proxy", async () => {
    const bytecode = await published('holders/zora-creator-1155-impl')
    const args = [admin, admin, admin, admin] as const
    const implementation = await deployCode(anvil, encodeDeployData({ abi: ZORA, bytecode, args }))
    const creator = await deployCode(anvil, cloneOf(implementation))
    const royalty = { mintSchedule: 0, bps: 250, receiver: other }
    const own = ['Editions', 'ipfs://editions', royalty, admin, []] as const
    await anvil.send(admin, creator, encodeFunctionData({ abi: ZORA, functionName: 'initialize', args: own }))
    expect(await shown(creator)).toMatchObject({
      ...{ standard: 'erc1155', name: 'Editions', contract_uri: 'ipfs://editions', owner: admin },
      royalty: { percent: 2.5, receiver: other },
      proxy: { kind: 'EIP-1167', implementation: getAddress(implementation) },
    })
  })

  test('names the implementation behind EIP-1967 proxies and beacons, and one without code', async () => {
    const implementation = await deploy('Roles721', other)
    expect((await shown(await deploy('Proxy1967', implementation))).proxy).toMatchObject({
      ...{ kind: 'EIP-1967', implementation, beacon: null, problem: null },
    })
    const beacon = await deploy('Beacon', implementation)
    expect((await shown(await deploy('OfBeacon', beacon))).proxy).toMatchObject({
      ...{ kind: 'EIP-1967 beacon', implementation, beacon },
    })
    const gone = await place('0x6000')
    const clone = await deployCode(anvil, cloneOf(gone))
    await anvil.request('anvil_setCode', [gone, '0x'])
    expect(await shown(clone)).toMatchObject({
      ...{ standard: null, name: null },
      not_readable: {
        implementation: `the implementation ${gone.toLowerCase()}: it has no code`,
        name: 'name() returns no data',
      },
    })
    await anvil.request('anvil_setCode', [beacon, '0x'])
    const broken = await deploy('Proxy1967', implementation)
    await anvil.request('anvil_setStorageAt', [
      broken,
      '0xa3f0ad74e5423aebfd80d3ef4346578335a9a72aeaee59ff6cb3582b35133d50',
      wordOf(BigInt(beacon)),
    ])
    expect((await shown(broken)).not_readable.implementation).toBe(
      `implementation() of the beacon ${beacon.toLowerCase()} returns no data`,
    )
  })

  test('an account that delegates by EIP-7702 is named', async () => {
    const account = await place(`0xef0100${(await deploy('A721')).slice(2)}`)
    expect(await shown(account)).toMatchObject({ code_kind: 'smart account, EIP-7702', proxy: { kind: 'EIP-7702' } })
  })
})

describe('contracts that lie or break', () => {
  const claims = (...ids: string[]) => {
    // Returns whether the interface is one of the IDs.
    const checks = ids.map((id) => `60043560e01c63${id}14`).join('')
    return { code: `${checks}${'17'.repeat(ids.length - 1)}60005260206000f3` }
  }

  test('an interface 0xffffffff makes all claims unbelievable', async () => {
    const contract = await place(
      answering({ 'supportsInterface(bytes4)': wordOf(1), 'name()': textIn('Liar'), 'owner()': wordOf(5) }),
    )
    const found = await shown(contract)
    expect(found).toMatchObject({ erc165: 'contradictory', standard: null, name: 'Liar' })
    expect(found.contradictions).toEqual([
      'it claims to support the interface 0xffffffff, which ERC-165 forbids',
      'it claims to support both ERC-721 and ERC-1155',
      expect.stringContaining('it claims to support ERC-721, but does not implement balanceOf(address)'),
      expect.stringContaining('it claims to support ERC-1155, but does not implement'),
      'it claims to support ERC-2981, but does not implement royaltyInfo(uint256,uint256)',
    ])
    const text = await run(contract)
    expect(text.stderr).toContain(
      'The contract returned contradictory values: it claims to support both ERC-721 and ERC-1155.',
    )
    expect(text.code).toBe(0)
  })

  test('a claim of ERC-721 without ERC-165 itself is named', async () => {
    const found = await shown(await place(answering({ 'supportsInterface(bytes4)': claims('80ac58cd') })))
    expect(found).toMatchObject({ erc165: 'contradictory', interfaces: ['ERC-721'] })
    expect(found.contradictions[0]).toBe('it claims to support ERC-721, but not ERC-165 itself')
  })

  test('a fallback that answers everything proves nothing', async () => {
    const found = await shown(await place(answering({}, endWith(wordOf(1)))))
    expect(found.contradictions[0]).toContain('it responds to functions that do not exist')
    expect(found).toMatchObject({ name: null, not_readable: { name: 'name() returns malformed data' } })
  })

  test('the royalty is that of a token that exists, and its ID is shown', async () => {
    const royaltyOf = (percent: number) =>
      encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [other, BigInt(percent * 100)])
    const royalty = { 'royaltyInfo(uint256,uint256)': royaltyOf(5) }
    const [none, owned] = [wordOf(0), wordOf(BigInt(other))]
    for (const [answers, token] of [
      [{}, '1'],
      [{ 'ownerOf(uint256)': owned }, '1'],
      // Only token 0 has an owner: the code returns the owner if the ID is 0, and 0 otherwise.
      [{ 'ownerOf(uint256)': { code: `73${other.slice(2)}6004351502${'60005260206000f3'}` } }, '0'],
      [{ 'ownerOf(uint256)': none, 'tokenByIndex(uint256)': wordOf(1000) }, '1000'],
    ] as const) {
      const found = await shown(await place(answering({ ...royalty, ...answers })))
      expect([found.royalty, found.royalty_token]).toEqual([{ percent: 5, receiver: other }, token])
    }
    expect(await shown(await place(answering({})))).toMatchObject({ royalty: null, royalty_token: null })
    const contract = await place(
      answering({ ...royalty, 'ownerOf(uint256)': none, 'tokenByIndex(uint256)': wordOf(9) }),
    )
    expect((await run(contract)).stdout).toContain('royalty_token\t9')
  })

  test('the card shows metadata that is in the contract itself', async () => {
    const metadata = { name: 'Tide', description: 'Hours of the tide', banner_image: `data:,${'x'.repeat(500)}` }
    const uri = `data:application/json;base64,${Buffer.from(JSON.stringify(metadata)).toString('base64')}`
    const contract = await place(answering({ 'contractURI()': textIn(uri) }))
    const { stdout } = await run(contract, [], { tty: true, columns: 600 })
    expect(stdout).toContain('Hours of the tide')
    expect(stdout).toContain('(506 characters)')
    expect(stdout).not.toContain('x'.repeat(401))
    expect((await shown(contract)).contract_uri).toBe(uri)
  })

  test('a supply above its maximum, and a royalty above the price, are named', async () => {
    const contract = await place(
      answering({
        'totalSupply()': wordOf(11),
        'maxSupply()': wordOf(10),
        'royaltyInfo(uint256,uint256)': encodeAbiParameters(
          [{ type: 'address' }, { type: 'uint256' }],
          [zeroAddress, 20_000n],
        ),
      }),
    )
    expect((await shown(contract)).contradictions).toEqual([
      'its royalty of 200% exceeds the price',
      'totalSupply() is 11, but maxSupply() is only 10',
    ])
  })

  test('megabytes, burned gas, hostile text and malformed data cost only the one answer', {
    timeout: 60_000,
  }, async () => {
    const hostile = '\u001b[2Jowned\u0007\u202e'
    const contract = await place(
      answering({
        'name()': textIn(hostile),
        'symbol()': { code: returnBytes(800_000) },
        'owner()': { code: BURN_GAS },
        'pendingOwner()': wordOf(2n ** 255n),
        'contractURI()': `0x${'ff'.repeat(64)}`,
        'getAdmins()': addressesIn(3),
        'totalSupply()': { code: endWith(`0x08c379a0${textIn(hostile).slice(2)}`, 'fd') },
        'maxSupply()': '0x01',
      }),
    )
    const found = await shown(contract)
    expect(found.name).toBe(hostile)
    expect(found.admins).toHaveLength(3)
    expect(found.not_readable).toMatchObject({
      symbol: 'symbol() returns more than 128 KiB',
      owner: expect.stringMatching(/^owner\(\) (?:reverts|failed on the node: )/),
      pending_owner: 'pendingOwner() returns malformed data',
      contract_uri: 'contractURI() returns malformed data',
      total_supply: 'totalSupply() reverts',
    })
    const card = await run(contract, [], { tty: true, columns: 80 })
    expect(card.code).toBe(0)
    expect(card.stdout).toContain('owned')
    expect(card.stdout).not.toMatch(/\u001b\[2J|\u0007|\u202e/)
  })

  test('a megabyte for each answer leaves the others readable', { timeout: 120_000 }, async () => {
    const contract = await place(answering({ 'name()': textIn('Big') }, returnBytes(1_000_000)))
    const { code, stdout, stderr } = await run(contract, ['--json'])
    expect(code, stderr).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ name: 'Big', symbol: null })
  })
})

describe('bad input', () => {
  test('an address without code names the networks that have code', async () => {
    const { code, stderr } = await run(`0x${'12'.repeat(20)}`)
    expect(stderr).toMatch(/0x(?:12){20} has no code at block \d+/)
    expect(code).toBe(2)
  })

  test.each([
    ['no blockchain', ['--rpc-url', 'http://127.0.0.1:9'], '--blockchain: is required'],
    ['Solana', ['-b', 'solana', '--rpc-url', 'http://127.0.0.1:9'], "--blockchain: gdn can't read contracts on solana"],
  ])('rejects %s', async (_, flags, message) => {
    const { code, stderr } = await cli(['collection', 'show', `0x${'12'.repeat(20)}`, ...flags])
    expect(stderr).toContain(message)
    expect(code).toBe(2)
  })

  test('rejects --rpc-url for an ID, and a node of another chain', async () => {
    const id = await cli(['collection', 'show', '0197a1f2-7a10-7d55-8f2e-51c0d2e3f4a5', '--rpc-url', anvil.url])
    expect(id).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--rpc-url: requires the address of one contract'),
    })
    const flags = ['-b', 'base', '--rpc-url', anvil.url]
    const chain = await cli(['collection', 'show', await deploy('A721'), ...flags])
    expect(chain).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('has the chain ID 31337, but base has 8453'),
    })
  })

  test('without a node, an address that was not created here keeps its own error', async () => {
    const api = await fakeApi({})
    const { env } = await tempHome()
    const argv = ['collection', 'show', `0x${'12'.repeat(20)}`, '-b', 'base', '--base-url', api.url, '--json']
    const result = await cli(argv, { env: { ...env, GDN_API_KEY: 'key' } })
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({
      code: 'not_found_locally',
      hint: expect.stringContaining('add -b <blockchain> and --rpc-url <url>'),
    })
  })

  test('a proxy that is upgraded while gdn reads is shown as it was before', async () => {
    const [before, after] = [await deploy('Roles721', other), await deploy('A721')]
    const beacon = await deploy('Beacon', before)
    const contract = await deploy('OfBeacon', beacon)
    const data = encodeFunctionData({ abi: compiled.Beacon?.abi as Abi, functionName: 'upgradeTo', args: [after] })
    let upgrade: Promise<unknown> | undefined
    const proxy = await startRpcProxy(anvil.url, {
      async answer({ method }) {
        if (method !== 'eth_getStorageAt') return undefined
        upgrade ??= anvil.send(admin, beacon, data)
        await upgrade
        return undefined
      },
    })
    onTestFinished(() => proxy.close())
    const argv = ['collection', 'show', contract, '-b', 'testchain', '--rpc-url', proxy.url, '--json']
    const { code, stdout, stderr } = await cli(argv)
    expect(code, stderr).toBe(0)
    expect(upgrade).toBeDefined()
    const old = JSON.parse(stdout)
    const now = await shown(contract)
    expect(old.proxy).toMatchObject({ implementation: before, beacon })
    expect(now.proxy).toMatchObject({ implementation: after, beacon })
    // Only the former implementation has a maximum.
    expect([old.max_supply, now.max_supply]).toEqual(['5000', null])
  })

  test('gdn starts over at a newer block if the node no longer has the state of the block', async () => {
    const contract = await deploy('Roles721', other)
    const argv = (url: string) => ['collection', 'show', contract, '-b', 'testchain', '--rpc-url', url, '--json']
    const whole = await cli(argv(anvil.url))
    // Also a pruned read whose failure would only leave a field out.
    for (const reads of [1, 8]) {
      const proxy = await startRpcProxy(anvil.url, { answer: pruningFirst(reads) })
      onTestFinished(() => proxy.close())
      const { code, stdout, stderr } = await cli(argv(proxy.url))
      expect(code, stderr).toBe(0)
      expect(JSON.parse(stdout)).toEqual(JSON.parse(whole.stdout))
      expect(proxy.calls.filter(({ params }) => params[0] === 'latest').length).toBeGreaterThan(1)
    }
  })

  test('a reorg while gdn reads is an error, and no answers of two blocks are mixed', async () => {
    const contract = await deploy('Roles721', other)
    let isReplaced = false
    const proxy = await startRpcProxy(anvil.url, {
      answer: ({ method, params }) => {
        if (method !== 'eth_getBlockByNumber' || params[0] === 'latest') return
        const block = { number: params[0], hash: `0x${'ab'.repeat(32)}`, timestamp: '0x1' }
        return isReplaced ? { result: block } : undefined
      },
    })
    onTestFinished(() => proxy.close())
    const show = () => cli(['collection', 'show', contract, '-b', 'testchain', '--rpc-url', proxy.url])
    expect((await show()).code).toBe(0)
    const blocks = proxy.calls.flatMap(({ method, params }) =>
      method === 'eth_call' || method === 'eth_getCode'
        ? [params[1]]
        : method === 'eth_getStorageAt'
          ? [params[2]]
          : [],
    )
    expect(blocks.length).toBeGreaterThan(30)
    expect([...new Set(blocks)]).toEqual([await anvil.request('eth_blockNumber', [])])
    isReplaced = true
    const result = await show()
    expect(result).toMatchObject({ code: 6, stdout: '', stderr: expect.stringMatching(/a reorg replaced block \d+/) })
  })
})
