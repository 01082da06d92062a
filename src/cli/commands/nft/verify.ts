import { addressProblem } from '../../../api/address.ts'
import { type Blockchain, isEvm } from '../../../api/blockchains.ts'
import type { NftRecord } from '../../../api/nft-record.ts'
import type { Server } from '../../../config/server.ts'
import { GdnError } from '../../../core/errors.ts'
import type { RequestedMetadata } from '../../../nft/compare-metadata.ts'
import { type Verification, verifyNfts } from '../../../nft/verify.ts'
import { GdnCommand, switchFlag, valueFlag } from '../../command.ts'
import { addReaderFlags, openVerifier, type ReaderFlags } from '../../connect/open-verifier.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import type { Connection, Deps } from '../../deps.ts'
import { addOutputFlags, addServerFlags, type OutputFlags, type ServerFlags } from '../../flags/common.ts'
import { address, blockchainName, notEmpty } from '../../flags/parse.ts'
import { safe } from '../../io/io.ts'
import { createOutput } from '../../render/output.ts'
import { verifyText } from '../../render/verify-text.ts'
import type { View } from '../../render/view.ts'
import { fetchNfts } from '../../request/fetch-nfts.ts'
import { blockchainOf } from './blockchain-of.ts'
import { unknownNfts } from './show.ts'

export interface VerifyNftFlags extends OutputFlags, ServerFlags, ReaderFlags {
  receiver?: string
  blockchain?: Blockchain
  nftGdnId?: string
  onChain?: boolean
}

const FIELDS = [
  'nft_gdn_id',
  'isgdnnft',
  'token_id',
  'status',
  'contract_address',
  'receiver_wallet_address',
  'blockchain',
]

const VIEW: View = { fields: FIELDS, columns: FIELDS, id: 'nft_gdn_id' }

/** With what chain and storage say: `verified` is null where they can't be read. */
const ON_CHAIN_VIEW: View = { ...VIEW, fields: [...FIELDS, 'verified', 'verify_error', 'differences'] }

export function command(deps: Deps, run = verify): GdnCommand {
  const verifyCommand = new GdnCommand({
    about:
      "Asks the service whether it made the NFT for this owner; exit code 5 if not. Owner and blockchain are looked up where no flag gives them. With --on-chain, owner, token URI and metadata are read from chain and storage themselves and compared with what the service tells: 5 too where they differ, 6 where they can't be read.",
    examples: [
      ['Did the service make it?', 'gdn nft verify 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d'],
      [
        'For an owner that you have the word of',
        'gdn nft verify 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d \\',
        '  --owner @alice -b polygon',
      ],
      ['By the chain itself', 'gdn nft verify 0197a1f2-6f0e-7c3b-9a51-2f6f0a1b2c3d --on-chain'],
    ],
    aliases: {
      '--owner': '--receiver',
      '--receiver-wallet-address': '--receiver',
      '--nft-gdn-ids': '--nft-gdn-id',
    },
  })
  verifyCommand.argument('[nft_gdn_id]')
  valueFlag(verifyCommand, '--receiver <address>', 'Its owner; --owner means the same', { parse: address })
  valueFlag(verifyCommand, '-b, --blockchain <name>', 'Its blockchain', { parse: blockchainName })
  valueFlag(verifyCommand, '--nft-gdn-id <id>', 'Same as the argument', { parse: notEmpty, hidden: true })
  switchFlag(verifyCommand, '--on-chain', 'Read owner, token URI and metadata from chain and storage too', 'Verifying')
  addReaderFlags(verifyCommand)
  addServerFlags(verifyCommand)
  addOutputFlags(verifyCommand)
  return verifyCommand.action(async (id: string | undefined, flags: VerifyNftFlags) => {
    await run(deps, id, flags)
  }) as GdnCommand
}

export async function verify(deps: Deps, id: string | undefined, flags: VerifyNftFlags): Promise<void> {
  const output = createOutput(deps.io, flags, flags.onChain ? ON_CHAIN_VIEW : VIEW)
  const nftGdnId = oneId(id, flags)
  refuseMisused(flags)
  const connection = await deps.connect(await deps.settings(flags))
  const { record, owner, blockchain } = await complete(deps, connection, nftGdnId, flags)
  const { response } = await connection.client.call(
    'getisgdnnft',
    { receiver_wallet_address: owner, blockchain, nft_gdn_ids: [nftGdnId] },
    { signal: deps.signals.signal },
  )
  const shown = response.nft ?? record
  const data = {
    nft_gdn_id: nftGdnId,
    isgdnnft: response.isgdnnft,
    token_id: shown?.token_id ?? null,
    status: shown?.status ?? null,
    contract_address: shown?.contract_address ?? null,
    receiver_wallet_address: shown?.receiver_wallet_address ?? owner,
    blockchain,
  }
  if (!response.isgdnnft) {
    await output.one(data)
    throw new GdnError(
      'verify_failed',
      `the service says that ${nftGdnId} of ${owner} on ${blockchain} is not its own`,
      {
        hint: `check owner and blockchain: gdn nft show ${safe(nftGdnId)}${serverFlag(connection.server)}`,
        details: { nft_gdn_id: nftGdnId, receiver_wallet_address: owner, blockchain, isgdnnft: false },
      },
    )
  }
  if (!flags.onChain || record === null) return await output.one(data)
  const verification = await readChain(deps, flags, { record, owner, blockchain, server: connection.server })
  await output.one({ ...data, ...verificationData(verification) })
  throwUnlessVerified(nftGdnId, verification)
}

