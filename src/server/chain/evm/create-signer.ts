import { keccak256 } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import { requestOf, type Signer } from './evm-signer.ts'
import type { Hex } from './network.ts'

/**
 * Creates a signer from a private key. The account is derived on first use: that takes 30 ms, which would delay a
 * start.
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
      const raw = await account().signTransaction(requestOf(transaction))
      return { raw, hash: keccak256(raw) }
    },
  }
}
