import { addressProblem, anyAddressProblem } from '../../../api/address.ts'
import { type Blockchain, isEvm } from '../../../api/blockchains.ts'
import { isEnsName } from '../../../api/ens-name.ts'
import type { NftRecord } from '../../../api/nft-record.ts'
import { isSameAddress } from '../../../api/same-address.ts'
import { readNft } from '../../../client/read-records.ts'
import type { Server } from '../../../config/server.ts'
import { flagError, GdnError } from '../../../core/errors.ts'
import { unknownNftsError } from '../../../operations/unknown-nfts.ts'
import type { Provenance } from '../../../reveal/verify-provenance.ts'
import { parseRequested } from '../../../verify/compare-metadata.ts'
import { type Verification, verifyNfts } from '../../../verify/verify.ts'
import { readCommitments } from '../../batch/reveal/shuffled-drop.ts'
import { GdnCommand, wrongAddressError } from '../../command.ts'
import { ifReadable } from '../../connect/if-readable.ts'
import { addBeaconFlags } from '../../connect/open-beacon.ts'
import { addReaderFlags, openVerifier } from '../../connect/open-verifier.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import type { Connection, Deps } from '../../deps.ts'
import { addOutputFlags, addressOrName, addServerFlags, blockchainName, notEmpty } from '../../flags/common.ts'
import { addEnsFlags } from '../../flags/ens.ts'
import { safe } from '../../io/io.ts'
import { createOutput } from '../../render/output.ts'
import { missingNftError, multipleNftsError, resolveBlockchain } from './blockchain-of.ts'
import { addTokenContractFlag, parseTokenReference, resolveTokenArguments } from './token-reference.ts'
import {
  FILES_NOT_READ_NOTE,
  ON_CHAIN_VIEW,
  provenanceData,
  provenanceText,
  resolveOwner,
  throwUnlessVerified,
  VERIFY_VIEW,
  type VerifyNftFlags,
  verificationData,
} from './verification.ts'
import { checkProvenance, toProofResult } from './verify-token.ts'

