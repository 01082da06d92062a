/** @module-tag slow */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { decodeFunctionResult, encodeFunctionData, hexToBytes, maxUint256, parseAbi, parseEther } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compileSolidity, readSources } from '../../../src/build/contracts.mjs'
import type { Hex } from '../../../src/server/chain/evm/network.ts'
import { folder } from '../../cli/batch/drop.ts'
import { cli } from '../../cli/harness.ts'
import { type PlainAnvil, startPlainAnvil } from '../../helpers/plain-anvil.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const ZERO = `0x${'0'.repeat(40)}` as const
/** The currency of a network in thirdweb's contracts. */
const NATIVE = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'

const MINT_PARAMS =
  'uint256 mintPrice, uint256 maxTotalMintableByWallet, uint256 startTime, uint256 endTime, uint256 dropStageIndex, uint256 maxTokenSupplyForStage, uint256 feeBps, bool restrictFeeRecipients'
const CLAIMS = parseAbi([
  'function counted(bytes32[] proof, bytes32 root, address claimer, uint256 count) view returns (bool)',
  'function listed(bytes32[] proof, bytes32 root, address claimer) view returns (bool)',
  `struct MintParams { ${MINT_PARAMS}; }`.replaceAll(', ', '; '),
  'function allowed(bytes32[] proof, bytes32 root, address minter, MintParams mintParams) view returns (bool)',
])
const DROP = parseAbi([
  'struct Condition { uint256 startTimestamp; uint256 maxClaimableSupply; uint256 supplyClaimed; uint256 quantityLimitPerWallet; bytes32 merkleRoot; uint256 pricePerToken; address currency; string metadata; }',
  'struct Proof { bytes32[] proof; uint256 quantityLimitPerWallet; uint256 pricePerToken; address currency; }',
  'function initialize(address admin, string name, string symbol, string contractURI, address[] forwarders, address saleRecipient, address royaltyRecipient, uint128 royaltyBps, uint128 platformFeeBps, address platformFeeRecipient)',
  'function setClaimConditions(Condition[] conditions, bool reset)',
  'function lazyMint(uint256 amount, string baseURI, bytes data) returns (uint256)',
  'function verifyClaim(uint256 condition, address claimer, uint256 quantity, address currency, uint256 price, Proof proof) view returns (bool)',
  'function claim(address receiver, uint256 quantity, address currency, uint256 price, Proof proof, bytes data) payable',
  'function balanceOf(address owner) view returns (uint256)',
])

interface Entry {
  proof: Hex[]
  count: string
  quantityLimitPerWallet: string
  pricePerToken: string
  currency: Hex
  mintParams: Record<string, string | boolean>
}

let node: PlainAnvil
let admin: Hex
let receivers: Hex[]

beforeAll(async () => {
  node = await startPlainAnvil()
  const [first, ...others] = node.accounts
  admin = first as Hex
  receivers = others.slice(0, 7)
})
afterAll(async () => await node?.stop())

/** Runs the command, and returns the root and the proof of an address. */
async function proofsOf(list: string, format: string, files: Record<string, string> = {}, ...flags: string[]) {
  const { path, options } = await folder({ 'list.csv': list, ...files })
  const argv = ['wallet', 'proofs', path('list.csv'), '--format', format, '--json']
  const { code, stdout, stderr } = await cli([...argv, ...flags.map((flag) => flag.replace('@', path('')))], options)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  const { root, proofs } = JSON.parse(stdout) as { root: Hex; proofs: Record<string, Entry> }
  return { root, of: (address: string) => proofs[address.toLowerCase()] as Entry }
}

async function deploy(code: Hex): Promise<Hex> {
  const { blockNumber } = await node.send(admin, null, code)
  const block = await node.request<{ transactions: Hex[] }>('eth_getBlockByNumber', [blockNumber, false])
  const receipt = await node.request<{ contractAddress: Hex }>('eth_getTransactionReceipt', [block.transactions[0]])
  return receipt.contractAddress
}

const call = async (to: Hex, data: Hex) => await node.request<Hex>('eth_call', [{ to, data }, 'latest'])

