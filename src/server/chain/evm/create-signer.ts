import { keccak256 } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { type Signer, toViemTransaction } from './evm-signer.ts'
import type { Hex } from './network.ts'

/**
 * Creates a signer from a private key. Derives the account on first use, because that takes 30 ms and would delay
 * startup.
 */
export function createSigner(key: Hex): Signer {
  let derived: PrivateKeyAccount | undefined
  const account = () => {
    derived ??= privateKeyToAccount(key)
    return derived
  }
  return {
    get address() {
      return account().address
    },
    async sign(transaction) {
      const raw = await account().signTransaction(toViemTransaction(transaction))
      return { raw, hash: keccak256(raw) }
    },
  }
}
