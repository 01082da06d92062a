/** @module-tag slow */

import { readFile, stat, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import {
  type Abi,
  concat,
  encodeDeployData,
  encodeFunctionData,
  encodePacked,
  getAddress,
  getContractAddress,
  keccak256,
  parseAbi,
  size,
  zeroAddress,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { batchChecksum, compareBatch, type SafeBatch } from '../../../src/cli/commands/collection/set/safe-batch.ts'
import { encodeDeployFactory, encodeMake, predictCollection } from '../../../src/server/chain/evm/factory.ts'
import { addressesIn, answering, textIn, wordOf } from '../../helpers/answering-code.ts'
import { writeKeystore, writePassword } from '../../helpers/keystore-file.ts'
import { type PlainAnvil, startPlainAnvil } from '../../helpers/plain-anvil.ts'
import { cli, tempHome } from '../harness.ts'

type Hex = `0x${string}`

const ARTIFACTS = '@safe-global/safe-smart-account/build/artifacts/contracts'
const require = createRequire(import.meta.url)
const artifact = (path: string) => require(`${ARTIFACTS}/${path}`) as { abi: Abi; bytecode: Hex }
const SAFE = artifact('Safe.sol/Safe.json')
const FACTORY = artifact('proxies/SafeProxyFactory.sol/SafeProxyFactory.json')
const MULTI_SEND = artifact('libraries/MultiSendCallOnly.sol/MultiSendCallOnly.json')
const COLLECTION = parseAbi([
  'function owner() view returns (address)',
  'function pendingOwner() view returns (address)',
  'function enableTransfer() view returns (bool)',
  'function isFrozen() view returns (bool)',
  'function maxSupply() view returns (uint64)',
  'function royaltyInfo(uint256, uint256) view returns (address, uint256)',
])
const CALL = 0
const DELEGATE_CALL = 1

const keys = Array.from({ length: 3 }, () => generatePrivateKey())
const signers = keys
  .map((key) => privateKeyToAccount(key))
  .sort((a, b) => (a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1))
const ownerKey = generatePrivateKey()
const owner = privateKeyToAccount(ownerKey)

let anvil: PlainAnvil
let admin: Hex
let collectionFactory: Hex
let safe: Hex
let multiSend: Hex
let createdCount = 0

beforeAll(async () => {
  anvil = await startPlainAnvil(['--chain-id', '137'])
  await anvil.request('evm_setAutomine', [true])
  admin = anvil.accounts[0] ?? '0x'
  collectionFactory = await deploy(encodeDeployFactory([anvil.accounts[1] ?? '0x']))
  const singleton = await deploy(encodeDeployData({ ...SAFE, args: [] }))
  multiSend = await deploy(encodeDeployData({ ...MULTI_SEND, args: [] }))
  const factory = await deploy(encodeDeployData({ ...FACTORY, args: [] }))
  const owners = signers.map(({ address }) => address)
  const args = [owners, 2n, zeroAddress, '0x', zeroAddress, zeroAddress, 0n, zeroAddress]
  const setup = encodeFunctionData({ abi: SAFE.abi, functionName: 'setup', args })
  const create = encodeFunctionData({
    abi: FACTORY.abi,
    functionName: 'createProxyWithNonce',
    args: [singleton, setup, 1n],
  })
  const word = await anvil.request<Hex>('eth_call', [{ from: admin, to: factory, data: create }, 'latest'])
  await anvil.send(admin, factory, create)
  safe = `0x${word.slice(-40)}`
}, 180_000)
afterAll(() => anvil.stop())

async function deploy(data: Hex): Promise<Hex> {
  const nonce = await anvil.request<Hex>('eth_getTransactionCount', [admin, 'latest'])
  await anvil.send(admin, null, data)
  return getContractAddress({ from: admin, nonce: BigInt(nonce) })
}

let contract: Hex
let home: Awaited<ReturnType<typeof tempHome>>

beforeEach(async () => {
  contract = await collectionOf(safe)
  await anvil.request('anvil_setBalance', [owner.address, '0xde0b6b3a7640000'])
  home = await tempHome()
  await writeKeystore(join(home.dir, 'owner.json'), ownerKey)
  await writePassword(join(home.dir, 'pw'))
})

async function collectionOf(holder: Hex): Promise<Hex> {
  const init = {
    requestId: `0x${String(++createdCount).padStart(64, '0')}` as Hex,
    ...{ name: 'Tide', symbol: 'TIDE', owner: holder, enableApi: true, enableTransfer: false, locked: false },
    ...{ dynamic: false, enableBurn: false, royaltyReceiver: zeroAddress, royaltyBps: 0n, maxSupply: 0n },
  }
  await anvil.send(anvil.accounts[1] ?? '0x', collectionFactory, encodeMake(init))
  return predictCollection(collectionFactory, init)
}

const set = (flags: readonly string[], more: Parameters<typeof cli>[1] = {}) =>
  cli(['collection', 'set', contract, '-b', 'polygon', '--rpc-url', anvil.url, ...flags], {
    env: { ...home.env, GDN_API_KEY: 'key' },
    cwd: home.dir,
    ...more,
  })
const asOwner = () => ['--wallet', join(home.dir, 'owner.json'), '--password-file', join(home.dir, 'pw'), '--yes']
const readBatch = async (name: string) => JSON.parse(await readFile(join(home.dir, name), 'utf8')) as SafeBatch

async function call<Result>(to: Hex, abi: Abi, functionName: string, args: readonly unknown[] = []): Promise<Result> {
  const { decodeFunctionResult } = await import('viem')
  const data = await anvil.request<Hex>('eth_call', [
    { to, data: encodeFunctionData({ abi, functionName, args }) },
    'latest',
  ])
  return decodeFunctionResult({ abi, functionName, data }) as Result
}
const read = <Result>(name: string, args: readonly unknown[] = []) => call<Result>(contract, COLLECTION, name, args)

/** The transaction of a Safe for a batch, as Safe{Wallet} builds it: a single call, or a multi-send. */
function safeTransaction({ transactions }: SafeBatch): { to: Hex; data: Hex; operation: number } {
  const calls = transactions as unknown as { to: Hex; data: Hex; value: string }[]
  const [only] = calls
  if (calls.length === 1 && only !== undefined) return { to: only.to, data: only.data, operation: CALL }
  const packed = calls.map(({ to, data, value }) =>
    encodePacked(
      ['uint8', 'address', 'uint256', 'uint256', 'bytes'],
      [CALL, to, BigInt(value), BigInt(size(data)), data],
    ),
  )
  const data = encodeFunctionData({ abi: MULTI_SEND.abi, functionName: 'multiSend', args: [concat(packed)] })
  return { to: multiSend, data, operation: DELEGATE_CALL }
}

type Transaction = ReturnType<typeof safeTransaction>

/** Signs a transaction by two of the three owners. */
async function sign({ to, data, operation }: Transaction): Promise<Hex> {
  const nonce = await call<bigint>(safe, SAFE.abi, 'nonce')
  const args = [to, 0n, data, operation, 0n, 0n, 0n, zeroAddress, zeroAddress, nonce]
  const hash = await call<Hex>(safe, SAFE.abi, 'getTransactionHash', args)
  return concat(await Promise.all(signers.slice(0, 2).map((signer) => signer.sign({ hash }))))
}

async function execute({ to, data, operation }: Transaction, signatures: Hex): Promise<void> {
  const args = [to, 0n, data, operation, 0n, 0n, 0n, zeroAddress, zeroAddress, signatures]
  await anvil.send(admin, safe, encodeFunctionData({ abi: SAFE.abi, functionName: 'execTransaction', args }))
}

/** Verifies a batch as the Transaction Builder does: the checksum, and the encoding of each method. */
function checkAsBuilder(batch: SafeBatch): void {
  expect(batchChecksum(batch)).toBe(batch.meta.checksum)
  for (const { data, value, contractMethod, contractInputsValues } of batch.transactions) {
    const inputs = contractMethod.inputs as { name: string; type: string }[]
    const args = inputs.map(({ name, type }) => {
      const text = contractInputsValues[name] ?? ''
      return type === 'bool' ? text === 'true' : type.startsWith('uint') ? BigInt(text) : text
    })
    const abi = [{ ...contractMethod, inputs, type: 'function', stateMutability: 'nonpayable', outputs: [] }] as Abi
    expect(encodeFunctionData({ abi, args })).toBe(data)
    expect(typeof value).toBe('string')
  }
}

test('the Safe executes the batch, which makes every change', async () => {
  const flags = ['--royalty', '2.5%', '--enable-transfer', '--freeze', '--contract-uri', 'ipfs://about']
  const { code, stdout, stderr } = await set([...flags, '--safe', 'batch.json'])
  expect(code, stderr).toBe(0)
  expect(stdout).toMatch(/^royalty\t\t2\.5% to 0x\w{40}\twritten\t$/m)
  expect(stderr).toMatch(
    /Wrote 4 transactions for the Safe 0x\w{40} to .*batch\.json\. .*The Safe requires 2 of 3 signatures\./,
  )
  expect((await stat(join(home.dir, 'batch.json'))).mode & 0o777).toBe(0o600)
  const batch = await readBatch('batch.json')
  expect(batch).toMatchObject({ version: '1.0', chainId: '137', meta: { createdFromSafeAddress: expect.anything() } })
  checkAsBuilder(batch)
  expect([await read('enableTransfer'), await read('isFrozen')]).toEqual([false, false])

  const transaction = safeTransaction(batch)
  await execute(transaction, await sign(transaction))
  expect([await read('enableTransfer'), await read('isFrozen')]).toEqual([true, true])
  expect(await read('royaltyInfo', [1n, 1000n])).toEqual([expect.stringMatching(new RegExp(safe, 'i')), 25n])
  const secondResult = await set([...flags, '--safe', 'later.json'])
  expect(secondResult.stderr).toContain('Nothing to change.')
})

test('the Safe limits the supply, and the limit can only be lowered', async () => {
  const { code, stderr } = await set(['--max-supply', '50', '--safe', 'limit.json'])
  expect(code, stderr).toBe(0)
  const batch = await readBatch('limit.json')
  checkAsBuilder(batch)
  expect(batch.transactions).toMatchObject([{ contractInputsValues: { newMaxSupply: '50' } }])
  expect(await read('maxSupply')).toBe(0n)
  const transaction = safeTransaction(batch)
  await execute(transaction, await sign(transaction))
  expect(await read('maxSupply')).toBe(50n)
  expect(await set(['--max-supply', '51', '--safe', 'more.json'])).toMatchObject({
    ...{ code: 2, stderr: expect.stringContaining('--max-supply: can only be lowered, and is 50 now') },
  })
})

test('a Safe accepts the ownership that a wallet offered, and offers it to a wallet', async () => {
  contract = await collectionOf(owner.address)
  const offered = await set(['--new-owner', safe, ...asOwner()])
  expect(offered.code, offered.stderr).toBe(0)
  expect(offered.stderr).toContain('If the new owner is a Safe, use --safe <file> instead of --wallet.')
  const early = await set(['--royalty', '1%', '--safe', 'early.json'])
  expect(early).toMatchObject({ code: 5, stderr: expect.stringContaining('is not a Safe on polygon: it has no code') })

  const accepted = await set(['--accept-owner', '--safe', 'accept.json', '--json'])
  expect(accepted.code, accepted.stderr).toBe(0)
  expect(JSON.parse(accepted.stdout)).toMatchObject([
    { setting: 'owner', status: 'written', safe_address: getAddress(safe) },
  ])
  const acceptance = safeTransaction(await readBatch('accept.json'))
  await execute(acceptance, await sign(acceptance))
  expect((await read<Hex>('owner')).toLowerCase()).toBe(safe)
  const secondResult = await set(['--accept-owner', '--safe', 'accept.json'])
  expect(secondResult).toMatchObject({ code: 0, stderr: expect.stringContaining('Nothing to change.') })

  expect((await set(['--new-owner', owner.address, '--safe', 'offer.json'])).code).toBe(0)
  const offer = safeTransaction(await readBatch('offer.json'))
  await execute(offer, await sign(offer))
  expect(await read('pendingOwner')).toBe(owner.address)
})

test('a changed batch fails its checksum, and signatures of the original fail for changed data', async () => {
  expect((await set(['--royalty', '5%', '--safe', 'batch.json'])).code).toBe(0)
  const batch = await readBatch('batch.json')
  const [transaction] = batch.transactions
  if (transaction === undefined) throw new Error('the batch is empty')
  const data = `${transaction.data.slice(0, -3)}fff` as Hex
  const changed = { ...batch, transactions: [{ ...transaction, data }] }
  expect(batchChecksum(changed)).not.toBe(batch.meta.checksum)
  expect(compareBatch(Buffer.from(JSON.stringify(changed)), batch)).toBe('changed')
  for (const change of [
    { ...batch, chainId: '1' },
    { ...batch, transactions: [...batch.transactions, ...batch.transactions] },
    { ...batch, meta: { ...batch.meta, createdFromSafeAddress: zeroAddress } },
  ]) {
    expect(batchChecksum(change)).not.toBe(batch.meta.checksum)
  }

  const signatures = await sign(safeTransaction(batch))
  await expect(execute(safeTransaction(changed), signatures)).rejects.toThrow()
  expect(await read('royaltyInfo', [1n, 1000n])).toEqual([zeroAddress, 0n])
  await execute(safeTransaction(batch), signatures)
  expect(await read('royaltyInfo', [1n, 1000n])).toEqual([expect.anything(), 50n])
})

test('an existing file is never overwritten, and only a batch of the same changes is accepted', async () => {
  const flags = ['--royalty', '5%', '--safe', 'batch.json']
  expect((await set(flags)).code).toBe(0)
  const first = await readFile(join(home.dir, 'batch.json'), 'utf8')
  const sameResult = await set(flags)
  expect(sameResult).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('already contains 1 transaction'),
  })
  const other = await set(['--royalty', '6%', '--safe', 'batch.json'])
  expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('batch.json already exists') })
  expect(await readFile(join(home.dir, 'batch.json'), 'utf8')).toBe(first)

  const changed = first.replace('"value": "0"', '"value": "1"')
  await writeFile(join(home.dir, 'batch.json'), changed)
  expect(await set(flags)).toMatchObject({ code: 2, stderr: expect.stringContaining('its checksum is wrong') })
  for (const content of ['', 'text', '[]', '{"meta":{"checksum":""}}', `{"meta":${'['.repeat(200_000)}`]) {
    await writeFile(join(home.dir, 'batch.json'), content)
    expect((await set(flags)).code, content.slice(0, 20)).toBe(2)
    expect(await readFile(join(home.dir, 'batch.json'), 'utf8')).toBe(content)
  }
  for (const file of ['.', 'missing/batch.json', '-']) {
    expect((await set(['--royalty', '5%', '--safe', file])).code, file).toBe(2)
  }
})

