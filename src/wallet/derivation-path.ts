import type { KeyKind } from './new-key.ts'

const PATH_PATTERN = /^m(?:\/(?:0|[1-9]\d{0,9})['h]?){1,10}$/
const MAX_INDEX = 2 ** 31 - 1

/**
 * The derivation paths of the first account: for EVM, the path in MetaMask and Ledger Live, and for Solana, the path in
 * Phantom and Solflare.
 */
export const DEFAULT_PATHS: Readonly<Record<KeyKind, string>> = {
  evm: "m/44'/60'/0'/0/0",
  solana: "m/44'/501'/0'/0'",
}

export interface PathPart {
  index: number
  hardened: boolean
}

/** Parses a BIP-32 derivation path, whose hardened parts end with `'` or `h`. Returns null if the path is invalid. */
export function parsePath(text: string): PathPart[] | null {
  if (!PATH_PATTERN.test(text)) return null
  const parts = text
    .split('/')
    .slice(1)
    .map((part) => ({ index: Number.parseInt(part, 10), hardened: /['h]$/.test(part) }))
  return parts.every(({ index }) => index <= MAX_INDEX) ? parts : null
}
