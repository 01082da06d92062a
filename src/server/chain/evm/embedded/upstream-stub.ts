import { hexQuantity } from '../../../../core/hex-quantity.ts'
import { sha256Hex } from '../../../../core/sha256-hex.ts'
import { type LoopbackRpc, methodNotFoundError, serveLoopback } from '../../rpc/serve-loopback.ts'
import type { Hex } from '../network.ts'

/**
 * Gas limit of a block. It is far higher than on public networks, because a block includes the transactions that
 * arrived while the previous block was mined.
 */
export const BLOCK_GAS_LIMIT = 1_000_000_000n

/**
 * Balance of every address at genesis, in wei. It equals a million coins, so that any account can send transactions.
 */
export const GENESIS_BALANCE = 10n ** 24n

const GENESIS_BASE_FEE = 1_000_000_000n
const ZERO_32 = `0x${'0'.repeat(64)}`
/** Root of an empty trie. `NO_UNCLES` is the hash of an empty list of uncles. */
const EMPTY_ROOT = '0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421'
const NO_UNCLES = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347'

export interface Genesis {
  chainId: number
  /** Timestamp of block 0 in Unix seconds. */
  timestamp: number
}

/**
 * Returns the hash of block 0, the parent of block 1. It must be the same on every start with the same data directory.
 */
export function genesisHash({ chainId, timestamp }: Genesis): Hex {
  return `0x${sha256Hex(`gdn embedded chain ${chainId} from ${timestamp}`)}`
}

/**
 * Serves the empty chain that anvil forks. Without a fork, anvil recomputes the state root over the whole state for
 * each block. In measurements, it then mined 210 transactions per second with 1,000 tokens, and 3 with 100,000. A
 * forked anvil mined 700 to 1,080 at any size.
 */
export async function startUpstreamStub(genesis: Genesis): Promise<LoopbackRpc> {
  const methods = stubMethods(genesis)
  return await serveLoopback((method, params) => {
    if (!Object.hasOwn(methods, method)) throw methodNotFoundError()
    return methods[method]?.(params)
  })
}

type StubMethods = Record<string, (params: readonly unknown[]) => unknown>

function stubMethods(genesis: Genesis): StubMethods {
  const block = genesisBlock(genesis)
  const balance = hexQuantity(GENESIS_BALANCE)
  return {
    eth_chainId: () => hexQuantity(genesis.chainId),
    net_version: () => String(genesis.chainId),
    eth_blockNumber: () => '0x0',
    eth_gasPrice: () => hexQuantity(GENESIS_BASE_FEE),
    eth_maxPriorityFeePerGas: () => hexQuantity(GENESIS_BASE_FEE),
    eth_getBlockByNumber: ([tag]) => (isGenesisTag(tag) ? block : null),
    eth_getBlockByHash: ([hash]) => (hash === block.hash ? block : null),
    eth_getBlockReceipts: () => [],
    // Lets anvil read a new account with one request instead of three.
    eth_getAccountInfo: () => ({ balance, nonce: '0x0', code: '0x' }),
    eth_getBalance: () => balance,
    eth_getTransactionCount: () => '0x0',
    eth_getCode: () => '0x',
    eth_getStorageAt: () => ZERO_32,
    eth_getTransactionByHash: () => null,
    eth_getTransactionByBlockHashAndIndex: () => null,
    eth_getTransactionByBlockNumberAndIndex: () => null,
    eth_getTransactionReceipt: () => null,
    eth_getUncleCountByBlockHash: () => '0x0',
    eth_getUncleCountByBlockNumber: () => '0x0',
    eth_getLogs: () => [],
    eth_feeHistory: () => ({
      oldestBlock: '0x0',
      baseFeePerGas: [hexQuantity(GENESIS_BASE_FEE), hexQuantity(GENESIS_BASE_FEE)],
      gasUsedRatio: [0],
      reward: [['0x0']],
    }),
    web3_clientVersion: () => 'gdn',
  }
}

function genesisBlock(genesis: Genesis) {
  return {
    number: '0x0',
    hash: genesisHash(genesis),
    parentHash: ZERO_32,
    nonce: '0x0000000000000000',
    sha3Uncles: NO_UNCLES,
    logsBloom: `0x${'0'.repeat(512)}`,
    transactionsRoot: EMPTY_ROOT,
    stateRoot: EMPTY_ROOT,
    receiptsRoot: EMPTY_ROOT,
    miner: `0x${'0'.repeat(40)}`,
    difficulty: '0x0',
    extraData: '0x',
    size: '0x200',
    gasLimit: hexQuantity(BLOCK_GAS_LIMIT),
    gasUsed: '0x0',
    timestamp: hexQuantity(genesis.timestamp),
    mixHash: ZERO_32,
    baseFeePerGas: hexQuantity(GENESIS_BASE_FEE),
    uncles: [],
    transactions: [],
  }
}

function isGenesisTag(tag: unknown): boolean {
  return tag === '0x0' || (typeof tag === 'string' && !tag.startsWith('0x'))
}
