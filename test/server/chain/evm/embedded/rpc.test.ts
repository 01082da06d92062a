import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getContractAddress, keccak256 } from 'viem'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { EmbeddedChain } from '../../../../../src/server/chain/evm/embedded/embedded-chain.ts'
import { startEmbeddedChain } from '../../../../../src/server/chain/evm/embedded/embedded-chain.ts'
import { nodeUnreachableError } from '../../../../../src/server/chain/evm/embedded/node-rpc.ts'
import { handleRpc } from '../../../../../src/server/chain/evm/embedded/rpc.ts'
import { memoryBlockJournal } from '../../../../helpers/memory-block-journal.ts'
import { CHAIN_ID, newAccount, sign } from './fixture.ts'

const journal = memoryBlockJournal()
let chain: EmbeddedChain
let stateDir: string

beforeAll(async () => {
  stateDir = mkdtempSync(join(tmpdir(), 'gdn-rpc-'))
  chain = await startEmbeddedChain({ blockchain: 'polygon', chainId: CHAIN_ID, journal, stateDir })
})
afterAll(async () => {
  await chain.close()
  rmSync(stateDir, { recursive: true, force: true })
})

const call = (method: string, params: unknown[] = [], id: unknown = 7) => ({ jsonrpc: '2.0', id, method, params })
const ask = (method: string, ...params: unknown[]) => handleRpc(chain, call(method, params))
const result = (value: unknown) => ({ jsonrpc: '2.0', id: 7, result: value })
const error = (code: number, id: unknown = 7) => ({
  jsonrpc: '2.0',
  id,
  error: expect.objectContaining({ code, message: expect.stringMatching(/\w+/) }),
})

describe('the JSON-RPC proxy: allowed methods', () => {
  const address = newAccount().address
  const hash = keccak256('0x00')
  const reads: [string, unknown[]][] = [
    ['eth_blockNumber', []],
    ['eth_call', [{ to: address }, 'latest']],
    ['eth_chainId', []],
    ['eth_estimateGas', [{ from: address, to: address }]],
    ['eth_feeHistory', ['0x1', 'latest', []]],
    ['eth_gasPrice', []],
    ['eth_getBalance', [address, 'latest']],
    ['eth_getBlockByHash', [hash, false]],
    ['eth_getBlockByNumber', ['latest', false]],
    ['eth_getBlockReceipts', ['latest']],
    ['eth_getBlockTransactionCountByNumber', ['latest']],
    ['eth_getCode', [address, 'latest']],
    ['eth_getLogs', [{ fromBlock: '0x0', toBlock: 'latest' }]],
    ['eth_getStorageAt', [address, '0x0', 'latest']],
    ['eth_getTransactionByHash', [hash]],
    ['eth_getTransactionCount', [address, 'latest']],
    ['eth_getTransactionReceipt', [hash]],
    ['eth_maxPriorityFeePerGas', []],
    ['eth_syncing', []],
    ['net_version', []],
    ['net_listening', []],
    ['web3_clientVersion', []],
    ['web3_sha3', ['0x00']],
  ]
  test.each(reads)('allows %s', async (method, params) => {
    expect(await ask(method, ...params)).toEqual(result(expect.toSatisfy((value) => value !== undefined)))
  })

  test('returns the chain ID of the blockchain, and no accounts', async () => {
    expect(await ask('eth_chainId')).toEqual(result('0x89'))
    expect(await ask('net_version')).toEqual(result('137'))
    expect(await ask('eth_accounts')).toEqual(result([]))
  })

  test.each([
    ['no gas', undefined, 100_000_000],
    ["a whole block's gas", '0x3b9aca00', 100_000_000],
    ['less gas', '0x30d40', 200_000],
  ])('limits the gas of a call that specifies %s', async (_, gas, most) => {
    // Returns the remaining gas: GAS, MSTORE, RETURN.
    const reply = await ask(
      'eth_call',
      { data: '0x5a60005260206000f3', ...(gas === undefined ? {} : { gas }) },
      'latest',
    )
    const left = Number((reply as { result: string }).result)
    expect(left).toBeLessThan(most)
    expect(left).toBeGreaterThan(most - 60_000)
  })

  test("returns null for a block that doesn't exist, not the genesis block", async () => {
    expect(await ask('eth_getBlockByHash', keccak256('0x77'), false)).toEqual(result(null))
    expect(await ask('eth_getBlockByNumber', '0xffff', false)).toEqual(result(null))
  })
})