function oneId(id: string | undefined, { nftGdnId }: VerifyNftFlags): string {
  if (id !== undefined && nftGdnId !== undefined && id !== nftGdnId) {
    throw new GdnError('usage', 'two NFTs are named', { place: { flag: '--nft-gdn-id' }, hint: 'name one' })
  }
  const named = id ?? nftGdnId ?? ''
  if (named !== '') return named
  throw new GdnError('usage', 'no NFT is named', { hint: 'gdn nft verify <nft_gdn_id>' })
}

/** What needs no server to be told. */
function refuseMisused({ receiver, blockchain, onChain, rpcUrl, gateway }: VerifyNftFlags): void {
  const problem = receiver === undefined || blockchain === undefined ? null : addressProblem(receiver, blockchain)
  if (problem !== null) throw new GdnError('usage', `"${receiver}" ${problem}`, { place: { flag: '--receiver' } })
  if (blockchain !== undefined && onChain) refuseUnreadable(blockchain)
  const idle = rpcUrl !== undefined ? '--rpc-url' : gateway !== undefined ? '--gateway' : null
  if (onChain || idle === null) return
  throw new GdnError('usage', 'is only used with --on-chain', { place: { flag: idle }, hint: 'add --on-chain' })
}

function refuseUnreadable(blockchain: Blockchain): void {
  if (isEvm(blockchain)) return
  throw new GdnError('usage', `${blockchain} can't be read by gdn yet`, {
    place: { flag: '--on-chain' },
    hint: 'leave --on-chain out, and look into a block explorer',
  })
}

interface Complete {
  /** Null where everything was given, so that it wasn't asked for. */
  record: NftRecord | null
  owner: string
  blockchain: Blockchain
}

/** Owner and blockchain, as given or as they are found. */
async function complete(
  deps: Deps,
  { client, server, settings }: Connection,
  id: string,
  flags: VerifyNftFlags,
): Promise<Complete> {
  if (flags.receiver !== undefined && flags.blockchain !== undefined && !flags.onChain) {
    return { record: null, owner: flags.receiver, blockchain: flags.blockchain }
  }
  const [record] = await fetchNfts(deps, client, [id])
  if (record === undefined) throw unknownNfts([id])
  const owner = flags.receiver ?? record.receiver_wallet_address ?? ''
  if (owner === '') {
    throw new GdnError('pending', `the owner of ${id} isn't told yet: it is ${record.status}`, {
      hint: `wait for it (gdn nft wait ${safe(id)}${serverFlag(server)}), or name the owner with --owner`,
    })
  }
  const blockchain = flags.blockchain ?? (await blockchainOf(deps, record, { settings, server }))
  if (flags.onChain) refuseUnreadable(blockchain)
  return { record, owner, blockchain }
}

interface Asked {
  record: NftRecord
  owner: string
  blockchain: Blockchain
  server: Server
}

async function readChain(
  deps: Deps,
  flags: VerifyNftFlags,
  { record, owner, blockchain, server }: Asked,
): Promise<Verification> {
  const { token_id, contract_address, status, metadata_url, request_metadata } = record
  if (!token_id || !contract_address) {
    throw new GdnError('pending', `${record.nft_gdn_id} has no token on the chain yet: it is ${status}`, {
      hint: `wait for it: gdn nft wait ${safe(record.nft_gdn_id)}${serverFlag(server)}`,
    })
  }
  const { verifier, close } = await openVerifier(deps, flags, blockchain, server)
  const progress = await deps.io.progress('Reading chain and storage')
  try {
    if ('reason' in verifier) return { verified: null, reason: verifier.reason }
    const claim = {
      contractAddress: contract_address,
      tokenId: token_id,
      owner,
      metadataUrl: metadata_url ?? null,
      requested: asRequested(request_metadata),
    }
    const [found] = await verifyNfts(verifier.chain, verifier.storage, [claim])
    return found ?? { verified: null, reason: 'no answer' }
  } finally {
    progress.stop()
    await close()
  }
}

/** The metadata of the request, where the server tells them as they are sent. */
function asRequested(metadata: unknown): RequestedMetadata | null {
  if (metadata === null || typeof metadata !== 'object') return null
  const { title, description, file_fields } = metadata as Partial<RequestedMetadata>
  const isWhole = typeof title === 'string' && typeof description === 'string' && Array.isArray(file_fields)
  return isWhole ? (metadata as RequestedMetadata) : null
}

const verificationData = (verification: Verification) => ({
  verified: verification.verified,
  verify_error: verifyText(verification),
  differences: verification.verified === false ? verification.differences : [],
})

function throwUnlessVerified(id: string, verification: Verification): void {
  if (verification.verified === true) return
  if (verification.verified === null) {
    throw new GdnError('unreachable', `${id} is not verified: ${verification.reason}`, {
      hint: 'the service says that it made it; the chain has not been heard',
    })
  }
  throw new GdnError('verify_failed', `${id} is not as the service tells: ${verifyText(verification)}`, {
    hint: 'an owner differs where an NFT was passed on since; anything else should not be',
    details: { nft_gdn_id: id, differences: verification.differences },
  })
}