describe('OpenZeppelin and SeaDrop', () => {
  let claims: Hex
  beforeAll(async () => {
    claims = await deploy(compileSolidity(readSources(HERE), HERE).Claims?.bytecode as Hex)
  })
  const ask = async (functionName: 'counted' | 'listed' | 'allowed', ...args: readonly unknown[]) => {
    const data = encodeFunctionData({ abi: CLAIMS, functionName, args: args as never })
    return decodeFunctionResult({ abi: CLAIMS, functionName, data: await call(claims, data) })
  }

  test.each([1, 2, 3, 7])(
    "OpenZeppelin's MerkleProof accepts the address and count of each of %i receivers",
    async (n) => {
      const list = receivers.slice(0, n)
      const { root, of } = await proofsOf(`receiver,count\n${list.map((r, i) => `${r},${i + 1}`).join('\n')}\n`, 'oz')
      for (const [i, receiver] of list.entries()) {
        const { proof, count } = of(receiver)
        expect(count).toBe(String(i + 1))
        expect(await ask('counted', proof, root, receiver, BigInt(count))).toBe(true)
        expect(await ask('counted', proof, root, receiver, BigInt(count) + 1n)).toBe(false)
        expect(await ask('counted', proof, root, admin, BigInt(count))).toBe(false)
      }
    },
  )

  test("OpenZeppelin's MerkleProof accepts each address of a list without counts", async () => {
    const { root, of } = await proofsOf(receivers.join('\n'), 'oz')
    for (const receiver of receivers) {
      expect(await ask('listed', of(receiver).proof, root, receiver)).toBe(true)
      expect(await ask('listed', of(receiver).proof, root, admin)).toBe(false)
    }
  })

  test('a contract that computes the leaf of SeaDrop accepts each address with its MintParams', async () => {
    const stage = {
      mintPrice: '10000000000000000',
      startTime: 1_790_000_000,
      endTime: 1_800_000_000,
      dropStageIndex: 1,
      maxTokenSupplyForStage: String(maxUint256),
      feeBps: 250,
      restrictFeeRecipients: true,
    }
    const list = `receiver,count\n${receivers.map((receiver, i) => `${receiver},${i + 1}`).join('\n')}\n`
    const { root, of } = await proofsOf(
      list,
      'seadrop',
      { 'stage.json': JSON.stringify(stage) },
      '--params',
      '@/stage.json',
    )
    for (const [i, receiver] of receivers.entries()) {
      const { proof, mintParams } = of(receiver)
      expect(mintParams).toEqual({
        ...Object.fromEntries(Object.entries(stage).map(([k, v]) => [k, typeof v === 'number' ? String(v) : v])),
        maxTotalMintableByWallet: String(i + 1),
      })
      expect(await ask('allowed', proof, root, receiver, mintParams)).toBe(true)
      expect(await ask('allowed', proof, root, receiver, { ...mintParams, mintPrice: '0' })).toBe(false)
      expect(await ask('allowed', proof, root, admin, mintParams)).toBe(false)
    }
  })
})