test('--dry-run shows the changes, and writes no file', async () => {
  const { code, stdout, stderr } = await set(['--royalty', '5%', '--safe', 'batch.json', '--dry-run'])
  expect(code, stderr).toBe(0)
  expect(stdout).toContain('planned')
  expect(stderr).toContain('Nothing was written.')
  await expect(stat(join(home.dir, 'batch.json'))).rejects.toThrow('ENOENT')
  const card = await set(['--royalty', '5%', '--safe', 'batch.json', '--dry-run'], { tty: true, columns: 80 })
  expect(card.stdout).toMatch(/^royalty: 5% to 0x\w{40}$/m)
})

test.each([
  ['without VERSION', { 'getThreshold()': wordOf(1) }, 'VERSION() reverts', 5],
  [
    'with a threshold of 0',
    { 'VERSION()': textIn('1.4.1'), 'getThreshold()': wordOf(0), 'getOwners()': addressesIn(1) },
    'the threshold is 0',
    5,
  ],
  [
    'with more signatures than owners',
    { 'VERSION()': textIn('1.4.1'), 'getThreshold()': wordOf(3), 'getOwners()': addressesIn(1) },
    'the contract requires 3 signatures, but has 1 owners',
    5,
  ],
  ['with other data', { 'VERSION()': wordOf(7) }, 'VERSION() returns other data', 5],
  [
    'of an unknown version',
    { 'VERSION()': textIn('9.9.9\u001b[2J'), 'getThreshold()': wordOf(1), 'getOwners()': addressesIn(1) },
    'has version 9.9.9\\u001b[2J, which gdn does not recognize',
    0,
  ],
] as const)('checks that the owner is a Safe: a contract %s', async (_, answers, message, exitCode) => {
  const address: Hex = `0x${keccak256(wordOf(createdCount)).slice(-40)}`
  await anvil.request('anvil_setCode', [address, answering(answers as Record<string, Hex>)])
  contract = await collectionOf(address)
  const { code, stderr } = await set(['--royalty', '5%', '--safe', 'batch.json'])
  expect(stderr).toContain(message)
  expect(code).toBe(exitCode)
})

