/** @module-tag slow */
import { type Abi, encodeDeployData, encodeFunctionData, getAddress, type Hex, keccak256, parseAbi, toHex } from 'viem'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { compileSolidity } from '../../../src/build/contracts.mjs'
import { readTokenMetadata } from '../../../src/cli/commands/nft/token/read-metadata.ts'
import { FetchFailure } from '../../../src/files/failure.ts'
import { rawCid } from '../../../src/ipfs/cid.ts'
import { buildDirectory } from '../../../src/server/storage/directory.ts'
import { answering, returnBytes, textIn, wordOf } from '../../helpers/answering-code.ts'
import { backendForTest } from '../../helpers/backend.ts'
import { startHttpServer } from '../../helpers/http-server.ts'
import { type PlainAnvil, startPlainAnvil } from '../../helpers/plain-anvil.ts'
import { cloneOf, deployCode, published } from '../../helpers/published-contracts.ts'
import { cli, errorOf, tempHome } from '../harness.ts'

const SOURCES = {
  'Tokens.sol': `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;
import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC1155Supply, ERC1155} from "@openzeppelin/contracts/token/ERC1155/extensions/ERC1155Supply.sol";
contract Oz721 is ERC721 {
  mapping(uint256 => string) uris;
  constructor() ERC721("Hours", "H") {}
  function mint(address to, uint256 id, string calldata uri) external { _mint(to, id); uris[id] = uri; }
  function tokenURI(uint256 id) public view override returns (string memory) { _requireOwned(id); return uris[id]; }
}
contract Oz1155 is ERC1155Supply {
  constructor(string memory uri, address to) ERC1155(uri) { _mint(to, 7, 3, ""); }
}`,
}
const MINT = parseAbi(['function mint(address to, uint256 id, string uri)'])
const ZORA = parseAbi([
  'constructor(address mintFees, address upgrades, address rewards, address sales)',
  'struct Royalty { uint32 mintSchedule; uint32 bps; address receiver; }',
  'function initialize(string name, string uri, Royalty royalty, address admin, bytes[] actions)',
  'function setupNewToken(string uri, uint256 maxSupply) returns (uint256)',
])

let anvil: PlainAnvil
let admin: Hex
let other: Hex
let compiled: ReturnType<typeof compileSolidity>
let oz: Hex

beforeAll(async () => {
  anvil = await startPlainAnvil(['--disable-code-size-limit'])
  ;[admin = '0x', other = '0x'] = anvil.accounts.map((account) => getAddress(account))
  compiled = compileSolidity(SOURCES)
  oz = await deploy('Oz721')
}, 180_000)
afterAll(() => anvil.stop())

const deploy = (name: string, ...args: unknown[]): Promise<Hex> => {
  const { abi, bytecode } = compiled[name] as { abi: Abi; bytecode: Hex }
  return deployCode(anvil, encodeDeployData({ abi, bytecode, args }))
}

let minted = 0n
/** Mints an ERC-721 token with a token URI, and returns its ID. */
async function mint(uri: string): Promise<bigint> {
  await anvil.send(admin, oz, encodeFunctionData({ abi: MINT, functionName: 'mint', args: [other, ++minted, uri] }))
  return minted
}

async function place(code: Hex): Promise<Hex> {
  const address = getAddress(`0x${keccak256(toHex(++minted)).slice(-40)}`)
  await anvil.request('anvil_setCode', [address, code])
  return address
}

const METADATA = { name: 'Low tide', description: 'Morning', attributes: [{ trait_type: 'Hour', value: 6 }] }
const bytesOf = (value: unknown) => Buffer.from(JSON.stringify(value))
const inData = (value: unknown) => `data:application/json;base64,${bytesOf(value).toString('base64')}`

interface GatewayOptions {
  /** Replaces the content of blocks. */
  replaced?: Map<string, Uint8Array>
  /** Whether the gateway returns files only, like gateways that ignore the format. */
  filesOnly?: boolean
}

/** Starts an IPFS gateway with a directory of files, and returns the CID of the directory. */
async function startGateway(
  files: Readonly<Record<string, Uint8Array>>,
  { replaced = new Map(), filesOnly = false }: GatewayOptions = {},
) {
  const { cid, blocks } = await buildDirectory(Object.entries(files).map(([name, bytes]) => ({ name, bytes })))
  const found = new Map(blocks.map((block) => [block.cid, block.bytes]))
  const { url, close } = await startHttpServer(({ path }) => {
    const { pathname, searchParams } = new URL(path, 'http://gateway')
    const [, root = '', name] = /^\/ipfs\/([^/]+)(?:\/(.+))?$/.exec(decodeURI(pathname)) ?? []
    const isRaw = searchParams.get('format') === 'raw'
    if (isRaw && filesOnly) return { headers: { 'content-type': 'application/json' }, text: '{"entries":[]}' }
    const bytes = isRaw ? (replaced.get(root) ?? found.get(root)) : name === undefined ? found.get(root) : files[name]
    if (bytes === undefined) return { status: 404 }
    const type = isRaw ? 'application/vnd.ipld.raw' : 'application/json'
    return { headers: { 'content-type': type }, body: Buffer.from(bytes) }
  })
  onTestFinished(close)
  return { url, cid, blocks }
}

