import type { SolanaBlockchain } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import { type Key, parseKey, TOKEN_2022 } from '../../chain/solana/key.ts'
import type { Instruction } from '../../chain/solana/message.ts'
import type { SolanaAccount, SolanaNetwork } from '../../chain/solana/network.ts'
import {
  encodeTransactionMessage,
  fitMessage,
  type SolanaSignedBytes,
  signMessage,
} from '../../chain/solana/sign-mint.ts'
import type { SolanaChains } from '../../chain/solana/solana-chains.ts'
import type { DriverOptions, OnSigned } from '../driver.ts'

/**
 * Maximum number of changes that are signed together: updates of one collection, or burns. These changes don't depend
 * on each other.
 */
export const CHANGES_PER_BATCH = 100

export interface ChangeOptions extends DriverOptions<SolanaBlockchain> {
  solana: Pick<SolanaChains, 'signer' | 'network' | 'affordable'>
  onSigned: OnSigned
}

/** Signs changes to existing tokens. */
export interface ChangeSigner {
  signer: Key
  network: SolanaNetwork
  /** Signs a transaction. Truncates `name` if it doesn't fit. */
  sign(name: string, instructionsFor: (name: string) => Promise<Instruction[]>): Promise<SolanaSignedBytes>
}

/**
 * Prepares signing with a recent blockhash.
 *
 * @throws GdnError `pending` if the signer lacks funds
 */
export async function openChangeSigner({ solana, blockchain }: ChangeOptions): Promise<ChangeSigner> {
  if ((await solana.affordable(blockchain)) < 1) {
    throw new GdnError('pending', `the signer of ${blockchain} does not have enough funds to change a token`, {
      hint: 'Send SOL to the signer. The backend then applies pending changes without a restart.',
    })
  }
  const [signer, network] = await Promise.all([solana.signer(blockchain), solana.network(blockchain)])
  const [lifetime, price] = await Promise.all([
    network.latestBlockhash(),
    network.computeUnitPrice?.({ urgent: false }),
  ])
  const payer = parseKey(signer.address)
  return {
    signer: payer,
    network,
    async sign(name, instructionsFor) {
      const message = await fitMessage(name, async (fitting) =>
        encodeTransactionMessage(payer, lifetime, price ?? 0n, await instructionsFor(fitting)),
      )
      return signMessage(signer, message, lifetime)
    },
  }
}

/**
 * Returns the account of a mint.
 *
 * @throws GdnError `unreachable` if the node doesn't have it
 */
export async function readMintAccount(network: SolanaNetwork, mint: string): Promise<SolanaAccount> {
  const account = await network.account(mint)
  if (account?.owner === TOKEN_2022) return account
  throw new GdnError('unreachable', `a node of ${network.blockchain} does not have the token ${mint}`)
}
