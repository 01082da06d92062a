import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createRequire } from 'node:module'
import { address, getCompiledTransactionMessageDecoder, getTransactionDecoder, lamports } from '@solana/kit'
import { FailedTransactionMetadata, LiteSVM } from 'litesvm'
import { base58btc } from 'multiformats/bases/base58'
import { decodeTransaction } from '../../src/server/chain/solana/embedded/wire.ts'
import { listenLocally } from './http-server.ts'

/** A Solana cluster with JSON-RPC over HTTP that executes transactions. */
export interface TestCluster {
  url: string
  genesisHash: string
  /** Sets the balance of an account. */
  fund(address: string, lamports: bigint): Promise<void>
  /** Returns an account's data as base64, or null. */
  account(address: string): Promise<string | null>
  /** Starts or stops dropping transactions without an error. */
  drop(isDropping: boolean): void
  /** Forgets a signature, as nodes do after some minutes. */
  forget(signature: string): void
  close(): Promise<void>
}

/** Forty times as fast as a real one, so blockhashes expire after 1.5 s. */
const SLOT_MS = 10
const VALID_SLOTS = 150
const FINAL_AFTER = 31
const CONFIRMED_AFTER = 1

/** Starts surfpool if `npm run test:solana` has installed it, otherwise our stand-in on litesvm. */
export const startCluster = (slotMs = SLOT_MS): Promise<TestCluster> =>
  process.env.GDN_TEST_SURFPOOL === undefined
    ? startStandIn(slotMs)
    : startSurfpool(process.env.GDN_TEST_SURFPOOL, slotMs)

interface Surfnet {
  rpcUrl: string
  fundSol(address: string, lamports: number): void
  stop(): void
}

async function startSurfpool(path: string, slotTimeMs: number): Promise<TestCluster> {
  const { Surfnet } = createRequire(import.meta.url)(path) as {
    Surfnet: { startWithConfig(config: object): Surfnet }
  }
  const net = Surfnet.startWithConfig({ offline: true, slotTimeMs, blockProductionMode: 'clock' })
  const call = async (method: string, params: unknown[] = []) => {
    const response = await fetch(net.rpcUrl, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    })
    return ((await response.json()) as { result: unknown }).result
  }
  return {
    url: net.rpcUrl,
    genesisHash: String(await call('getGenesisHash')),
    async fund(to, amount) {
      net.fundSol(to, Number(amount))
    },
    async account(at) {
      const { value } = (await call('getAccountInfo', [at, { encoding: 'base64' }])) as {
        value: { data: string[] } | null
      }
      return value?.data[0] ?? null
    },
    drop() {
      throw new Error('surfpool drops nothing')
    },
    forget() {
      throw new Error('surfpool forgets nothing')
    },
    async close() {
      net.stop()
    },
  }
}

/** The part of an account that is asked for. */
interface Slice {
  offset: number
  length: number
}

interface Executed {
  slot: number
  /** Addresses that its message names. */
  accounts: readonly string[]
  error: unknown
}

/**
 * litesvm behind the part of Solana's JSON-RPC that gdn uses. It executes transactions at once, and they are final
 * after as many slots as on a real cluster. It silently drops transactions that have an unknown or expired blockhash or
 * can't pay their fee.
 */