describe('the JSON-RPC proxy: denied methods', () => {
  const denied = [
    'anvil_setBalance',
    'anvil_impersonateAccount',
    'anvil_dumpState',
    'evm_mine',
    'evm_snapshot',
    'evm_revert',
    'evm_setNextBlockTimestamp',
    'hardhat_setCode',
    'debug_traceTransaction',
    'trace_block',
    'txpool_content',
    'ots_getApiLevel',
    'erigon_getHeaderByNumber',
    'personal_sign',
    'eth_sendTransaction',
    'eth_sendUnsignedTransaction',
    'eth_sign',
    'eth_signTransaction',
    'eth_signTypedData_v4',
    'eth_subscribe',
    'eth_newFilter',
    'eth_newBlockFilter',
    'eth_getFilterChanges',
    'eth_coinbase',
    'ETH_CALL',
    'eth_call ',
    'constructor',
    '__proto__',
    'toString',
    '',
  ]
  test.each(denied)('rejects %j as not found', async (method) => {
    expect(await ask(method)).toEqual(error(-32601))
    expect(await handleRpc(chain, [call(method)])).toEqual([error(-32601)])
  })

  test('a denied method changes nothing', async () => {
    const { address } = newAccount()
    const before = await ask('eth_getBalance', address, 'latest')
    await ask('anvil_setBalance', address, '0x1')
    expect(await ask('eth_getBalance', address, 'latest')).toEqual(before)
  })
})

describe('the JSON-RPC proxy: malformed bodies', () => {
  test.each([
    ['nothing', undefined, -32600, null],
    ['an empty batch', [], -32600, null],
    ['null', null, -32600, null],
    ['a number', 5, -32600, null],
    ['a call without version', { id: 1, method: 'eth_chainId' }, -32600, 1],
    ['a call of version 1.0', { jsonrpc: '1.0', id: 1, method: 'eth_chainId' }, -32600, 1],
    ['a call without method', { jsonrpc: '2.0', id: 'a' }, -32600, 'a'],
    ['a method that is not a string', { jsonrpc: '2.0', id: 1, method: 5 }, -32600, 1],
    ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'eth_chainId' }, -32600, null],
    ['params by name', { jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: {} }, -32602, 1],
    ['params that the node does not accept', call('eth_getBalance', [{ a: 1 }, 5], 1), -32602, 1],
  ])('returns a JSON-RPC error for %s', async (_, body, code, id) => {
    expect(await handleRpc(chain, body)).toEqual(error(code, id))
  })

  test('fails each invalid call of a batch separately', async () => {
    const batch = [call('eth_chainId', [], 1), 5, [], call('nope', [], 'x'), call('eth_chainId', [], null)]
    expect(await handleRpc(chain, batch)).toEqual([
      { jsonrpc: '2.0', id: 1, result: '0x89' },
      error(-32600, null),
      error(-32600, null),
      error(-32601, 'x'),
      { jsonrpc: '2.0', id: null, result: '0x89' },
    ])
  })

  test('accepts at most 100 calls in a batch', async () => {
    const calls = Array.from({ length: 100 }, (_, id) => call('eth_chainId', [], id))
    expect(await handleRpc(chain, calls)).toHaveLength(100)
    expect(await handleRpc(chain, [...calls, call('eth_chainId')])).toEqual(error(-32600, null))
  })

  test('shares one gas limit among the reads of a batch', async () => {
    // Returns the remaining gas: GAS, MSTORE, RETURN.
    const left = { data: '0x5a60005260206000f3', gas: '0x3b9aca00' }
    const of = async (count: number) => {
      const batch = Array.from({ length: count }, (_, id) => call('eth_call', [left, 'latest'], id))
      return ((await handleRpc(chain, batch)) as { result: string }[]).map(({ result }) => Number(result))
    }
    expect(Math.max(...(await of(100)))).toBeLessThanOrEqual(10_000_000)
    expect(Math.min(...(await of(5)))).toBeGreaterThan(90_000_000)
  })

  test('limits gas in every spelling of the field', async () => {
    const left = { data: '0x5a60005260206000f3', gasLimit: '0x3b9aca00' }
    const { result = '0x0' } = (await ask('eth_call', left, 'latest')) as { result?: string }
    expect(Number(result)).toBeLessThanOrEqual(100_000_000)
  })

  test.each([
    ['a string with a call', JSON.stringify(call('eth_chainId'))],
    ['a string with a batch', JSON.stringify([call('eth_chainId')])],
    ['a number', 1],
    ['true', true],
    ['null', null],
  ])('rejects %s', async (_what, body) => {
    expect(await handleRpc(chain, body)).toEqual(error(-32600, null))
    expect(await handleRpc(chain, [body])).toEqual([error(-32600, null)])
  })
})

