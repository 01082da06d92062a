import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gnosis } from 'viem/chains'
import { beforeEach, expect, test } from 'vitest'
import { parseYaml } from '../../../src/api/parse-yaml.ts'
import { readSettings } from '../../../src/server/settings/read-settings.ts'
import { settingsFileSchema } from '../../../src/server/settings/schema.ts'
import { temporaryDataDir } from '../../helpers/backend.ts'

let dir: string
beforeEach(async () => {
  dir = await temporaryDataDir()
})

type Entries = Readonly<Record<string, object>>

async function readAll(chains: Entries, signers: object) {
  const path = join(dir, 'backend.yaml')
  const common = { rpc_urls: ['https://node.example/v2/a-key-of-a-provider'], ...signers }
  const entries = Object.entries(chains).map(([name, more]) => [name, { ...common, ...more }])
  await writeFile(path, JSON.stringify({ chains: Object.fromEntries(entries) }), { mode: 0o600 })
  return readSettings(path)
}

const OPERATORS = [{ keystore: 'op.json', password_file: 'password' }]
const read = async (chains: Entries) => (await readAll(chains, { operators: OPERATORS })).chains

const HASH = '4uhcVJyU9pJkvQyS88uRDiswHXSCkY3zQawwpjk2NsNZ'
const readClusters = async (chains: Entries) =>
  (await readAll(chains, { signer: { keypair_file: 'id.json' } })).clusters

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
  ['polygn', { chain_id: 137 }, /^is not a known network, and is too similar to polygon for a custom name$/],
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

test.each([
  ['a public network', 'polygon', {}, false],
  ['a network that gdn does not know', 'studio-chain', { chain_id: 412_346 }, false],
  ['a network that the operator declares a test network', 'polygon', { test_network: true }, true],
  ['a testnet', 'base-sepolia', {}, true],
  ['a testnet under a name of the operator', 'studio-chain', { chain_id: 84_532 }, true],
  ['a private network under the name of a testnet', 'base-sepolia', { chain_id: 412_346 }, true],
])('knows whether the coins of %s have value', async (_what, name, more, isTestNetwork) => {
  expect([...(await read({ [name]: more })).values()]).toMatchObject([{ isTestNetwork }])
})

test('rejects a public network under the name of a testnet, because commands do not prompt there', async () => {
  await expect(read({ 'base-sepolia': { chain_id: 8453 } })).rejects.toMatchObject({
    code: 'invalid_config',
    message: 'base-sepolia is the name of a testnet, but base is not a testnet',
    place: { field: 'chains.base-sepolia' },
  })
  await expect(read({ 'base-sepolia': { chain_id: 8453, test_network: true } })).resolves.toBeDefined()
})

test.each([
  ['solana', {}, false],
  ['solana', { cluster: 'devnet' }, true],
  ['solana', { genesis_hash: HASH }, false],
  ['solana', { genesis_hash: HASH, test_network: true }, true],
  ['solana-testnet', {}, true],
  ['solana-testnet', { genesis_hash: HASH }, true],
])('knows whether the coins of %s with %j have value', async (name, more, isTestNetwork) => {
  expect([...(await readClusters({ [name]: more })).values()]).toMatchObject([{ isTestNetwork }])
})

test('rejects mainnet-beta under the name of a testnet', async () => {
  await expect(readClusters({ 'solana-testnet': { cluster: 'mainnet-beta' } })).rejects.toMatchObject({
    code: 'invalid_config',
    message: 'solana-testnet is the name of a testnet, but mainnet-beta is not a testnet',
  })
})

test('a network named __proto__ is rejected at its place, and not left out silently', () => {
  const text = 'chains:\n  polygon: { rpc_urls: [https://a.example] }\n  __proto__: { rpc_urls: [https://b.example] }\n'
  expect(() => parseYaml(settingsFileSchema, text, 'backend.yaml')).toThrow(
    expect.objectContaining({
      code: 'invalid_config',
      message: 'is not a known field',
      place: { file: 'backend.yaml', line: 3, column: 3, field: '__proto__' },
    }),
  )
})
