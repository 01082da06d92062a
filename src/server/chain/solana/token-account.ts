import { createHash } from 'node:crypto'
import { type Key, keyFromBytes, PROGRAMS, TOKEN_2022 } from './key.ts'
import type { SolanaNetwork } from './network.ts'

const MARKER = Buffer.from('ProgramDerivedAddress')

/**
 * Returns the associated token account of an owner: the account in which wallets look for the tokens of a mint. The
 * address is the first hash, by descending bump, that isn't a public key, so it has no private key.
 */
export function deriveTokenAccount(owner: Key, mint: Key): Key {
  const { token2022, associatedToken } = PROGRAMS
  for (let bump = 255; bump > 0; bump--) {
    const seeds = [owner.bytes, token2022.bytes, mint.bytes, Uint8Array.of(bump)]
    const preimage = Buffer.concat([...seeds, associatedToken.bytes, MARKER])
    const hash = createHash('sha256').update(preimage).digest()
    if (!isOnCurve(hash)) return keyFromBytes(hash)
  }
  throw new Error(`no token account of ${owner.address} exists for ${mint.address}`)
}

/** Offset of the amount in a token account. The amount follows the mint and the owner. */
const AMOUNT_AT = 64

/** Returns whether a wallet holds the token of a mint in its associated token account. */
export async function holdsToken(network: Pick<SolanaNetwork, 'account'>, owner: Key, mint: Key): Promise<boolean> {
  const account = await network.account(deriveTokenAccount(owner, mint).address)
  return account?.owner === TOKEN_2022 && Buffer.from(account.data).readBigUInt64LE(AMOUNT_AT) > 0n
}

/** The prime of Ed25519's field, and the constant of its curve -x² + y² = 1 + dx²y². */
const P = 2n ** 255n - 19n
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n

/** Returns whether 32 bytes encode a point of Ed25519: its y, little-endian, with the sign of x as the highest bit. */
export function isOnCurve(bytes: Uint8Array): boolean {
  const bigEndian = Buffer.from(bytes).reverse()
  const isNegative = (bigEndian.readUInt8(0) & 0x80) !== 0
  const y = BigInt.asUintN(255, BigInt(`0x${bigEndian.toString('hex')}`))
  const y2 = (y * y) % P
  // x² = (y² - 1) / (dy² + 1) has a root if (y² - 1)(dy² + 1) is a square.
  const symbol = jacobi(((y2 + P - 1n) * (D * y2 + 1n)) % P, P)
  return symbol === 0 ? !isNegative : symbol === 1
}

/**
 * Returns the Jacobi symbol (a / n): 1 if a is a square modulo a prime n. Computing it by exponentiation takes eight
 * times as long.
 */
function jacobi(a: bigint, n: bigint): -1 | 0 | 1 {
  let [top, bottom]: [bigint, bigint] = [a, n]
  let isFlipped = false
  while (top !== 0n) {
    while ((top & 0xffffn) === 0n) top >>= 16n
    const low = Number(top & 0xffffn)
    const zeros = 31 - Math.clz32(low & -low)
    top >>= BigInt(zeros)
    const rest = Number(bottom & 7n)
    if (zeros % 2 === 1 && (rest === 3 || rest === 5)) isFlipped = !isFlipped
    if (rest % 4 === 3 && (top & 3n) === 3n) isFlipped = !isFlipped
    ;[top, bottom] = [bottom % top, top]
  }
  if (bottom !== 1n) return 0
  return isFlipped ? -1 : 1
}
