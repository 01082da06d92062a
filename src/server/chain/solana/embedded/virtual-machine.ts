import { base58btc } from 'multiformats/bases/base58'
import type { SolanaAccount } from '../network.ts'
import type { LiteSvmModule } from './load-litesvm.ts'

/**
 * Initial funds in lamports. They are more than an embedded chain can ever spend, and far below the maximum balance.
 */
const PAYER_LAMPORTS = 2n ** 60n
const SYSTEM_PROGRAM = new Uint8Array(32)
const SLOTS_PER_EPOCH = 432_000

/** Accounts and the programs that change them. The machine has no blocks, blockhashes or clock. */
export interface VirtualMachine {
  setTime(slot: number, timestamp: number): void
  /**
   * Executes a signed transaction. Returns its error, or null on success. Bytes that aren't a transaction abort the
   * process, so validate them with `decodeTransaction` first.
   */
  execute(transaction: Uint8Array): string | null
  account(address: string): SolanaAccount | null
  minimumBalance(bytes: number): bigint
  /**
   * Returns the state that {@link createVirtualMachine} restores. The state has about 1 KB per NFT, and takes 1 ms per
   * thousand NFTs.
   */
  snapshot(): Uint8Array
}

/** Creates a machine from a snapshot. Without a snapshot, creates one in which only `payer` has funds. */
export function createVirtualMachine(module: LiteSvmModule, payer: string, snapshot?: Uint8Array): VirtualMachine {
  const { Account, Clock, FailedTransactionMetadata, LiteSvm } = module
  const machine = snapshot === undefined ? new LiteSvm() : LiteSvm.fromBytes(snapshot)
  // The chain checks expiry and duplicate signatures (embedded-solana.ts), because the machine would accept only its
  // latest blockhash.
  machine.setTransactionHistory(0n)
  machine.setBlockhashCheck(false)
  machine.setLogBytesLimit(0n)
  if (snapshot === undefined) {
    const rich = new Account(PAYER_LAMPORTS, new Uint8Array(), SYSTEM_PROGRAM, false, 0n)
    machine.setAccount(base58btc.baseDecode(payer), rich)
  }

  return {
    setTime(slot, timestamp) {
      const epoch = BigInt(Math.floor(slot / SLOTS_PER_EPOCH))
      machine.setClock(new Clock(BigInt(slot), BigInt(timestamp), epoch, epoch + 1n, BigInt(timestamp)))
    },

    execute(transaction) {
      // This method also accepts legacy transactions, which have no version.
      const result = machine.sendVersionedTransaction(transaction)
      return result instanceof FailedTransactionMetadata ? describe(result.err()) : null
    },

    account(at) {
      const account = machine.getAccount(base58btc.baseDecode(at))
      if (account === null) return null
      const { lamports, owner, data } = { lamports: account.lamports(), owner: account.owner(), data: account.data() }
      return { owner: base58btc.baseEncode(owner), lamports, data: Uint8Array.from(data) }
    },

    minimumBalance: (bytes) => machine.minimumBalanceForRentExemption(BigInt(bytes)),

    snapshot: () => machine.toBytes(),
  }
}

/** Returns the text of an error. Only instruction errors have text; the others are enum numbers. */
function describe(error: unknown): string {
  return typeof error === 'number' ? `transaction error ${error}` : String(error)
}
