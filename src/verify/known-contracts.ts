/** The kinds of addresses at which an NFT is most likely lost or unwanted, by address in lower case. */
const KNOWN_ADDRESSES: Readonly<Record<string, string>> = {
  // The usual burn address, for which nobody has the key.
  '0x000000000000000000000000000000000000dead': 'burn address',
  // Seaport 1.5 and 1.6, and OpenSea's conduit: github.com/ProjectOpenSea/seaport
  '0x00000000000000adc04c56bf30ac9d3c0aaf14dc': 'marketplace',
  '0x0000000000000068f116a894984e2db1123eb395': 'marketplace',
  '0x1e0049783f008a0085193e00003d00cd54003c71': 'marketplace',
  // Blur: docs.blur.foundation
  '0x000000000000ad05ccc4f10045630fb830b95127': 'marketplace',
  // LooksRare v2: docs.looksrare.org
  '0x0000000000e655fae4d56241588680f86e3b2377': 'marketplace',
  // Uniswap v4 PoolManager on Ethereum: docs.uniswap.org/contracts/v4/deployments
  '0x000000000004444c5dc75cb358380d2e3de08a90': 'pool',
  // Balancer v2 Vault: docs.balancer.fi
  '0xba12222222228d8ba445958a75a0704d566bf2c8': 'pool',
}

/** Singletons of Safe 1.0.0 to 1.5.0, in lower case: github.com/safe-global/safe-deployments */
const SAFE_SINGLETONS: ReadonlySet<string> = new Set([
  '0xb6029ea3b2c51d09a50b53ca8012feeb05bda35a',
  '0xae32496491b53841efb51829d6f886387708f99b',
  '0x34cfac646f301356faa8b21e94227e3583fe3f5f',
  '0x6851d6fdfafd08c0295c392436245e5bc78b0185',
  '0xd9db270c1b5e3bd161e8c8503c55ceabee709552',
  '0x69f4d1788e39c87893c980c06edf4b7f686e2938',
  '0x3e5c63644e683549055b9be8653de26e0b4cd36e',
  '0xfb1bffc9d739b8d520daf37df666da4c687191ea',
  '0x41675c099f32341bf84bfc5382af534df5c7461a',
  '0x29fcb43b46531bca003ddc8fcb67ffe91900c762',
  '0xff51a5898e281db6dfc7855790607438df2ca44b',
  '0xedd160febbd92e350d4d398fb636302fccd67c7e',
])

/** Entry points of ERC-4337, versions 0.6 to 0.8, in lower case: github.com/eth-infinitism/account-abstraction */
const ENTRY_POINTS: ReadonlySet<string> = new Set([
  '0x5ff137d4b0fdcd49dca30c7cf57e578a026d2789',
  '0x0000000071727de22e5e9d8baf0edac6f37da032',
  '0x4337084d9e255ff0702461cf8895ce9e3b5ff108',
])

/** The code of an account that delegates to a contract (EIP-7702). */
const DELEGATION_CODE = /^0xef0100[0-9a-f]{40}$/
/**
 * The code of a token-bound account (ERC-6551): an ERC-1167 proxy, followed by salt, chain ID, token contract and token
 * ID.
 */
const TOKEN_BOUND_CODE = /^0x363d3d373d3d3d363d73[0-9a-f]{40}5af43d82803e903d91602b57fd5bf3[0-9a-f]{256}$/

/** Returns the kind of a known address, or null. */
export const knownAddressKind = (address: string): string | null => KNOWN_ADDRESSES[address.toLowerCase()] ?? null

/** Returns the kind of a contract based on its code, or null. */
export function classifyCode(code: string): string | null {
  const lower = code.toLowerCase()
  if (DELEGATION_CODE.test(lower)) return 'smart account, EIP-7702'
  return TOKEN_BOUND_CODE.test(lower) ? 'ERC-6551 account' : null
}

/**
 * Calls without parameters whose results show the kind of a contract: `masterCopy()` of Safe proxies, `entryPoint()` of
 * ERC-4337 accounts, and `token0()` of pools such as those of Uniswap v2 and v3.
 */
export const KIND_CALLS = ['0xa619486e', '0xb0d691fe', '0x0dfe1681'] as const

/** Returns the kind of a contract based on the addresses that `KIND_CALLS` returned, in the same order. */
export function classifyResults([singleton, entryPoint, token0]: readonly (string | null)[]): string | null {
  if (singleton != null && SAFE_SINGLETONS.has(singleton)) return 'Safe'
  if (entryPoint != null && ENTRY_POINTS.has(entryPoint)) return 'smart account, ERC-4337'
  return token0 == null || /^0x0+$/.test(token0) ? null : 'pool'
}
