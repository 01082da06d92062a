import { createHash } from 'node:crypto'
// Don't use the copy in the top-level node_modules, which is version 1, because other packages need that version.
import { bls12_381 } from '@noble/curves-2/bls12-381.js'
import { GdnError } from '../core/errors.ts'
import { QUICKNET_TIMES, type RoundTimes } from './shuffle-rule.ts'

/** A randomness beacon that signs the number of each round (drand's scheme bls-unchained-g1-rfc9380). */
export interface BeaconChain extends RoundTimes {
  hash: string
  /** The public key, a compressed point of G2. */
  publicKey: Uint8Array
}

/** A verified round of a beacon. */
export interface Beacon {
  round: number
  signature: Uint8Array
  randomness: Uint8Array
}

/** drand's quicknet. */
export const QUICKNET: BeaconChain = {
  ...QUICKNET_TIMES,
  publicKey: Buffer.from(
    '83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c8c4b450b6a0a6c3ac6a5776a2d106451' +
      '0d1fec758c921cc22b0e17e63aaf4bcb5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a',
    'hex',
  ),
}

const { shortSignatures: bls } = bls12_381
const SIGNATURE_BYTES = 48
const DST = 'BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_'

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest()

const hashToPoint = (round: number) => {
  const message = Buffer.alloc(8)
  message.writeBigUInt64BE(BigInt(round))
  return bls.hash(sha256(message), DST)
}

/**
 * Verifies the signature of a round. Returns the round and its randomness.
 *
 * @param signature a compressed point of G1. It may be untrusted.
 * @throws GdnError `verify_failed`
 */
export function verifyBeacon(chain: BeaconChain, round: number, signature: Uint8Array): Beacon {
  if (!Number.isSafeInteger(round) || round < 1)
    throw new GdnError('verify_failed', `${round} is not a valid round number`)
  if (isValidSignature(chain, round, signature)) return { round, signature, randomness: sha256(signature) }
  const name = chain.hash === QUICKNET.hash ? "drand's quicknet" : 'the beacon'
  throw new GdnError('verify_failed', `the signature of round ${round} is not from ${name}`)
}

/** Returns whether a signature of a round is from the beacon. The signature may be untrusted. */
export function isValidSignature({ publicKey }: BeaconChain, round: number, signature: Uint8Array): boolean {
  if (signature.length !== SIGNATURE_BYTES) return false
  try {
    // These checks reject infinity, non-canonical encodings, and points that aren't on the curve or in the subgroup.
    const point = bls.Signature.fromBytes(Uint8Array.from(signature))
    point.assertValidity()
    if (point.is0() || !Buffer.from(bls.Signature.toBytes(point)).equals(signature)) return false
    return bls.verify(point, hashToPoint(round), Uint8Array.from(publicKey))
  } catch {
    return false
  }
}

/** Returns whether bytes are the canonical encoding of a public key. */
export function isPublicKey(bytes: Uint8Array): boolean {
  try {
    const point = bls12_381.G2.Point.fromBytes(Uint8Array.from(bytes))
    point.assertValidity()
    return !point.is0() && point.isTorsionFree() && Buffer.from(point.toBytes()).equals(bytes)
  } catch {
    return false
  }
}

/** Returns the public key for a test beacon's secret key; null if the bytes aren't a secret key. */
export function derivePublicKey(secretKey: Uint8Array): Uint8Array | null {
  try {
    return bls.getPublicKey(Uint8Array.from(secretKey)).toBytes()
  } catch {
    return null
  }
}

/** Signs a round with the secret key of a test beacon. */
export const signRound = (secretKey: Uint8Array, round: number): Uint8Array =>
  bls.Signature.toBytes(bls.sign(hashToPoint(round), Uint8Array.from(secretKey)))
