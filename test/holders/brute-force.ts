import { type Abi, decodeFunctionResult, encodeFunctionData, type Hex, parseAbi } from 'viem'
import type { PlainAnvil } from '../helpers/plain-anvil.ts'

const ABI: Abi = parseAbi([
  'function ownerOf(uint256) view returns (address)',
  'function balanceOf(address) view returns (uint256)',
])
const ABI_1155: Abi = parseAbi(['function balanceOf(address, uint256) view returns (uint256)'])

/** Returns the number of tokens of each holder, read from the contract without its events. */
export async function bruteForce(
  anvil: PlainAnvil,
  contract: Hex,
  what: { tokens: number } | { people: readonly Hex[]; ids?: number },
  block: number,
): Promise<Record<string, string>> {
  const call = async (abi: Abi, functionName: string, ...args: unknown[]): Promise<unknown> => {
    const params = [{ to: contract, data: encodeFunctionData({ abi, functionName, args }) }, `0x${block.toString(16)}`]
    const data = await anvil.request<Hex>('eth_call', params).catch(() => null)
    return data === null ? null : decodeFunctionResult({ abi, functionName, data })
  }
  const counts = new Map<string, bigint>()
  const add = (owner: string, n: bigint) => n > 0n && counts.set(owner, (counts.get(owner) ?? 0n) + n)
  if ('tokens' in what) {
    for (let id = 0; id < what.tokens; id++) {
      const owner = await call(ABI, 'ownerOf', BigInt(id))
      if (owner !== null) add(String(owner), 1n)
    }
  } else {
    for (const person of what.people) {
      if (what.ids === undefined) add(person, (await call(ABI, 'balanceOf', person)) as bigint)
      else
        for (let id = 0; id < what.ids; id++)
          add(person, (await call(ABI_1155, 'balanceOf', person, BigInt(id))) as bigint)
    }
  }
  return Object.fromEntries([...counts].map(([owner, n]) => [owner, String(n)]))
}
