import { ZERO_ADDRESS } from '../../api/address.ts'
import { type checkMintParams, MINT_PARAMS } from './mint-params.ts'
import type { Receiver } from './receivers.ts'
import { MAX_UINT256 } from './uint256.ts'

export const PROOF_FORMATS = ['oz', 'thirdweb', 'seadrop'] as const
export type ProofFormat = (typeof PROOF_FORMATS)[number]

export type Keccak = (message: Uint8Array) => Uint8Array

/** The way in which a contract computes the leaf of an address. */
export interface LeafFormat {
  /** The Solidity types of the leaf. */
  encoding: readonly string[]
  /** Whether the tree is OpenZeppelin's StandardMerkleTree. Otherwise, it is a SimpleMerkleTree. */
  isStandardTree: boolean
  hashLeaf(receiver: Receiver): Uint8Array
  /** The values that the contract expects with the proof. Numbers are strings of digits. */
  args(receiver: Receiver): Readonly<Record<string, unknown>>
}

const WORD_BYTES = 32
const ADDRESS_BYTES = 20

function putAddress(bytes: Buffer, address: string, at: number): void {
  bytes.write(address.slice(2), at, 'hex')
}

function putUint(bytes: Buffer, value: bigint, at: number): void {
  bytes.write(value.toString(16).padStart(2 * WORD_BYTES, '0'), at, 'hex')
}

/**
 * Returns the leaf format of OpenZeppelin's StandardMerkleTree: `keccak256(keccak256(abi.encode(address, count)))`. If
 * the list has no counts, only the address is encoded.
 */
export function createOzFormat(keccak: Keccak, counts: boolean): LeafFormat {
  const bytes = Buffer.alloc(counts ? 2 * WORD_BYTES : WORD_BYTES)
  return {
    encoding: counts ? ['address', 'uint256'] : ['address'],
    isStandardTree: true,
    hashLeaf({ address, count }) {
      putAddress(bytes, address, WORD_BYTES - ADDRESS_BYTES)
      if (count !== null) putUint(bytes, count, WORD_BYTES)
      return keccak(keccak(bytes))
    },
    args: ({ count }) => (count === null ? {} : { count: String(count) }),
  }
}

/**
 * Returns the leaf format of thirdweb's drop contracts: `keccak256(abi.encodePacked(claimer, quantityLimitPerWallet,
 * pricePerToken, currency))`. A limit of 0, a price of 2^256-1 and the zero address select the value of the claim
 * condition.
 */
export function createThirdwebFormat(keccak: Keccak): LeafFormat {
  const bytes = Buffer.alloc(ADDRESS_BYTES + WORD_BYTES + WORD_BYTES + ADDRESS_BYTES)
  const valuesOf = ({ count, price, currency }: Receiver) => ({
    quantityLimitPerWallet: count ?? 0n,
    pricePerToken: price ?? MAX_UINT256,
    currency: currency ?? ZERO_ADDRESS,
  })
  return {
    encoding: ['address', 'uint256', 'uint256', 'address'],
    isStandardTree: false,
    hashLeaf(receiver) {
      const { quantityLimitPerWallet, pricePerToken, currency } = valuesOf(receiver)
      putAddress(bytes, receiver.address, 0)
      putUint(bytes, quantityLimitPerWallet, ADDRESS_BYTES)
      putUint(bytes, pricePerToken, ADDRESS_BYTES + WORD_BYTES)
      putAddress(bytes, currency, ADDRESS_BYTES + 2 * WORD_BYTES)
      return keccak(bytes)
    },
    args(receiver) {
      const { quantityLimitPerWallet, pricePerToken, currency } = valuesOf(receiver)
      return {
        quantityLimitPerWallet: String(quantityLimitPerWallet),
        pricePerToken: String(pricePerToken),
        currency,
      }
    },
  }
}

/** Returns the leaf format of SeaDrop 1.0: `keccak256(abi.encode(minter, mintParams))`. */
export function createSeadropFormat(keccak: Keccak, params: ReturnType<typeof checkMintParams>): LeafFormat {
  const bytes = Buffer.alloc((1 + MINT_PARAMS.length) * WORD_BYTES)
  const valuesOf = ({ count }: Receiver) => ({
    ...params,
    maxTotalMintableByWallet: params.maxTotalMintableByWallet ?? count ?? 0n,
  })
  return {
    encoding: ['address', `(${MINT_PARAMS.map((_, i) => (i < MINT_PARAMS.length - 1 ? 'uint256' : 'bool')).join()})`],
    isStandardTree: false,
    hashLeaf(receiver) {
      const values = valuesOf(receiver)
      putAddress(bytes, receiver.address, WORD_BYTES - ADDRESS_BYTES)
      for (const [i, name] of MINT_PARAMS.entries()) putUint(bytes, BigInt(values[name]), (i + 1) * WORD_BYTES)
      return keccak(bytes)
    },
    args(receiver) {
      const values = valuesOf(receiver)
      const spelled = MINT_PARAMS.map((name) => {
        const value = values[name]
        return [name, typeof value === 'bigint' ? String(value) : value]
      })
      return { mintParams: Object.fromEntries(spelled) }
    },
  }
}