export function command(deps: Deps, run = verify): GdnCommand {
  return new GdnCommand({
    about:
      "The command checks that the server created the NFT, and that the expected owner holds it. The expected owner is the address in --receiver, or by default the owner in the server's record. The exit code is 5 if the server doesn't confirm both. gdn finds the blockchain of the NFT unless a flag sets it. With --on-chain, the command also reads the owner, token URI and metadata from the chain and the storage, and compares them with the server's record. The exit code is 5 if they differ, and 6 if they can't be read. For an NFT that was minted unrevealed, --on-chain also proves that the metadata matches the commitment made before the mint. If the drop was shuffled, the flag also proves that a round of drand drew the row. If you pass <contract>/<token ID>, or a token ID and --contract, instead of the ID, the command makes only these proofs, even without --on-chain. If there is no commitment, the command checks that the metadata matches the CID in the token URI, on EVM networks only. The exit code is 5 if the metadata differs, or if the token URI doesn't identify its content, for example because it is a web address. With <contract>/<token ID>, the command reads the token through --rpc-url and --gateway, or from the server that --base-url, --profile or --local selects. In this case, the command needs no API key.",
    examples: [
      ['Check that the server created an NFT', 'gdn nft verify 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
      [
        'Check that an NFT has the expected owner',
        'gdn nft verify 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d \\',
        '  --receiver @alice -b polygon',
      ],
      [
        'Compare the record of an NFT with the chain and the storage',
        'gdn nft verify 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --on-chain',
      ],
      [
        'Verify the metadata of a token of any contract, without an API key',
        'gdn nft verify 0xaab8d63F581412d5a7Bc255261a9c0a5f32c0811/1 \\',
        '  -b polygon --rpc-url https://node.example --gateway https://ipfs.io',
      ],
    ],
    aliases: {
      '--owner': '--receiver',
      '--receiver-wallet-address': '--receiver',
      '--nft-gdn-ids': '--nft-gdn-id',
    },
  })
    .argument('[nft_gdn_id]')
    .valueFlag('--receiver <address>', 'Expected owner of the NFT', addressOrName)
    .with(addTokenContractFlag)
    .valueFlag('-b, --blockchain <name>', 'Blockchain of the NFT', blockchainName)
    .valueFlag('--nft-gdn-id <id>', 'Same as the argument', { parse: notEmpty, hidden: true })
    .switchFlag('--on-chain', 'Also compare owner, token URI and metadata with the chain and the storage', 'Verifying')
    .with(addEnsFlags, addReaderFlags, (own) => addBeaconFlags(own, 'Verifying'), addServerFlags, addOutputFlags)
    .action(async (id: string | undefined, flags: VerifyNftFlags) => await run(deps, id, flags))
}

export async function verify(deps: Deps, id: string | undefined, flags: VerifyNftFlags): Promise<void> {
  const [nftGdnId = ''] = await resolveTokenArguments(deps, [oneId(id, flags)], flags)
  const token = await parseTokenReference(nftGdnId)
  refuseMisused(token === null ? flags : { ...flags, onChain: true })
  if (token !== null) return await (await import('./token/prove-token.ts')).proveToken(deps, flags, token)
  const output = createOutput(deps.io, flags, flags.onChain ? ON_CHAIN_VIEW : VERIFY_VIEW)
  const connection = await deps.connect(await deps.settings(flags))
  const { client } = connection
  const { signal } = deps.signals
  const { record, owner, blockchain } = await resolveTarget(deps, connection, nftGdnId, flags)
  const responseFor = async (receiver_wallet_address: string) => {
    const request = { receiver_wallet_address, blockchain, nft_gdn_ids: [nftGdnId] }
    return (await client.call('getisgdnnft', request, { signal })).response
  }
  const response = await responseFor(owner)
  // Without this record, the error couldn't distinguish a former owner's NFT from one that the server didn't create.
  const nftRecord = record ?? (response.isgdnnft ? null : await ifReadable(deps, readNft({ client, signal }, nftGdnId)))
  const shownNft = response.nft ?? nftRecord
  const current = nftRecord?.receiver_wallet_address
  // The server confirms an NFT only if the request names the current owner.
  const ofCurrent =
    response.isgdnnft || !current || isSameAddress(current, owner) ? null : await ifReadable(deps, responseFor(current))
  const isgdnnft = (ofCurrent ?? response).isgdnnft
  const data = {
    nft_gdn_id: nftGdnId,
    isgdnnft,
    token_id: shownNft?.token_id ?? null,
    status: shownNft?.status ?? null,
    contract_address: shownNft?.contract_address ?? null,
    receiver_wallet_address: shownNft?.receiver_wallet_address ?? owner,
    blockchain,
  }
  if (!response.isgdnnft) {
    await output.one(data)
    throw notConfirmedError(nftGdnId, owner, blockchain, { current, isgdnnft, server: connection.server })
  }
  if (!flags.onChain || record === null) {
    await output.one(data)
    return deps.io.note(isEvm(blockchain) ? ONLY_SERVER_ASKED_NOTE : 'The chain and the files were not read.')
  }
  const { verification, provenance, broken } = await readChain(deps, flags, {
    record,
    owner,
    blockchain,
    server: connection.server,
  })
  await output.one({ ...data, ...verificationData(verification), provenance: provenanceData(provenance) })
  const history = `gdn nft history ${safe(nftGdnId)}${serverFlag(connection.server)}`
  throwUnlessVerified(nftGdnId, verification, { broken, history })
  if (provenance !== null) deps.io.note(provenanceText(provenance, record.token_id ?? ''))
  else await noteNotShuffled(deps, connection, record)
  deps.io.note(FILES_NOT_READ_NOTE)
}

async function noteNotShuffled(deps: Deps, connection: Connection, { contract_address }: NftRecord): Promise<void> {
  const commitments = contract_address ? await readCommitments(deps, connection, contract_address) : []
  if (commitments.some(({ shuffle_margin }) => typeof shuffle_margin === 'number')) deps.io.note(NOT_SHUFFLED_NOTE)
}

const ONLY_SERVER_ASKED_NOTE =
  'The server confirms the NFT and its owner. The chain, the metadata and the files were not read. To compare the NFT with the chain and the storage, add --on-chain.'

const NOT_SHUFFLED_NOTE =
  "The collection has a shuffled drop, but this NFT is not part of one, so gdn can't prove how its metadata was chosen."

/**
 * Returns the error for an NFT that the server doesn't confirm. The response doesn't contain a reason. The error says
 * that another account is the owner only if the server returned the current owner.
 */
function notConfirmedError(
  id: string,
  owner: string,
  blockchain: Blockchain,
  { current, isgdnnft, server }: { current: string | null | undefined; isgdnnft: boolean; server: Server },
): GdnError {
  const knownOwner = current && !isSameAddress(current, owner) ? current : null
  const show = `gdn nft show ${safe(id)}${serverFlag(server)}`
  return new GdnError(
    'verify_failed',
    `the server doesn't confirm that ${owner} owns ${id} on ${blockchain}${knownOwner === null ? '' : `: the owner is ${knownOwner}`}`,
    {
      hint:
        knownOwner === null
          ? `The server didn't create the NFT, or its owner or blockchain differs. Run \`${show}\` to check.`
          : `Run \`gdn nft history ${safe(id)}${serverFlag(server)}\` to show its transfers.`,
      details: {
        nft_gdn_id: id,
        receiver_wallet_address: owner,
        blockchain,
        isgdnnft,
        current_owner: current ?? null,
      },
    },
  )
}

function oneId(id: string | undefined, { nftGdnId }: VerifyNftFlags): string {
  if (id !== undefined && nftGdnId !== undefined && id !== nftGdnId) {
    throw multipleNftsError()
  }
  const specifiedId = id ?? nftGdnId ?? ''
  if (specifiedId !== '') return specifiedId
  throw missingNftError('gdn nft verify <nft_gdn_id>')
}

/** Rejects invalid flags before the first request. */
function refuseMisused({ receiver, blockchain, onChain, rpcUrl, gateway }: VerifyNftFlags): void {
  if (receiver !== undefined && !isEnsName(receiver)) {
    const problem = blockchain === undefined ? anyAddressProblem(receiver) : addressProblem(receiver, blockchain)
    if (problem !== null) throw wrongAddressError(receiver, problem, '--receiver')
  }
  if (blockchain !== undefined && onChain) requireReadableBlockchain(blockchain)
  const idle = rpcUrl !== undefined ? '--rpc-url' : gateway !== undefined ? '--gateway' : null
  if (onChain || idle === null) return
  throw flagError(idle, 'requires --on-chain', 'Add --on-chain.')
}

function requireReadableBlockchain(blockchain: Blockchain): void {
  if (isEvm(blockchain)) return
  throw new GdnError('usage', `gdn can't read data from ${blockchain} yet`, {
    place: { flag: '--on-chain' },
    hint: 'Omit --on-chain, and look up the NFT in a block explorer.',
  })
}

interface VerifyTarget {
  /** The NFT's record; null if the flags specify everything, so that the record isn't needed. */
  record: NftRecord | null
  owner: string
  blockchain: Blockchain
}

/** Returns the owner and the blockchain, from the flags or else from the server. */
async function resolveTarget(
  deps: Deps,
  { client, server, settings }: Connection,
  id: string,
  flags: VerifyNftFlags,
): Promise<VerifyTarget> {
  if (flags.receiver !== undefined && flags.blockchain !== undefined && !flags.onChain) {
    const owner = await resolveOwner(deps, settings, flags, flags.receiver, flags.blockchain)
    return { record: null, owner, blockchain: flags.blockchain }
  }
  const record = await readNft({ client, signal: deps.signals.signal }, id)
  if (record === undefined) throw unknownNftsError([id], { takesTokens: true })
  if (record.burned === true && flags.receiver === undefined) {
    throw new GdnError('verify_failed', `${id} is burned: it has no owner`, {
      hint: `Run \`gdn nft history ${safe(id)}${serverFlag(server)}\` to show its history.`,
    })
  }
  const expectedOwner = flags.receiver ?? record.receiver_wallet_address ?? ''
  if (expectedOwner === '') {
    throw new GdnError('pending', `the owner of ${id} is not known yet: the NFT is ${record.status}`, {
      hint: `Run \`gdn nft wait ${safe(id)}${serverFlag(server)}\`, or specify the owner with --receiver.`,
    })
  }
  const blockchain = flags.blockchain ?? (await resolveBlockchain(deps, record, { settings, server }))
  if (flags.onChain) requireReadableBlockchain(blockchain)
  return { record, owner: await resolveOwner(deps, settings, flags, expectedOwner, blockchain), blockchain }
}

interface NftToVerify {
  record: NftRecord
  owner: string
  blockchain: Blockchain
  server: Server
}

async function readChain(
  deps: Deps,
  flags: VerifyNftFlags,
  { record, owner, blockchain, server }: NftToVerify,
): Promise<{ verification: Verification; provenance: Provenance | null; broken?: { hint: string | undefined } }> {
  const { token_id, contract_address, status, metadata_url, request_metadata } = record
  if (!token_id || !contract_address) {
    throw new GdnError('pending', `${record.nft_gdn_id} has no token on the chain yet: its status is ${status}`, {
      hint: `Run \`gdn nft wait ${safe(record.nft_gdn_id)}${serverFlag(server)}\` first.`,
    })
  }
  const { verifier, close } = await openVerifier(deps, flags, blockchain, server)
  const progress = await deps.io.progress('Reading the chain and the storage')
  try {
    if ('reason' in verifier) return { verification: { verified: null, reason: verifier.reason }, provenance: null }
    const claim = {
      contractAddress: contract_address,
      tokenId: token_id,
      owner,
      metadataUrl: metadata_url ?? null,
      requested: parseRequested(request_metadata),
    }
    const [verified] = await verifyNfts(verifier.chain, verifier.storage, [claim])
    const verification = verified ?? { verified: null, reason: 'no response' }
    if (verification.verified !== true) return { verification, provenance: null }
    const token = { contractAddress: contract_address, tokenId: token_id }
    const check = await checkProvenance(deps, flags, verifier, token)
    if (check.kind === 'none') return { verification, provenance: null }
    const { hint, ...result } = toProofResult(check)
    return result.verification.verified === false ? { ...result, broken: { hint } } : result
  } finally {
    progress.stop()
    await close()
  }
}