async function startStandIn(slotMs: number): Promise<TestCluster> {
  const machine = new LiteSVM().withBlockhashCheck(false).withTransactionHistory(0n).withSigverify(true)
  const since = performance.now()
  const slot = () => FINAL_AFTER + 1 + Math.floor((performance.now() - since) / slotMs)
  const seed = String(since)
  const hashAt = (at: number) => base58btc.baseEncode(createHash('sha256').update(`${seed} ${at}`).digest())
  const genesisHash = hashAt(0)
  const executed = new Map<string, Executed>()
  let isDropping = false

  const knownBlockhash = (blockhash: string) => {
    const now = slot()
    for (let at = now; at >= 0 && at >= now - VALID_SLOTS; at--) if (hashAt(at) === blockhash) return true
    return false
  }

  const send = (raw: string): string => {
    const read = decodeTransaction(raw)
    if (typeof read === 'string') throw new Error(read)
    const { signature, blockhash, bytes } = read
    if (isDropping || executed.has(signature) || !knownBlockhash(blockhash)) return signature
    const transaction = getTransactionDecoder().decode(bytes)
    const { staticAccounts } = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
    const result = machine.sendTransaction(transaction)
    const failed = result instanceof FailedTransactionMetadata ? errorOf(result) : null
    if (failed !== 'dropped') executed.set(signature, { slot: slot(), accounts: staticAccounts, error: failed })
    return signature
  }

  const statusOf = (signature: string) => {
    const found = executed.get(signature)
    if (found === undefined) return null
    const age = slot() - found.slot
    const confirmationStatus =
      age >= FINAL_AFTER ? 'finalized' : age >= CONFIRMED_AFTER ? 'confirmed' : ('processed' as const)
    return { slot: found.slot, err: found.error, confirmationStatus, confirmations: null, status: {} }
  }

  const accountAt = (at: string, { offset, length }: Slice = { offset: 0, length: Number.POSITIVE_INFINITY }) => {
    const found = machine.getAccount(address(at))
    if (!found.exists) return null
    const data = Buffer.from(found.data)
      .subarray(offset, offset + length)
      .toString('base64')
    const { programAddress: owner, lamports: balance, executable } = found
    return { owner, lamports: Number(balance), data: [data, 'base64'], executable, rentEpoch: 0, space: data.length }
  }

  const withContext = (value: unknown) => ({ context: { apiVersion: '0', slot: slot() }, value })
  // biome-ignore lint/suspicious/noExplicitAny: each method has its own parameters
  const methods: Record<string, (...params: any[]) => unknown> = {
    getGenesisHash: () => genesisHash,
    getLatestBlockhash: () => withContext({ blockhash: hashAt(slot()), lastValidBlockHeight: slot() + VALID_SLOTS }),
    getEpochInfo: () => ({ absoluteSlot: slot() - FINAL_AFTER, blockHeight: slot() - FINAL_AFTER, epoch: 0 }),
    getMinimumBalanceForRentExemption: (bytes: number) => Number(machine.minimumBalanceForRentExemption(BigInt(bytes))),
    getRecentPrioritizationFees: () => [],
    getBalance: (at: string) => withContext(Number(machine.getBalance(address(at)) ?? 0n)),
    getAccountInfo: (at: string) => withContext(accountAt(at)),
    getSignaturesForAddress: (at: string) =>
      [...executed]
        .filter(([, { accounts }]) => accounts.includes(at))
        .map(([signature, { slot: made, error: err }]) => ({ signature, slot: made, err }))
        .reverse(),
    getMultipleAccounts: (all: string[], { dataSlice }: { dataSlice?: Slice } = {}) =>
      withContext(all.map((at) => accountAt(at, dataSlice))),
    getSignatureStatuses: (signatures: string[]) => withContext(signatures.map(statusOf)),
    sendTransaction: send,
  }

  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString()) as {
      id: number
      method: string
      params: unknown[]
    }
    const answer = (() => {
      try {
        const run = methods[method]
        if (run === undefined) return { error: { code: -32601, message: 'Method not found' } }
        return { result: run(...params) }
      } catch (error) {
        return { error: { code: -32602, message: String(error) } }
      }
    })()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  }

  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  const { url, close } = await listenLocally(server)
  return {
    url,
    genesisHash,
    async fund(to, amount) {
      machine.setAccount({
        address: address(to),
        data: new Uint8Array(),
        executable: false,
        lamports: lamports(amount),
        programAddress: address('11111111111111111111111111111111'),
        space: 0n,
      })
    },
    account: async (at) => accountAt(at)?.data[0] ?? null,
    drop(on) {
      isDropping = on
    },
    forget: (signature) => void executed.delete(signature),
    close,
  }
}

/** The error in the network's spelling, or `dropped` for a transaction that never gets into a block. */
function errorOf(failed: FailedTransactionMetadata): unknown {
  const error = failed.err()
  if (typeof error === 'number') return 'dropped'
  const text = failed.toString()
  const custom = /InstructionError\((\d+), Custom\((\d+)\)\)/.exec(text)
  if (custom === null) return { InstructionError: [0, text.slice(0, 200)] }
  return { InstructionError: [Number(custom[1]), { Custom: Number(custom[2]) }] }
}