describe("thirdweb's DropERC721, by its published bytecode", () => {
  const PRICE = parseEther('1')
  let drop: Hex
  const send = async (from: Hex, data: Hex, value = 0n) => {
    const hash = await node.request<Hex>('eth_sendTransaction', [
      { from, to: drop, data, value: `0x${value.toString(16)}`, gas: '0x989680' },
    ])
    await node.request('evm_mine', [])
    return (await node.request<{ status: Hex }>('eth_getTransactionReceipt', [hash])).status === '0x1'
  }
  beforeAll(async () => {
    const text = await readFile(new URL('thirdweb-drop-erc721.json', import.meta.url), 'utf8')
    const { bytecode, sha256 } = JSON.parse(text) as { bytecode: Hex; sha256: string }
    expect(createHash('sha256').update(hexToBytes(bytecode)).digest('hex')).toBe(sha256)
    const implementation = await deploy(bytecode)
    // An ERC-1167 proxy, because the implementation itself can't be initialized.
    drop = await deploy(
      `0x3d602d80600a3d3981f3363d3d373d3d3d363d73${implementation.slice(2)}5af43d82803e903d91602b57fd5bf3`,
    )
    const args = [admin, 'Drop', 'D', '', [], admin, admin, 0n, 0n, admin] as const
    expect(await send(admin, encodeFunctionData({ abi: DROP, functionName: 'initialize', args }))).toBe(true)
    const tokens = [100n, 'ipfs://tokens/', '0x'] as const
    expect(await send(admin, encodeFunctionData({ abi: DROP, functionName: 'lazyMint', args: tokens }))).toBe(true)
  })

  /** Allows the list: others can't claim, and receivers claim at the price of the condition unless it is overridden. */
  async function allow(merkleRoot: Hex, quantityLimitPerWallet: bigint) {
    const condition = { startTimestamp: 0n, maxClaimableSupply: 100n, supplyClaimed: 0n, quantityLimitPerWallet }
    const sale = { merkleRoot, pricePerToken: PRICE, currency: NATIVE, metadata: '' } as const
    const args = [[{ ...condition, ...sale }], true] as const
    expect(await send(admin, encodeFunctionData({ abi: DROP, functionName: 'setClaimConditions', args }))).toBe(true)
  }
  const proofIn = ({ proof, quantityLimitPerWallet, pricePerToken, currency }: Entry) => ({
    proof,
    currency,
    quantityLimitPerWallet: BigInt(quantityLimitPerWallet),
    pricePerToken: BigInt(pricePerToken),
  })
  const claim = async (claimer: Hex, entry: Entry, quantity: bigint, price: bigint, currency: Hex = NATIVE) => {
    const args = [claimer, quantity, currency, price, proofIn(entry), '0x'] as const
    const value = currency === NATIVE ? quantity * price : 0n
    return await send(claimer, encodeFunctionData({ abi: DROP, functionName: 'claim', args }), value)
  }
  const balanceOf = async (owner: Hex) =>
    BigInt(await call(drop, encodeFunctionData({ abi: DROP, functionName: 'balanceOf', args: [owner] })))

  test('accepts each count as the limit, and no more', async () => {
    const list = `receiver,count\n${receivers.map((receiver, i) => `${receiver},${i + 1}`).join('\n')}\n`
    const { root, of } = await proofsOf(list, 'thirdweb')
    await allow(root, 0n)
    expect(await claim(admin, of(receivers[6] as Hex), 1n, PRICE)).toBe(false)
    for (const [i, receiver] of receivers.entries()) {
      const entry = of(receiver)
      expect(await claim(receiver, entry, BigInt(i + 2), PRICE)).toBe(false)
      expect(await claim(receiver, { ...entry, quantityLimitPerWallet: '50' }, BigInt(i + 2), PRICE)).toBe(false)
      expect(await claim(receiver, entry, BigInt(i + 1), PRICE)).toBe(true)
      expect(await balanceOf(receiver)).toBe(BigInt(i + 1))
    }
  })

  test('keeps the price of the claim condition for an empty price, and lets the price 0 claim for free', async () => {
    const [own, free, cheap, token] = receivers as [Hex, Hex, Hex, Hex]
    const list = `receiver,count,price,currency\n${own},1,,\n${free},1,0,\n${cheap},1,5,${NATIVE}\n${token},1,7,${drop}\n`
    const { path, options } = await folder({ 'list.csv': list })
    const printed = await cli(['wallet', 'proofs', path('list.csv'), '--format', 'thirdweb', '--json'], options)
    const { root, proofs, warnings } = JSON.parse(printed.stdout)
    expect(warnings).toMatchObject([{ message: `a price of 0 lets ${free.toLowerCase()} claim for free` }])
    const of = (address: Hex): Entry => proofs[address.toLowerCase()]
    expect(of(own)).toMatchObject({ pricePerToken: String(maxUint256), currency: ZERO })
    await allow(root, 0n)
    expect(await claim(own, of(own), 1n, 0n)).toBe(false)
    expect(await claim(own, of(own), 1n, PRICE)).toBe(true)
    expect(await claim(free, of(free), 1n, PRICE)).toBe(false)
    expect(await claim(free, of(free), 1n, 0n)).toBe(true)
    expect(await claim(cheap, of(cheap), 1n, PRICE)).toBe(false)
    expect(await claim(cheap, of(cheap), 1n, 5n)).toBe(true)
    const args = [2n, token, 1n, drop, 7n, proofIn(of(token))] as const
    await expect(call(drop, encodeFunctionData({ abi: DROP, functionName: 'verifyClaim', args }))).rejects.toThrow()
  })

  test('keeps the limit of the claim condition for a list without counts', async () => {
    const { root, of } = await proofsOf(receivers.join('\n'), 'thirdweb')
    await allow(root, 2n)
    const [receiver] = receivers as [Hex]
    expect(of(receiver).quantityLimitPerWallet).toBe('0')
    expect(await claim(receiver, of(receiver), 3n, PRICE)).toBe(false)
    expect(await claim(receiver, of(receiver), 2n, PRICE)).toBe(true)
  })
})