test('without --safe, an owner that is a contract is named, with the flag for a Safe', async () => {
  contract = await collectionOf(safe)
  const hint = 'The owner is a contract, so no wallet can sign for it. If it is a Safe, use --safe <file>'
  for (const flags of [[], ['--wallet', 'owner.json']]) {
    const { code, stderr } = await set(['--royalty', '5%', ...flags])
    expect([code, stderr.replaceAll(/\s+/g, ' ')]).toEqual([flags.length === 0 ? 2 : 5, expect.stringContaining(hint)])
  }
  contract = await collectionOf(multiSend)
  const { stderr } = await set(['--royalty', '5%', '--safe', 'batch.json'])
  expect(stderr).toContain('is not a Safe on polygon')
  expect(stderr).not.toContain('sign with --wallet')
})

test('an account that delegates to a Safe by EIP-7702 is not one', async () => {
  const account = privateKeyToAccount(generatePrivateKey()).address
  await anvil.request('anvil_setCode', [account, `0xef0100${safe.slice(2)}`])
  contract = await collectionOf(account)
  expect(await set(['--royalty', '5%', '--safe', 'batch.json'])).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('delegates to a contract (EIP-7702)'),
  })
})

test.each([
  ['a wallet', ['--royalty', '5%', '--safe', 'b.json', '--wallet', '@alice'], "--safe: can't be used with --wallet"],
  ['no change', ['--safe', 'b.json'], 'no setting is specified'],
])('rejects %s with --safe', async (_, flags, message) => {
  const { code, stderr } = await set(flags)
  expect(stderr).toContain(message)
  expect(code).not.toBe(0)
})

