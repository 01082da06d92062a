import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { getContractAddress, type Hex } from 'viem'
import type { PlainAnvil } from './plain-anvil.ts'

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