const run = (
  verb: 'show' | 'verify',
  token: string,
  flags: readonly string[] = [],
  more: Parameters<typeof cli>[1] = {},
) => cli(['nft', verb, token, '-b', 'testchain', '--rpc-url', anvil.url, ...flags], more)

async function shown(token: string, ...flags: string[]) {
  const { code, stdout, stderr } = await run('show', token, [...flags, '--json'])
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout)
}

describe('gdn nft show, for tokens of any contract', () => {
  test('shows owner, URI and metadata of an ERC-721 token, from the contract or a gateway', async () => {
    const block = Number(await anvil.request<Hex>('eth_blockNumber', []))
    const id = await mint(inData(METADATA))
    expect(await shown(`${oz}/${id}`)).toMatchObject({
      ...{ contract_address: getAddress(oz), token_id: String(id), block_number: block + 1, standard: 'erc721' },
      ...{ owner: other, metadata: METADATA, total_supply: null, contradictions: [] },
      not_readable: { royalty: 'royaltyInfo(uint256,uint256) reverts' },
    })
    const { url, cid } = await startGateway({ '1.json': bytesOf(METADATA) })
    for (const uri of [
      `ipfs://${cid}/1.json`,
      `ipfs://ipfs/${cid}/1.json`,
      `https://ipfs.example/ipfs/${cid}/1.json`,
    ]) {
      expect((await shown(`${oz}/${await mint(uri)}`, '--gateway', url)).metadata, uri).toEqual(METADATA)
    }
    const card = await run('show', `${oz}/${id}`, [], { tty: true, columns: 80 })
    expect(card.stdout).toMatch(/^NAME +Low tide$/m)
    expect(card.stdout).toMatch(/^ATTRIBUTES +Hour {2}6$/m)
  })

  test("shows an ERC-1155 token with the ID in its URI, its supply, and the maximum of Zora's", async () => {
    const multi = await deploy('Oz1155', 'ipfs://tokens/{id}.json', other)
    expect(await shown(`${multi}/7`)).toMatchObject({
      ...{ standard: 'erc1155', owner: null, total_supply: '3', max_supply: null },
      token_uri: `ipfs://tokens/${'0'.repeat(63)}7.json`,
      not_readable: { metadata: expect.stringContaining('no IPFS gateway is specified') },
    })
    const bytecode = await published('holders/zora-creator-1155-impl')
    const args = [admin, admin, admin, admin] as const
    const implementation = await deployCode(anvil, encodeDeployData({ abi: ZORA, bytecode, args }))
    const creator = await deployCode(anvil, cloneOf(implementation))
    const own = ['E', '', { mintSchedule: 0, bps: 0, receiver: admin }, admin, []] as const
    await anvil.send(admin, creator, encodeFunctionData({ abi: ZORA, functionName: 'initialize', args: own }))
    const setup = [inData(METADATA), 1000n] as const
    await anvil.send(admin, creator, encodeFunctionData({ abi: ZORA, functionName: 'setupNewToken', args: setup }))
    expect(await shown(`${creator}/1`)).toMatchObject({ standard: 'erc1155', max_supply: '1000', metadata: METADATA })
  })

  test.each([
    ['text', 'data:application/json,hello', 'the metadata is not JSON'],
    ['a list', inData([1]), 'the metadata is not a JSON object'],
    [
      'an array nested too deeply',
      `data:,{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
      'the metadata is nested too deeply',
    ],
    ['malformed base64', 'data:application/json;base64,%%%', 'the metadata is in a malformed data URL'],
    [
      'a URI that nobody reads',
      'ftp://files.example/1',
      'its URI has the scheme ftp: gdn reads only data, ipfs, https and http URIs',
    ],
    ['a text', 'tokens/1', 'its URI has no scheme'],
    ['a private address', 'http://169.254.169.254/latest', 'cloud metadata address'],
    ['a host of this machine', 'http://localhost/1', 'resolves to a private address'],
    ['a missing file', `ipfs://${rawCid(Buffer.from('x'))}/1`, 'is not available at http://'],
  ])('states why the metadata is missing: %s', { timeout: 30_000 }, async (_, uri, reason) => {
    const { url } = await startGateway({ a: Buffer.from('a') })
    const found = await shown(`${oz}/${await mint(uri)}`, '--gateway', url)
    expect(found).toMatchObject({ owner: other, metadata: null })
    expect(found.not_readable.metadata).toContain(reason)
  })

  test('hostile metadata can not control the terminal', async () => {
    const hostile = '\u001b[2Jowned\u0007\u202e'
    const id = await mint(
      inData({ name: hostile, [hostile]: hostile, attributes: [{ trait_type: hostile, value: hostile }] }),
    )
    const { stdout, stderr } = await run('show', `${oz}/${id}`, [], { tty: true, columns: 80 })
    expect(stdout).toContain('owned')
    expect(stdout + stderr).not.toMatch(/\u001b\[2J|\u0007|\u202e/)
  })

  test.each([
    ['a token that does not exist', () => `${oz}/999`, 'has no token 999 at block', 5],
    ['a token ID above 256 bits', () => `${oz}/${2n ** 256n}`, 'must be a number below 2²⁵⁶', 2],
    ['an address without code', () => `0x${'12'.repeat(20)}/1`, 'has no code at block', 2],
  ])('rejects %s', async (_, token, message, exitCode) => {
    const { code, stderr } = await run('show', token())
    expect(stderr).toContain(message)
    expect(code).toBe(exitCode)
  })

  test('rejects a contract of another kind, and flags for IDs of NFTs', async () => {
    const none = await run('show', `${await place(answering({ 'name()': textIn('x') }))}/1`)
    expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining('is not an ERC-721 or ERC-1155 contract') })
    const id = await run('show', '0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d')
    expect(id).toMatchObject({ code: 2, stderr: expect.stringContaining('requires a token of a contract') })
    const both = await run('show', `${oz}/1`, ['0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'])
    expect(both).toMatchObject({ code: 2, stderr: expect.stringContaining('Show one at a time.') })
  })
})