test('refuses ownership that was not offered, and a contract that is not a gdn collection', async () => {
  contract = await collectionOf(owner.address)
  const refused = await set(['--accept-owner', '--safe', 'b.json'])
  expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining('was not offered') })
  contract = safe
  for (const more of [[], ['--dry-run']]) {
    const foreign = await set(['--royalty', '5%', '--safe', 'b.json', ...more])
    expect(foreign).toMatchObject({ code: 5, stderr: expect.stringContaining('is not a gdn collection on polygon') })
  }
})

test('rejects a node of another chain', async () => {
  const flags = ['-b', 'base', '--rpc-url', anvil.url, '--royalty', '5%', '--safe', 'b.json']
  const { code, stderr } = await cli(['collection', 'set', contract, ...flags], { env: home.env, cwd: home.dir })
  expect(stderr).toContain('137')
  expect(code).toBe(2)
})

test('calculates the checksum of the Transaction Builder, whose test has this vector', () => {
  const to = '0x49d4450977E2c95362C13D3a31a09311E0Ea26A6'
  const method = (name: string, type: string, input: string) => ({
    inputs: [{ internalType: type, name: input, type }],
    name,
    payable: false,
  })
  const batch = {
    version: '1.0',
    chainId: '4',
    createdAt: 1646321521061,
    meta: {
      name: 'test batch file',
      txBuilderVersion: '1.4.0',
      checksum: '',
      createdFromSafeAddress: '0xDF8a1Ce35c9a6ACE153B4e0767942f1E2291a1Aa',
      createdFromOwnerAddress: to,
    },
    transactions: [
      {
        ...{ to, value: '0', contractMethod: method('testAddress', 'address', 'paramAddress') },
        contractInputsValues: { paramAddress: to },
      },
      {
        ...{ to, value: '0', contractMethod: method('testBool', 'bool', 'paramBool') },
        contractInputsValues: { paramAddress: '', paramBool: 'false' },
      },
      {
        ...{ to, value: '2000000000000000000' },
        data: '0x42f4579000000000000000000000000049d4450977e2c95362c13d3a31a09311e0ea26a6',
      },
    ],
  }
  expect(batchChecksum(batch)).toBe('0x86c81826dbf7e8a37612153294cc85fdf5c81998dd0a44b86d945502a7eace7c')
})
