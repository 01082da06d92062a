import { base58btc } from 'multiformats/bases/base58'
import type { SolanaAccount } from '../network.ts'
import type { LiteSvmModule } from './load-litesvm.ts'

/** More than an embedded chain can ever use up, and far from what a balance may be at most. */
const FUNDS = 2n ** 60n
const SYSTEM_PROGRAM = new Uint8Array(32)
const SLOTS_PER_EPOCH = 432_000

/** Accounts and the programs that change them: no blocks, no blockhashes, no time of its own. */
export interface VirtualMachine {
  setTime(slot: number, timestamp: number): void
  /**
   * Executes a signed transaction; the error of one that failed, null for one that succeeded. Bytes that are no
   * transaction end the process: let `readTransaction` judge them first.
   */
  execute(transaction: Uint8Array): string | null
  account(address: string): SolanaAccount | null
  minimumBalance(bytes: number): bigint
  /** Everything that {@link createVirtualMachine} needs to go on from here. About 1 KB an NFT, 1 ms for a thousand. */
  snapshot(): Uint8Array
}

/** A machine with the accounts of a snapshot, or one on which nothing has happened yet but that `payer` is rich. */
export function createVirtualMachine(module: LiteSvmModule, payer: string, snapshot?: Uint8Array): VirtualMachine {
  const { Account, Clock, FailedTransactionMetadata, LiteSvm } = module
  const machine = snapshot === undefined ? new LiteSvm() : LiteSvm.fromBytes(snapshot)
  // Expiry and signatures that were executed before are the chain's affair (embedded-solana.ts): the machine knows no
  // blockhash but its latest.
  machine.setTransactionHistory(0n)
  machine.setBlockhashCheck(false)
  machine.setLogBytesLimit(0n)
  if (snapshot === undefined) {
    const rich = new Account(FUNDS, new Uint8Array(), SYSTEM_PROGRAM, false, 0n)
    machine.setAccount(base58btc.baseDecode(payer), rich)
  }

  return {
    setTime(slot, timestamp) {
      const epoch = BigInt(Math.floor(slot / SLOTS_PER_EPOCH))
      machine.setClock(new Clock(BigInt(slot), BigInt(timestamp), epoch, epoch + 1n, BigInt(timestamp)))
    },

    execute(transaction) {
      // Takes those without a version as well.
      const result = machine.sendVersionedTransaction(transaction)
      return result instanceof FailedTransactionMetadata ? describe(result.err()) : null
    },

    account(at) {
      const found = machine.getAccount(base58btc.baseDecode(at))
      if (found === null) return null
      const { lamports, owner, data } = { lamports: found.lamports(), owner: found.owner(), data: found.data() }
      return { owner: base58btc.baseEncode(owner), lamports, data: Uint8Array.from(data) }
    },

    minimumBalance: (bytes) => machine.minimumBalanceForRentExemption(BigInt(bytes)),

    snapshot: () => machine.toBytes(),
  }
}

/** Only the errors of instructions are objects that print; the others are numbers of a list. */
function describe(error: unknown): string {
  return typeof error === 'number' ? `transaction error ${error}` : String(error)
}
