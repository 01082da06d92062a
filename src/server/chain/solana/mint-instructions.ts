import { type Address, address, createNoopSigner, type Instruction } from '@solana/kit'
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
  getInitializeTokenGroupInstruction,
  getInitializeTokenGroupMemberInstruction,
  getInitializeTokenMetadataInstruction,
  getMintToInstruction,
  getSetAuthorityInstruction,
  getUpdateTokenMetadataUpdateAuthorityInstruction,
  TOKEN_2022_PROGRAM_ADDRESS,
} from '@solana-program/token-2022'
import { mintAddress, seedOf } from './mint-address.ts'
import { mintSize } from './mint-size.ts'

/** Maximum number of members that the counter can represent. */
const NO_LIMIT = 2n ** 64n - 1n

/** A token to mint: the group of a collection, or a member of one. */
export interface MintSpec {
  /** The ID of the collection or NFT, from which the mint's address is derived. */
  id: string
  /** The mint of the collection that an NFT belongs to; null for the collection itself. */
  group: string | null
  name: string
  symbol: string
  uri: string
  receiver: string
  /** Whether the token is non-transferable. */
  locked: boolean
}

/**
 * Returns all instructions that create one token in one atomic transaction. Afterwards there is one token without
 * decimals, and nobody can mint another or change its metadata.
 *
 * The account is funded by a transfer and then allocated, instead of created. Creation fails for an address with a
 * balance, and anybody can send one to it.
 */
export async function mintInstructions(
  signerAddress: string,
  spec: MintSpec,
  minimumBalance: (bytes: number) => Promise<bigint>,
): Promise<Instruction[]> {
  const { id, name, symbol, uri } = spec
  // The whole message is signed later: the instructions only name the required signers.
  const signer = createNoopSigner(address(signerAddress))
  const mint = address(mintAddress(signerAddress, id))
  const owner = address(spec.receiver)
  const group = spec.group === null ? null : address(spec.group)
  const size = mintSize({ ...spec, kind: group === null ? 'group' : 'member' })
  const [token] = await findAssociatedTokenPda({ mint, owner, tokenProgram: TOKEN_2022_PROGRAM_ADDRESS })
  return [
    getTransferSolInstruction({ source: signer, destination: mint, amount: await minimumBalance(size.final) }),
    getAllocateWithSeedInstruction({
      newAccount: mint,
      baseAccount: signer,
      base: signer.address,
      seed: seedOf(id),
      space: size.allocated,
      programAddress: TOKEN_2022_PROGRAM_ADDRESS,
    }),
    getInitializeMetadataPointerInstruction({ mint, authority: null, metadataAddress: mint }),
    group === null
      ? getInitializeGroupPointerInstruction({ mint, authority: null, groupAddress: mint })
      : getInitializeGroupMemberPointerInstruction({ mint, authority: null, memberAddress: mint }),
    ...(spec.locked ? [getInitializeNonTransferableMintInstruction({ mint })] : []),
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
    getUpdateTokenMetadataUpdateAuthorityInstruction({
      metadata: mint,
      updateAuthority: signer,
      newUpdateAuthority: null,
    }),
    group === null
      ? getInitializeTokenGroupInstruction({
          group: mint,
          updateAuthority: signer.address,
          mint,
          mintAuthority: signer,
          maxSize: NO_LIMIT,
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
