import { keccak256 } from 'viem'
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts'
import * as z from 'zod'
import type { EvmBlockchain } from '../../../api/blockchains.ts'
import { GdnError } from '../../../core/errors.ts'
import { keptSecret, type SecretPlace } from '../../data-dir/kept-secret.ts'
import type { Fees, Hex } from './network.ts'

const FILE = 'signers.json'

const hexKey = z.templateLiteral(['0x', z.string().regex(/^[0-9a-f]{64}$/)])
const signersFile = z.strictObject({ version: z.literal(1), admin: hexKey, operator: hexKey })

/** What is signed, but for who signs it and on which chain. */
export interface UnsignedTransaction {
  chainId: number
  nonce: number
  /** Null deploys a contract. */
  to: Hex | null
  data: Hex
  gas: bigint
  fees: Fees
}

export interface Signer {
  readonly address: Hex
  sign(transaction: UnsignedTransaction): Promise<{ raw: Hex; hash: Hex }>
}

/** Who signs on a blockchain. */
export interface Signers {
  /** Deploys the factory and no more; null where its key is not this process's. */
  readonly admin: Signer | null
  /** Make collections, mint and transfer: each has nonces of its own, and so a lane. None while their funds are bound by what waits. */
  readonly operators: readonly Signer[]
}

/** All that signing for a blockchain takes. */
export interface Signing {
  readonly chainId: number
  readonly signers: Signers
  /** What to offer for gas now. */
  readonly fees: Fees
  /** Gas that each operator can pay for beyond what it has signed already; absent where gas costs nothing. */
  readonly affordable?: ReadonlyMap<Hex, bigint>
}

/** What signing for a blockchain takes now; rejects while its network can't be asked. */
export type AskSigning = (blockchain: EvmBlockchain) => Promise<Signing>

/** Who signs for a blockchain with this address, whatever it can pay for; null where its key is not this process's. */
export type FindSigner = (blockchain: EvmBlockchain, address: string) => Signer | null

export const signerAt = ({ admin, operators }: Signers, address: string): Signer | null =>
  [...operators, admin].find((one) => one?.address === address) ?? null

/** Far above any base fee of an embedded chain, where gas costs nothing. */
export const EMBEDDED_FEES: Fees = { maxFeePerGas: 100_000_000_000n, maxPriorityFeePerGas: 1_000_000_000n }

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

export interface EmbeddedSigners extends Signers {
  readonly admin: Signer
}

/**
 * The signing keys of the embedded chains of a data dir, or of a database that processes share, made at random on first
 * use.
 * They are worth nothing elsewhere, and are never used for a chain behind an RPC URL: the chain ids are real ones.
 */
export async function openEmbeddedSigners(
  dataDir: string,
  store: SecretPlace['store'] = null,
): Promise<EmbeddedSigners> {
  const { text, place } = await keptSecret(
    { dataDir, file: FILE, store },
    () => `${JSON.stringify({ version: 1, admin: generatePrivateKey(), operator: generatePrivateKey() })}\n`,
  )
  const parsed = signersFile.safeParse(parseJson(text))
  if (!parsed.success) {
    throw new GdnError('data_dir', `${place} is damaged or of a newer gdn`, {
      hint: 'restore it from a backup: without it the embedded chains can mint no more',
    })
  }
  const { admin, operator } = parsed.data
  return { admin: createSigner(admin), operators: [createSigner(operator)] }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
