import {
  type Address,
  address,
  appendTransactionMessageInstructions,
  type Blockhash,
  compileTransactionMessage,
  createNoopSigner,
  createTransactionMessage,
  getCompiledTransactionMessageDecoder,
  getCompiledTransactionMessageEncoder,
  getTransactionDecoder,
  getTransactionEncoder,
  type Instruction,
  pipe,
  setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash,
} from '@solana/kit'
import { getAllocateWithSeedInstruction, getTransferSolInstruction } from '@solana-program/system'
import {
  AuthorityType,
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstructionAsync,
  getInitializeGroupMemberPointerInstruction,
  getInitializeGroupPointerInstruction,
  getInitializeMetadataPointerInstruction,
  getInitializeMint2Instruction,
  getInitializeNonTransferableMintInstruction,
  getInitializePermanentDelegateInstruction,
  getInitializeTokenGroupInstruction,
  getInitializeTokenGroupMemberInstruction,
  getInitializeTokenMetadataInstruction,
  getMintToInstruction,
  getSetAuthorityInstruction,
  getUpdateTokenMetadataUpdateAuthorityInstruction,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@solana-program/token-2022'
import { feeInstructions } from '../../src/server/chain/solana/fee-instructions.ts'
import { mintAddress, toMintSeed } from '../../src/server/chain/solana/mint-address.ts'
import type { MintSpec } from '../../src/server/chain/solana/mint-instructions.ts'
import { mintSize } from '../../src/server/chain/solana/mint-size.ts'

const NO_LIMIT = 2n ** 64n - 1n

export interface SdkMessage {
  spec: MintSpec
  signer: string
  blockhash: string
  /** Lamports that fund the mint. */
  balance: bigint
  /** Micro-lamports for a compute unit. */
  price: bigint
}

/** Encodes the message that creates a token with @solana/kit and its program clients, without our encoder. */
export async function encodeWithSdk({ spec, signer, blockhash, balance, price }: SdkMessage): Promise<Buffer> {
  const lifetime = { blockhash: blockhash as Blockhash, lastValidBlockHeight: 1n }
  const fees = feeInstructions(price).map(({ program, data }) => ({ programAddress: address(program.address), data }))
  const instructions = [...fees, ...(await instructionsOf(signer, spec, balance))]
  const message = pipe(
    createTransactionMessage({ version: 'legacy' }),
    (draft) => setTransactionMessageFeePayer(address(signer), draft),
    (draft) => setTransactionMessageLifetimeUsingBlockhash(lifetime, draft),
    (draft) => appendTransactionMessageInstructions(instructions, draft),
  )
  return Buffer.from(getCompiledTransactionMessageEncoder().encode(compileTransactionMessage(message)))
}

async function instructionsOf(signerAddress: string, spec: MintSpec, balance: bigint): Promise<Instruction[]> {
  const { id, name, symbol, uri } = spec
  const signer = createNoopSigner(address(signerAddress))
  const mint = address(mintAddress(signerAddress, id))
  const owner = address(spec.receiver)
  const group = spec.group === null ? null : address(spec.group)
  const size = mintSize({ ...spec, kind: group === null ? 'group' : 'member' })
  const [token] = await findAssociatedTokenPda({ mint, owner, tokenProgram: TOKEN_2022_PROGRAM_ADDRESS })
  return [
    getTransferSolInstruction({ source: signer, destination: mint, amount: balance }),
    getAllocateWithSeedInstruction({
      newAccount: mint,
      baseAccount: signer,
      base: signer.address,
      seed: toMintSeed(id),
      space: size.allocated,
      programAddress: TOKEN_2022_PROGRAM_ADDRESS,
    }),
    getInitializeMetadataPointerInstruction({ mint, authority: null, metadataAddress: mint }),
    group === null
      ? getInitializeGroupPointerInstruction({ mint, authority: null, groupAddress: mint })
      : getInitializeGroupMemberPointerInstruction({ mint, authority: null, memberAddress: mint }),
    ...(spec.locked ? [getInitializeNonTransferableMintInstruction({ mint })] : []),
    ...(spec.burnable ? [getInitializePermanentDelegateInstruction({ mint, delegate: signer.address })] : []),
    getInitializeMint2Instruction({ mint, decimals: 0, mintAuthority: signer.address, freezeAuthority: null }),
    getInitializeTokenMetadataInstruction({
      metadata: mint,
      updateAuthority: signer.address,
      mint,
      mintAuthority: signer,
      name,
      symbol,
      uri,
    }),
    ...(spec.dynamic
      ? []
      : [
          getUpdateTokenMetadataUpdateAuthorityInstruction({
            metadata: mint,
            updateAuthority: signer,
            newUpdateAuthority: null,
          }),
        ]),
    group === null
      ? getInitializeTokenGroupInstruction({
          group: mint,
          updateAuthority: signer.address,
          mint,
          mintAuthority: signer,
          maxSize: spec.maxSize ?? NO_LIMIT,
        })
      : getInitializeTokenGroupMemberInstruction({
          member: mint,
          memberMint: mint,
          memberMintAuthority: signer,
          group,
          groupUpdateAuthority: signer,
        }),
    await getCreateAssociatedTokenIdempotentInstructionAsync({
      payer: signer,
      owner,
      mint,
      ata: token,
      tokenProgram: TOKEN_2022_PROGRAM_ADDRESS,
    }),
    getMintToInstruction({ mint, token, mintAuthority: signer, amount: 1n }),
    getSetAuthorityInstruction({
      owned: mint as Address,
      owner: signer,
      authorityType: AuthorityType.MintTokens,
      newAuthority: null,
    }),
  ]
}

/** Whether bytes are exactly one transaction to @solana/kit, which reads the same bytes in other encodings, too. */
export function isTransactionToSdk(bytes: Buffer): boolean {
  try {
    const transaction = getTransactionDecoder().decode(bytes)
    const message = getCompiledTransactionMessageDecoder().decode(transaction.messageBytes)
    const encoded = Buffer.from(getTransactionEncoder().encode(transaction))
    const encodedMessage = Buffer.from(getCompiledTransactionMessageEncoder().encode(message))
    return encoded.equals(bytes) && encodedMessage.equals(Buffer.from(transaction.messageBytes))
  } catch {
    return false
  }
}
