import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gnosis } from 'viem/chains'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { readSettings } from '../../../src/server/settings/read-settings.ts'
import { freshDataDir } from '../../helpers/backend.ts'

let dir: Awaited<ReturnType<typeof freshDataDir>>
beforeEach(async () => {
  dir = await freshDataDir()
})
afterEach(() => dir.remove())

async function read(chains: Readonly<Record<string, object>>) {
  const path = join(dir.path, 'backend.yaml')
  const common = {
    rpc_urls: ['https://node.example/v2/a-key-of-a-provider'],
    operators: [{ keystore: 'op.json', password_file: 'password' }],
  }
  const entries = Object.entries(chains).map(([name, more]) => [name, { ...common, ...more }])
  await writeFile(path, JSON.stringify({ chains: Object.fromEntries(entries) }), { mode: 0o600 })
  return readSettings(path).chains
}

test('accepts an EVM network under a name of the operator', async () => {
  const chains = await read({ 'studio-chain': { chain_id: 412_346 } })
  expect([...chains.values()]).toMatchObject([
    { blockchain: 'studio-chain', chainId: 412_346, blockExplorerUrl: null, confirmations: 12 },
  ])
})

test('takes chain ID and block explorer from viem/chains if it knows the name', async () => {
  const chains = await read({ gnosis: {}, base: { block_explorer_url: 'https://explorer.example' } })
  expect([...chains.values()]).toMatchObject([
    { blockchain: 'gnosis', chainId: 100, blockExplorerUrl: gnosis.blockExplorers.default.url },
    { blockchain: 'base', chainId: 8453, blockExplorerUrl: 'https://explorer.example' },
  ])
})

test.each([
  ['studio-chain', {}, /^chain_id is required, because studio-chain is not a known network$/],
  ['polygn', { chain_id: 137 }, /^is not a known network, and too close to polygon for a name of your own$/],
  ['Studio', { chain_id: 5 }, /^is not a valid name: use 2 to 40 characters/],
  ['x', { chain_id: 5 }, /^is not a valid name/],
  ['__proto__x', { chain_id: 5 }, /^is not a valid name/],
  ['solana-devnet', { chain_id: 5 }, /^is not a known network: the clusters are solana and solana-testnet$/],
])('rejects %s with %j', async (name, more, message) => {
  await expect(read({ [name]: more })).rejects.toMatchObject({
    code: 'invalid_config',
    message: expect.stringMatching(message),
    place: { field: `chains.${name}` },
  })
})

test.each([
  ['gnosys', 'Add the chain ID of the network. Or did you mean gnosis?'],
  ['studio-chain-of-mine', 'Add the chain ID of the network.'],
])('suggests how to name the network %s', async (name, hint) => {
  await expect(read({ [name]: {} })).rejects.toMatchObject({ code: 'invalid_config', hint })
})

test('reports an unknown field of a network of the operator with its location', async () => {
  await expect(read({ 'studio-chain': { chain_id: 5, chainid: 6 } })).rejects.toMatchObject({
    code: 'invalid_config',
    place: { field: 'chains.studio-chain.chainid' },
  })
})