describe('gdn nft verify, for tokens of any contract', () => {
  test('metadata that matches its CID is verified, block by block', async () => {
    const large = { ...METADATA, description: 'Low tide. '.repeat(60_000) }
    const { url, cid } = await startGateway({ '1.json': bytesOf(METADATA), 'large.json': bytesOf(large) })
    for (const name of ['1.json', 'large.json']) {
      const id = await mint(`ipfs://${cid}/${name}`)
      const { code, stdout, stderr } = await run('verify', `${oz}/${id}`, ['--gateway', url, '--json'])
      expect(code, stderr).toBe(0)
      expect(JSON.parse(stdout)).toMatchObject({
        ...{ verified: true, token_id: String(id), receiver_wallet_address: other, provenance: null },
        content: { result: 'matches', cid: expect.stringMatching(/^baf/), reason: null },
      })
    }
    const inContract = await run('verify', `${oz}/${await mint(inData(METADATA))}`)
    expect(inContract).toMatchObject({ code: 0, stderr: expect.stringContaining('is in the contract itself') })
    expect(inContract.stderr).toContain('Its files were not checked.')
  })

  test('content that does not match the CID is an error, of a file or of a directory', async () => {
    const files = { '1.json': bytesOf(METADATA) }
    const { cid, blocks } = await startGateway(files)
    for (const block of blocks) {
      const { url } = await startGateway(files, { replaced: new Map([[block.cid, bytesOf({ name: 'Another' })]]) })
      const result = await run('verify', `${oz}/${await mint(`ipfs://${cid}/1.json`)}`, ['--gateway', url, '--json'])
      expect(result.code).toBe(5)
      expect(errorOf(result)).toMatchObject({
        code: 'verify_failed',
        message: expect.stringContaining('content that does not match'),
      })
      expect(JSON.parse(result.stdout)).toMatchObject({ verified: false, content: { result: 'differs' } })
    }
  })

  test.each([
    ['a web address', () => 'https://api.example/1', 'whose content can change', 5, 'not_verifiable'],
    ['an ar URL', () => 'ar://abc/1', 'neither an ipfs nor a data URL', 5, 'not_verifiable'],
    ['a name that the directory lacks', (cid: string) => `ipfs://${cid}/2.json`, 'its directory has no', 5, 'differs'],
    ['a directory', (cid: string) => `ipfs://${cid}`, 'is a directory', 5, 'differs'],
    ['text', (cid: string) => `ipfs://${cid}/text`, 'its metadata is not JSON', 5, 'differs'],
    ['a missing block', () => `ipfs://${rawCid(Buffer.from('missing'))}`, 'returned HTTP 404', 6, 'unknown'],
  ])('is not verified: %s', async (_, uri, message, exitCode, content) => {
    const { url, cid } = await startGateway({ '1.json': bytesOf(METADATA), text: Buffer.from('text') })
    const result = await run('verify', `${oz}/${await mint(uri(cid))}`, ['--gateway', url, '--json'])
    expect(errorOf(result).message).toContain(message)
    expect(result.code).toBe(exitCode)
    expect(JSON.parse(result.stdout).content.result).toBe(content)
  })

  test('a gateway that returns files only proves nothing', async () => {
    const { url, cid } = await startGateway({ '1.json': bytesOf(METADATA) }, { filesOnly: true })
    const result = await run('verify', `${oz}/${await mint(`ipfs://${cid}/1.json`)}`, ['--gateway', url])
    expect(result).toMatchObject({ code: 6, stderr: expect.stringContaining('does not return blocks') })
    const none = await run('verify', `${oz}/${minted}`)
    expect(none).toMatchObject({ code: 6, stderr: expect.stringContaining('no IPFS gateway is specified') })
  })

  test('compares the owner, and the balance of an ERC-1155 token, with --receiver', async () => {
    const id = await mint(inData(METADATA))
    expect((await run('verify', `${oz}/${id}`, ['--receiver', other])).code).toBe(0)
    const wrong = await run('verify', `${oz}/${id}`, ['--receiver', admin])
    expect(wrong).toMatchObject({ code: 5, stderr: expect.stringContaining(`owner is ${other}, not ${admin}`) })
    const multi = await deploy('Oz1155', inData(METADATA), other)
    expect((await run('verify', `${multi}/7`, ['--receiver', other])).code).toBe(0)
    const without = await run('verify', `${multi}/7`, ['--receiver', admin])
    expect(without).toMatchObject({ code: 5, stderr: expect.stringContaining('is 0, not at least 1') })
  })

  test('a token URI of 5 MiB is refused, and one of 27 KiB is verified', async () => {
    const code = answering({ 'ownerOf(uint256)': wordOf(5), 'tokenURI(uint256)': { code: returnBytes(5 * 2 ** 20) } })
    const large = await run('verify', `${await place(code)}/1`)
    expect(large).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('tokenURI(uint256) returns more than 4096 KiB'),
    })
    const id = await mint(inData({ ...METADATA, image: 'x'.repeat(20_000) }))
    expect((await run('verify', `${oz}/${id}`)).code).toBe(0)
  })
})

