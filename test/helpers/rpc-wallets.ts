import {
  createPublicClient,
  createWalletClient,
  defineChain,
  getAddress,
  type Hex,
  http,
  type PrivateKeyAccount,
  parseAbi,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { chainIdOf, type EvmBlockchain } from '../../src/api/blockchains.ts'

/**
 * Functions that people call with their own wallets, from the standards and the documentation instead of our sources.
 */
export const COLLECTION_ABI = parseAbi([
  'function setEnableApi(bool)',
  'function setEnableTransfer(bool)',
  'function revokeService()',
  'function transferOwnership(address)',
  'function renounceOwnership()',
  'function acceptOwnership()',
  'function transferFrom(address,address,uint256)',
  'function burn(address,uint256)',
  'function freezeMetadata()',
  'function setContractURI(string)',
  'function setDefaultRoyalty(address,uint96)',
  'function setMaxSupply(uint64)',
  'function ownerOf(uint256) view returns (address)',
  'event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)',
])

export type OwnersCall =
  | { functionName: 'setEnableApi' | 'setEnableTransfer'; args: [boolean] }
  | { functionName: 'revokeService' | 'renounceOwnership' | 'acceptOwnership' | 'freezeMetadata'; args?: [] }
  | { functionName: 'transferOwnership'; args: [Hex] }
  | { functionName: 'setMaxSupply'; args: [bigint] }
  | { functionName: 'burn'; args: [Hex, bigint] }
  | { functionName: 'setContractURI'; args: [string] }
  | { functionName: 'setDefaultRoyalty'; args: [Hex, bigint] }
  | { functionName: 'transferFrom'; args: [Hex, Hex, bigint] }

export const newWallet = (): PrivateKeyAccount => privateKeyToAccount(generatePrivateKey())

/** viem clients for a backend's `/rpc`. */
export function rpcOf(backend: { url: string }, blockchain: EvmBlockchain = 'polygon') {
  const chain = defineChain({
    id: chainIdOf(blockchain) ?? 0,
    name: blockchain,
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [`${backend.url}/rpc/${blockchain}`] } },
  })
  const transport = () => http(undefined, { retryCount: 0 })
  const reader = createPublicClient({ chain, transport: transport() })
  return {
    reader,

    /** Sends a wallet's own transaction. Resolves with its outcome as soon as `/rpc` has responded. */
    async send(account: PrivateKeyAccount, address: string, call: OwnersCall): Promise<'success' | 'reverted'> {
      const wallet = createWalletClient({ account, chain, transport: transport() })
      const hash = await wallet.writeContract({
        address: getAddress(address),
        abi: COLLECTION_ABI,
        gas: 300_000n,
        ...call,
      } as Parameters<typeof wallet.writeContract>[0])
      return (await reader.getTransactionReceipt({ hash })).status
    },

    ownerOf: (address: string, tokenId: string | null | undefined) =>
      reader.readContract({
        address: getAddress(address),
        abi: COLLECTION_ABI,
        functionName: 'ownerOf',
        args: [BigInt(tokenId ?? '')],
      }),

    /** Every Transfer of a token, in order. */
    async transfersOf(address: string, tokenId: string | null | undefined): Promise<{ from: Hex; to: Hex }[]> {
      const events = await reader.getContractEvents({
        address: getAddress(address),
        abi: COLLECTION_ABI,
        eventName: 'Transfer',
        args: { tokenId: BigInt(tokenId ?? '') },
        fromBlock: 0n,
        strict: true,
      })
      return events.map(({ args: { from, to } }) => ({ from, to }))
    },
  }
}
