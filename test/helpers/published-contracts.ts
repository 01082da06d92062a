import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { getContractAddress, type Hex, parseAbi } from 'viem'
import type { PlainAnvil } from './plain-anvil.ts'

/** Functions of thirdweb's DropERC721. */
export const DROP = parseAbi([
  'struct AllowlistProof { bytes32[] proof; uint256 quantityLimitPerWallet; uint256 pricePerToken; address currency; }',
  'struct ClaimCondition { uint256 startTimestamp; uint256 maxClaimableSupply; uint256 supplyClaimed; uint256 quantityLimitPerWallet; bytes32 merkleRoot; uint256 pricePerToken; address currency; string metadata; }',
  'function initialize(address admin, string name, string symbol, string uri, address[] forwarders, address sale, address royalty, uint128 royaltyBps, uint128 feeBps, address fee)',
  'function lazyMint(uint256 amount, string uri, bytes data)',
  'function setClaimConditions(ClaimCondition[] conditions, bool resets)',
  'function claim(address receiver, uint256 quantity, address currency, uint256 price, AllowlistProof proof, bytes data) payable',
  'function burn(uint256 tokenId)',
  'function transferFrom(address from, address to, uint256 tokenId)',
])

/** Functions of Zora's ZoraCreator1155Impl. */
export const ZORA = parseAbi([
  'constructor(address mintFees, address upgrades, address rewards, address sales)',
  'struct Royalty { uint32 mintSchedule; uint32 bps; address receiver; }',
  'function initialize(string name, string uri, Royalty royalty, address admin, bytes[] actions)',
  'function setupNewToken(string uri, uint256 maxSupply) returns (uint256)',
  'function adminMint(address receiver, uint256 id, uint256 quantity, bytes data)',
  'function safeTransferFrom(address from, address to, uint256 id, uint256 quantity, bytes data)',
  'function burnBatch(address from, uint256[] ids, uint256[] quantities)',
])

/**
 * Returns the published bytecode of a contract of others, linked to a library without code.
 *
 * @param name path of its file below `test`, without the extension
 */
export async function published(name: string): Promise<Hex> {
  const text = await readFile(new URL(`../${name}.json`, import.meta.url), 'utf8')
  const { bytecode, sha256 } = JSON.parse(text) as { bytecode: string; sha256: string }
  const bytes = bytecode.includes('__') ? bytecode : Buffer.from(bytecode.slice(2), 'hex')
  const found = createHash('sha256').update(bytes).digest('hex')
  if (found !== sha256) throw new Error(`${name} has the hash ${found}`)
  return bytecode.replaceAll(/__\$[0-9a-f]{34}\$__/g, 'de'.repeat(20)) as Hex
}

/** Deploys code by the first account of a chain. */
export async function deployCode(anvil: PlainAnvil, data: Hex): Promise<Hex> {
  const [from] = anvil.accounts
  if (from === undefined) throw new Error('anvil has no account')
  const nonce = await anvil.request<Hex>('eth_getTransactionCount', [from, 'latest'])
  await anvil.send(from, null, data)
  return getContractAddress({ from, nonce: BigInt(nonce) })
}

/** Returns the code that deploys an ERC-1167 proxy, because many implementations can't be initialized. */
export const cloneOf = (implementation: Hex): Hex =>
  `0x3d602d80600a3d3981f3363d3d373d3d3d363d73${implementation.slice(2)}5af43d82803e903d91602b57fd5bf3`
