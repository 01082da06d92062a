/** @module-tag slow */
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { type Abi, encodeDeployData, encodeFunctionData, getContractAddress, type Hex, zeroAddress } from 'viem'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { contractsIn, standardInput } from '../../../src/build/contracts.mjs'
import { type PlainAnvil, startPlainAnvil } from '../../helpers/plain-anvil.ts'
import { fakeApi } from '../fake-api.ts'
import { cli } from '../harness.ts'
import { folder } from './drop.ts'

const SAFE = '@safe-global/safe-smart-account/contracts'
/** The singleton of Safe 1.5.0 on public networks. */
const SINGLETON: Hex = '0xff51a5898e281db6dfc7855790607438df2ca44b'
const OWNER: Hex = `0x${'5'.repeat(40)}`

/** Wallets of other authors, from their packages. */
const SOURCES = {
  'Accounts.sol': `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;
import {Safe} from "${SAFE}/Safe.sol";
import {SafeProxyFactory} from "${SAFE}/proxies/SafeProxyFactory.sol";
import {ERC6551Registry} from "erc6551/ERC6551Registry.sol";
import {ERC6551Account} from "erc6551/examples/simple/ERC6551Account.sol";
contract Singleton is Safe {}
contract Factory is SafeProxyFactory {}
contract Registry is ERC6551Registry {}
contract Account is ERC6551Account {}`,
}

let anvil: PlainAnvil

beforeAll(async () => {
  anvil = await startPlainAnvil(['--chain-id', '137'])
})

afterAll(() => anvil.stop())

/** Compiles the wallets with the compiler of gdn. Its settings for older networks lack an instruction that they use. */
function compileAccounts() {
  const input = standardInput(SOURCES, fileURLToPath(new URL('../../../node_modules', import.meta.url)))
  Object.assign(input.settings, { evmVersion: 'cancun' })
  const output = createRequire(import.meta.url)('solc').compile(JSON.stringify(input))
  const compiled = contractsIn(JSON.parse(output), Object.keys(SOURCES))
  return (name: string) => {
    const contract = compiled[name]
    if (contract === undefined) throw new Error(`there is no contract ${name}`)
    return { ...contract, abi: contract.abi as Abi }
  }
}

/** Deploys a contract, and calls a function of it that creates an account. Returns the address of the account. */
async function createAccount(contract: { abi: Abi; bytecode: Hex }, functionName: string, args: readonly unknown[]) {
  const { abi, bytecode } = contract
  const to = await deploy({ abi, bytecode })
  const data = encodeFunctionData({ abi, functionName, args })
  const [from = zeroAddress] = anvil.accounts
  const account = await anvil.request<Hex>('eth_call', [{ from, to, data }, 'latest'])
  await anvil.send(from, to, data)
  return `0x${account.slice(-40)}` as const
}

async function deploy({ abi, bytecode }: { abi: Abi; bytecode: Hex }): Promise<Hex> {
  const [from = zeroAddress] = anvil.accounts
  const nonce = await anvil.request<Hex>('eth_getTransactionCount', [from, 'latest'])
  await anvil.send(from, null, encodeDeployData({ abi, bytecode }))
  return getContractAddress({ from, nonce: BigInt(nonce) })
}

test('names a Safe and an ERC-6551 account among the receivers', async () => {
  const compiled = compileAccounts()
  const { abi, deployed } = compiled('Singleton')
  await anvil.request('anvil_setCode', [SINGLETON, deployed.code])
  const setup = encodeFunctionData({
    abi,
    functionName: 'setup',
    args: [[OWNER], 1n, zeroAddress, '0x', zeroAddress, zeroAddress, 0n, zeroAddress],
  })
  const safe = await createAccount(compiled('Factory'), 'createProxyWithNonce', [SINGLETON, setup, 1n])
  const implementation = await deploy(compiled('Account'))
  const salt = `0x${'0'.repeat(64)}`
  const tokenBound = await createAccount(compiled('Registry'), 'createAccount', [implementation, salt, 137n, safe, 7n])

  const { path, options } = await folder({
    'row.json': JSON.stringify({ title: 'Ticket', description: 'x' }),
    'list.csv': ['receiver', OWNER, safe, tokenBound, ''].join('\n'),
  })
  const { url } = await fakeApi({})
  const target = ['-b', 'polygon', '-c', `0x${'c'.repeat(40)}`, '--base-url', url, '--rpc-url', anvil.url]
  const command = ['batch', 'mint', path('row.json'), '--to', path('list.csv'), '--dry-run', '--json', ...target]
  const { stdout, stderr, code } = await cli(command, options)
  expect(code, stderr).toBe(0)
  const { notes } = JSON.parse(stdout) as { notes: string[] }
  expect(notes.join('\n').toLowerCase()).toContain(
    `2 receivers are contracts or burn addresses: ${safe} (safe), ${tokenBound} (erc-6551 account)`,
  )
})