describe('the JSON-RPC proxy: sending transactions', () => {
  test('returns the hash, and adds the transaction to the journal and a block', async () => {
    const raw = await sign(newAccount(), 0)
    expect(await ask('eth_sendRawTransaction', raw)).toEqual(result(keccak256(raw)))
    expect(journal.entries.at(-1)?.transactions).toEqual([raw])
    expect(await ask('eth_getTransactionReceipt', keccak256(raw))).toEqual(
      result(expect.objectContaining({ status: '0x1', transactionHash: keccak256(raw) })),
    )
    expect(await ask('eth_sendRawTransaction', raw)).toEqual(result(keccak256(raw)))
  })

  test('returns the receipt from the synchronous method, or code 4 with the hash for a nonce gap', async () => {
    const account = newAccount()
    const raw = await sign(account, 0)
    const expected = expect.objectContaining({ status: '0x1', transactionHash: keccak256(raw) })
    expect(await ask('eth_sendRawTransactionSync', raw)).toEqual(result(expected))
    const gapped = await sign(account, 5)
    expect(await ask('eth_sendRawTransactionSync', gapped)).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: 4, message: expect.stringContaining('nonce'), data: keccak256(gapped) },
    })
  })

  test('returns error -32000 with the reason for a rejected transaction', async () => {
    const raw = await sign(newAccount(), 0, { value: 10n ** 30n })
    expect(await ask('eth_sendRawTransaction', raw)).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: -32000, message: expect.stringContaining('Insufficient funds') },
    })
  })

  test.each([[undefined], [5], ['0x'], ['0xzz'], ['0x123'], ['deadbeef'], [{}]])(
    'returns error -32602 for %j',
    async (raw) => {
      expect(await ask('eth_sendRawTransaction', raw)).toEqual(error(-32602))
    },
  )

  test('executes a batch in order, and a read sees the transactions before it', async () => {
    const account = newAccount()
    const contract = getContractAddress({ from: account.address, nonce: 0n })
    const [one, two] = [await sign(account, 0), await sign(account, 1, { to: contract })]
    const count = call('eth_getTransactionCount', [account.address, 'latest'], 3)
    const sends = [call('eth_sendRawTransaction', [one], 1), call('eth_sendRawTransaction', [two], 2)]
    expect(await handleRpc(chain, [...sends, count])).toEqual([
      { jsonrpc: '2.0', id: 1, result: keccak256(one) },
      { jsonrpc: '2.0', id: 2, result: keccak256(two) },
      { jsonrpc: '2.0', id: 3, result: '0x2' },
    ])
  })

  test('includes the data of a revert', async () => {
    // Reverts with the bytes 0xdeadbeef.
    const code = '0x63deadbeef6000526004601cfd'
    expect(await ask('eth_call', { data: code }, 'latest')).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: { code: 3, message: expect.stringContaining('revert'), data: '0xdeadbeef' },
    })
  })

  test('returns an error for an unreachable chain or any other failure, and never throws', async () => {
    const failing = (cause: unknown) => ({ ...chain, request: () => Promise.reject(cause) })
    expect(await handleRpc(failing(nodeUnreachableError('was shut down')), call('eth_chainId'))).toEqual(error(-32000))
    const secret = await handleRpc(failing(new Error('/secret/path')), call('eth_chainId'))
    expect(secret).toEqual(error(-32603))
    expect(JSON.stringify(secret)).not.toContain('secret')
  })
})