describe('readTokenMetadata', () => {
  const fetcher =
    (fetchFile: () => Promise<{ content: AsyncIterable<Uint8Array>; contentType: null }>) => async () => ({
      fetchFile,
      close: async () => {},
    })
  const { signal } = new AbortController()

  test('reads metadata from the web, and states why it can not', async () => {
    async function* content() {
      yield bytesOf(METADATA)
    }
    const url = 'https://api.example/1'
    const found = await readTokenMetadata(
      url,
      null,
      signal,
      fetcher(async () => ({ content: content(), contentType: null })),
    )
    expect(found).toEqual({ metadata: METADATA })
    const failed = fetcher(() => Promise.reject(new FetchFailure(`${url} returned HTTP 500`, { isLasting: false })))
    expect(await readTokenMetadata(url, null, signal, failed)).toEqual({
      problem: "can't be read: https://api.example/1 returned HTTP 500",
    })
  })
})

test('needs no blockchain for a collection that was created on this machine', async () => {
  const backend = await backendForTest()
  const { env } = await tempHome()
  const own = { ...env, GDN_BASE_URL: backend.url, GDN_API_KEY: backend.apiKey.reveal() }
  const run = (...argv: string[]) => cli(argv, { env: own })
  const wallet = ['--wallet', '0x105ba2a3d820926739b9443a81fb7ab5c531e823']
  const create = ['collection', 'create', '--name', 'Tides', '--description', 'Tides of 2026', '-b', 'polygon']
  const created = await run(...create, ...wallet, '-o', 'ids')
  expect(created).toMatchObject({ code: 0 })
  const contract = created.stdout.trim()
  const owner = ['--receiver', '0x105ba2a3d820926739b9443a81fb7ab5c531e823']
  const mint = [
    'nft',
    'mint',
    '-c',
    contract,
    '-b',
    'polygon',
    '--title',
    'Low tide',
    '--description',
    'Morning',
    ...owner,
  ]
  expect(await run(...mint)).toMatchObject({ code: 0 })
  for (const command of ['show', 'verify']) {
    const { code, stdout } = await run('nft', command, `${contract}/1`, '--json')
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ blockchain: 'polygon', token_id: '1' })])
  }
  expect(await run('nft', 'show', `0x${'12'.repeat(20)}/1`)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--blockchain: is required'),
  })
})
