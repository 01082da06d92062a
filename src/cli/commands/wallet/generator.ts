import type { Blockchain } from '../../../api/blockchains.ts'
import type { Secret } from '../../../core/secret.ts'
import type { NameReservation } from '../../../wallet/reservation.ts'
import type { NewWallet } from '../../../wallet/store-key.ts'
import type { OutputFlags, ServerFlags } from '../../flags/common.ts'
import type { AccountFlags } from './account.ts'
import type { NewPasswordFlags } from './password.ts'

export interface GenerateFlags extends OutputFlags, ServerFlags, AccountFlags, NewPasswordFlags {
  name?: string
  count?: number
  showPrivateKey?: boolean
  offline?: boolean
  blockchain?: Blockchain
}

/** The input of both wallet generators. */
export interface GeneratorInput {
  reservations: readonly NameReservation[]
  folder: string
  password: Secret
  /** The generated wallets. A wallet is added when it is complete. */
  generatedWallets: NewWallet[]
}

/** Generates a wallet for each reservation. */
export type WalletGenerator = (making: GeneratorInput) => Promise<void>
