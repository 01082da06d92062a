import { keccak256 } from 'viem'
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import type { Hex } from './network.ts'
import type { Signer } from './signers.ts'

/**
 * Signs with a private key. The account is derived when it is first needed: 30 ms of arithmetic that a start doesn't
 * wait for.
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
    async sign({ fees: { maxFeePerGas, maxPriorityFeePerGas, legacy }, ...call }) {
      const raw = await account().signTransaction(
        legacy
          ? { type: 'legacy', ...call, gasPrice: maxFeePerGas }
          : { type: 'eip1559', ...call, maxFeePerGas, maxPriorityFeePerGas },
      )
      return { raw, hash: keccak256(raw) }
    },
  }
}
