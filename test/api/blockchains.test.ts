import * as viem from 'viem/chains'
import { expect, it } from 'vitest'
import { blockchainFacts, isBlockchain, isEvm, isKnownBlockchain, KNOWN_EVM_NAMES } from '../../src/api/blockchains.ts'
import { findRetirement } from '../../src/api/retired.ts'
import { findChainId, networkWithChainId } from '../../src/server/settings/networks.ts'

/** Our names with the chains that they are meant to name. */
const CHAINS: Record<string, { id: number; testnet?: boolean | undefined } | undefined> = {
  polygon: viem.polygon,
  'polygon-mumbai': viem.polygonMumbai,
  astar: viem.astar,
  'astar-shiden': viem.shiden,
  'astar-shibuya': { id: 81, testnet: true },
  avalanche: viem.avalanche,
  'avalanche-fuji': viem.avalancheFuji,
  optimism: viem.optimism,
  'optimism-goerli': viem.optimismGoerli,
  fantom: viem.fantom,
  'fantom-testnet': viem.fantomTestnet,
  'bnb-mainnet': viem.bsc,
  'bnb-testnet': viem.bscTestnet,
  'arbitrum-one': viem.arbitrum,
  'arbitrum-nova': viem.arbitrumNova,
  'arbitrum-testnet': viem.arbitrumGoerli,
  moonbeam: viem.moonbeam,
  moonbase: viem.moonbaseAlpha,
  moonriver: viem.moonriver,
  ethereum: viem.mainnet,
  'ethereum-sepolia': viem.sepolia,
  base: viem.base,
  'base-sepolia': viem.baseSepolia,
  'arbitrum-sepolia': viem.arbitrumSepolia,
  'optimism-sepolia': viem.optimismSepolia,
  'polygon-amoy': viem.polygonAmoy,
  zora: viem.zora,
  linea: viem.linea,
  scroll: viem.scroll,
  sonic: viem.sonic,
}

/** The chain IDs of the reference, which embedded chains have forever: signatures in their journals contain them. */
const FIXED = {
  ...{ polygon: 137, 'polygon-mumbai': 80001, astar: 592, 'astar-shiden': 336, 'astar-shibuya': 81 },
  ...{ avalanche: 43114, 'avalanche-fuji': 43113, optimism: 10, 'optimism-goerli': 420 },
  ...{ fantom: 250, 'fantom-testnet': 4002, 'bnb-mainnet': 56, 'bnb-testnet': 97 },
}

it('has the chain ID of viem/chains for every known name', () => {
  const found = Object.fromEntries(KNOWN_EVM_NAMES.map((name) => [name, blockchainFacts(name)]))
  const expected = Object.entries(CHAINS).map(([name, chain]) => [
    name,
    { kind: 'evm', chainId: chain?.id, testnet: chain?.testnet === true },
  ])
  expect(found).toEqual(Object.fromEntries(expected))
  expect(new Set(KNOWN_EVM_NAMES.map((name) => blockchainFacts(name)?.chainId)).size).toBe(KNOWN_EVM_NAMES.length)
})

it('keeps the chain IDs of the reference when viem/chains changes', () => {
  for (const [name, id] of Object.entries(FIXED))
    expect([name, isKnownBlockchain(name) && blockchainFacts(name)?.chainId]).toEqual([name, id])
})

it('knows coin, block explorer and fee model of networks by chain ID, under our names first', () => {
  expect(networkWithChainId(8453)).toEqual({
    ...{ name: 'base', chainId: 8453, coin: 'ETH', feeModel: 'op-stack' },
    blockExplorerUrl: viem.base.blockExplorers.default.url,
  })
  expect(networkWithChainId(42170)).toMatchObject({ name: 'arbitrum-nova', feeModel: 'arbitrum' })
  expect(networkWithChainId(81)).toMatchObject({ name: 'astar-shibuya', coin: 'SBY' })
  expect(networkWithChainId(137)).toMatchObject({ name: 'polygon', coin: 'POL', feeModel: null })
  expect(networkWithChainId(viem.gnosis.id)).toMatchObject({ name: 'gnosis', coin: 'XDAI' })
})

it('says nothing of a chain ID that networks with different coins share, or that nobody has', () => {
  expect(viem.zoraTestnet.id).toBe(viem.wanchainTestnet.id)
  expect([networkWithChainId(viem.zoraTestnet.id), networkWithChainId(2 ** 40)]).toEqual([null, null])
})

it('knows the chain IDs of the names in viem/chains, in lower case with hyphens', () => {
  const names = ['base', 'gnosis', 'zk-sync-sepolia-testnet', 'studio-chain'].filter(isBlockchain).filter(isEvm)
  expect(names.map(findChainId)).toEqual([8453, 100, 300, null])
})

it('names a successor that is in use for each retired network', () => {
  const retired = KNOWN_EVM_NAMES.flatMap((name) => {
    const found = findRetirement(name)
    return found === null ? [] : [[name, found.successor] as const]
  })
  expect(retired.map(([name]) => name)).toEqual(['polygon-mumbai', 'optimism-goerli', 'fantom', 'arbitrum-testnet'])
  for (const [, successor] of retired)
    expect([isKnownBlockchain(successor), findRetirement(successor)]).toEqual([true, null])
})
