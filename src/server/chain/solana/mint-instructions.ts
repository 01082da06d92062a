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

/** As many members as the counter holds. */
const NO_LIMIT = 2n ** 64n - 1n

/** A token to be made: the group of a collection, or a member of one. */
export interface MintSpec {
  /** The id of the collection or NFT: its mint's address follows from it. */
  id: string
  /** The mint of the collection that an NFT belongs to; null for the collection itself. */
  group: string | null
  name: string
  symbol: string
  uri: string
  receiver: string
  /** Never transferable. */
  locked: boolean
}

/**
 * Everything that makes one token, in one transaction: all of it happens or nothing does. Afterwards there is one token
 * without decimals, nobody can mint another, and nobody can change its metadata.
 *
 * The account is made by transfer and allocation, not by creation: creation refuses an address that has a balance, and
 * anybody can send one to it.
 */
export async function mintInstructions(
  signerAddress: string,
  spec: MintSpec,
  minimumBalance: (bytes: number) => Promise<bigint>,
): Promise<Instruction[]> {
  const { id, name, symbol, uri } = spec
  // The message is signed whole, later: the instructions only say who has to.
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
