import { base58btc } from 'multiformats/bases/base58'
import { KEY_BYTES } from './sizes.ts'

/** The address of an account or program, as bytes and as text. */
export interface Key {
  readonly bytes: Uint8Array
  /** The address in base58. */
  readonly address: string
}

/** Returns the key of an address. Throws if the text isn't an address. */
export function parseKey(address: string): Key {
  const bytes = base58btc.baseDecode(address)
  if (bytes.length !== KEY_BYTES) throw new Error(`${address} is not a Solana address`)
  return { bytes, address }
}

export const keyFromBytes = (bytes: Uint8Array): Key => ({ bytes, address: base58btc.baseEncode(bytes) })

export const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'

/** The addresses of the programs that create tokens. */
export const PROGRAMS = {
  system: parseKey('11111111111111111111111111111111'),
  computeBudget: parseKey('ComputeBudget111111111111111111111111111111'),
  token2022: parseKey(TOKEN_2022),
  associatedToken: parseKey('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL'),
}
