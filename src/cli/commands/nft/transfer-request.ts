import { evmAddressProblem, solanaAddressProblem } from '../../../api/address.ts'
import { type Blockchain, isBlockchain, isEvm } from '../../../api/blockchains.ts'
import { isEnsName } from '../../../api/ens-name.ts'
import type { NftRecord } from '../../../api/nft-record.ts'
import { hasFailed } from '../../../api/nft-status.ts'
import { isSameAddress } from '../../../api/same-address.ts'
import type { ApiClient } from '../../../client/api-client.ts'
import { readNft } from '../../../client/read-records.ts'
import type { Server } from '../../../config/server.ts'
import type { Settings } from '../../../config/settings.ts'
import { GdnError, type Place } from '../../../core/errors.ts'
import { unknownNftsError } from '../../../operations/unknown-nfts.ts'
import { knownCollections } from '../../connect/known-collections.ts'
import { serverFlag } from '../../connect/server-flag.ts'
import type { Connection, Deps } from '../../deps.ts'
import type { OutputFlags, ServerFlags, WaitFlags } from '../../flags/common.ts'
import type { EnsFlags } from '../../flags/ens.ts'
import { safe } from '../../io/io.ts'
import { parseRequest, readInput, toInputName } from '../../io/request-file.ts'
import { askAddress, askLine, promptIfMissing } from '../../prompt/ask-missing.ts'
import { isV12 } from '../../request/api-version.ts'
import { resolveEnsFields } from '../../request/ens-names.ts'
import { resolveNamesInFields } from '../../request/named-addresses.ts'
import type { OperationFlags } from '../../request/operate-once.ts'
import { knownBlockchain, missingNftError, neverMintedError, resolveBlockchain } from './blockchain-of.ts'

export interface TransferFlags extends OutputFlags, ServerFlags, WaitFlags, OperationFlags, EnsFlags {
  receiver?: string
  sender?: string
  tokenId?: string
  contract?: string
  blockchain?: Blockchain
  nftGdnId?: string
  file?: string
  dryRun?: boolean
  yes?: boolean
}

/** A transfer as the user specified it. Missing fields are looked up later. */
export interface TransferInput {
  nftGdnId: string
  /** An address, or an ENS name until `resolveTransfer` replaces it. */
  receiver: string
  /** Request fields from flags or a file. */
  fields: Record<string, unknown>
  /** The token fields that flags set. They take precedence over the file. */
  fromFlags: readonly ('contract_address' | 'token_id')[]
  file: string | null
}

/** Merges the argument, the flags and the file. The argument and the flags take precedence. Sends no request. */
export async function readTransfer(deps: Deps, id: string | undefined, flags: TransferFlags): Promise<TransferInput> {
  const { io } = deps
  const file = flags.file === undefined ? null : toInputName(flags.file)
  const { tokenid, ...fromFile } =
    flags.file === undefined || file === null
      ? {}
      : await resolveNamesInFields(parseRequest(await readInput(deps.io, flags.file), file), file, deps.addresses)
  const flagFields = {
    contract_address: flags.contract,
    blockchain: flags.blockchain,
    token_id: flags.tokenId ?? fromFile.token_id ?? tokenid,
    nft_gdn_id: await promptIfMissing<unknown>(io, id ?? flags.nftGdnId ?? fromFile.nft_gdn_id, () =>
      askLine(io, { message: 'NFT to transfer (its nft_gdn_id)', flag: '<nft_gdn_id>' }),
    ),
    sender_wallet_address: flags.sender,
    receiver_wallet_address: await promptIfMissing<unknown>(
      io,
      flags.receiver ?? fromFile.receiver_wallet_address,
      () =>
        askAddress(io, {
          message: 'New owner',
          flag: '--receiver',
          blockchain: 'polygon',
          addresses: deps.addresses,
        }),
    ),
  }
  // The receiver name in the file doesn't apply to a receiver from a flag.
  const { receiver_name, ...withoutName } = fromFile
  const fields = {
    ...(flags.receiver === undefined ? fromFile : withoutName),
    ...Object.fromEntries(Object.entries(flagFields).filter(([, value]) => value !== undefined)),
  }
  const placeOf = (flag: string, field: string): Place => (file === null ? { flag } : { file, field })
  const { nft_gdn_id: nftGdnId, receiver_wallet_address: receiver, blockchain } = fields
  if (typeof nftGdnId !== 'string' || nftGdnId === '') {
    throw missingNftError('gdn nft transfer <nft_gdn_id> --receiver <address>')
  }
  if (typeof blockchain === 'string') refuseWithoutTransfer(blockchain)
  const problem =
    receiver === undefined
      ? 'is required'
      : typeof receiver === 'string'
        ? isEnsName(receiver)
          ? null
          : receiverProblem(receiver)
        : 'must be an address in a string'
  if (problem !== null || typeof receiver !== 'string') {
    const place = placeOf('--receiver', 'receiver_wallet_address')
    const value = file === null && typeof receiver === 'string' && receiver.length <= 60 ? `"${receiver}" ` : ''
    throw new GdnError('invalid_input', `${value}${problem ?? ''}`, { place })
  }
  const fromFlags = [
    ...(flags.contract === undefined ? [] : ['contract_address' as const]),
    ...(flags.tokenId === undefined ? [] : ['token_id' as const]),
  ]
  return { nftGdnId, receiver, fields, fromFlags, file }
}

/**
 * Replaces the ENS names of a transfer with addresses on the NFT's blockchain. Unless the transfer specifies the
 * blockchain, looks it up on the server.
 */
export async function resolveTransfer(
  deps: Deps,
  connection: Pick<Connection, 'client' | 'server' | 'settings'>,
  flags: TransferFlags,
  transfer: TransferInput,
): Promise<TransferInput> {
  const { receiver_wallet_address, sender_wallet_address } = transfer.fields
  const addressFields = { receiver_wallet_address, sender_wallet_address }
  if (!Object.values(addressFields).some(isEnsName)) return transfer
  const { settings } = connection
  const blockchain =
    transfer.fields.blockchain ?? (await findTransferBlockchain(deps, connection, transfer)) ?? undefined
  const addresses = await resolveEnsFields(deps, { settings, flags, blockchain }, addressFields, (field) => {
    const flag = field === 'receiver_wallet_address' ? ('receiver' as const) : ('sender' as const)
    return transfer.file === null || flags[flag] !== undefined ? { flag: `--${flag}` } : { file: transfer.file, field }
  })
  const resolved = Object.entries(addresses).filter(([, value]) => value !== undefined)
  const receiver = String(addresses.receiver_wallet_address)
  return { ...transfer, receiver, fields: { ...transfer.fields, ...Object.fromEntries(resolved) } }
}

/** Returns the reason why a receiver is invalid, or null. The API transfers NFTs only on EVM blockchains. */
function receiverProblem(receiver: string): string | null {
  if (solanaAddressProblem(receiver) !== null) return evmAddressProblem(receiver)
  return 'is a Solana address, but the API does not transfer NFTs on Solana'
}

/** Thrown instead of completing a request if the receiver already owns the NFT. */
export class AlreadyOwnedError extends Error {
  readonly nft: NftRecord

  constructor(nft: NftRecord) {
    super('the receiver already owns the NFT')
    this.nft = nft
  }
}

/**
 * Returns the complete request. Looks up missing fields on the server, but not the blockchain for v1.2, which doesn't
 * need it.
 *
 * @throws AlreadyOwnedError if the sender is looked up and is the receiver
 */
export async function completeTransfer(
  deps: Deps,
  { client, server, settings }: { client: Pick<ApiClient, 'call'>; server: Server; settings: Settings },
  transfer: TransferInput,
): Promise<Record<string, unknown>> {
  const { nftGdnId, receiver, fields } = transfer
  const needed = ['contract_address', 'token_id', 'sender_wallet_address', ...(isV12(settings) ? [] : ['blockchain'])]
  if (needed.every((name) => name in fields)) return fields
  const nft = await readNft({ client, signal: deps.signals.signal }, nftGdnId)
  if (nft === undefined) throw unknownNftsError([nftGdnId], { takesTokens: true })
  refuseUndeployed(nft, server)
  refuseOtherToken(nft, transfer)
  const owner = nft.receiver_wallet_address
  if (fields.sender_wallet_address === undefined && owner && isSameAddress(owner, receiver)) {
    throw new AlreadyOwnedError(nft)
  }
  const contract = typeof fields.contract_address === 'string' ? fields.contract_address : (nft.contract_address ?? '')
  const complete = {
    ...(contract === '' ? {} : { contract_address: contract }),
    token_id: nft.token_id,
    ...(owner ? { sender_wallet_address: owner } : {}),
    ...fields,
  }
  if ('blockchain' in fields || isV12(settings)) return complete
  const blockchain = await resolveBlockchain(deps, { ...nft, contract_address: contract }, { settings, server })
  refuseWithoutTransfer(blockchain)
  return { ...complete, blockchain }
}

/**
 * Returns the blockchain of an NFT from its record on the server; null if unknown. Also returns null if the request
 * specifies a different blockchain or collection from the record, because a server may use either one.
 */
export async function findTransferBlockchain(
  deps: Deps,
  { client, ...place }: Pick<Connection, 'client' | 'server' | 'settings'>,
  { nftGdnId, fields }: TransferInput,
): Promise<Blockchain | null> {
  const nft = await readNft({ client, signal: deps.signals.signal }, nftGdnId)
  if (nft === undefined) throw unknownNftsError([nftGdnId], { takesTokens: true })
  const blockchainOfNft = knownBlockchain(nft, await knownCollections(deps, place))
  const { blockchain = blockchainOfNft, contract_address = nft.contract_address } = fields
  const isSame = blockchain === blockchainOfNft && isSameAddress(String(contract_address), nft.contract_address ?? '')
  return isSame ? blockchainOfNft : null
}

/**
 * Rejects a contract or token ID that differs from the NFT's, before anything is sent.
 *
 * @throws GdnError `invalid_input`
 */
function refuseOtherToken(nft: NftRecord, { nftGdnId, fields, fromFlags, file }: TransferInput): void {
  const { contract_address, token_id } = fields
  const isOther =
    typeof contract_address === 'string' &&
    nft.contract_address != null &&
    !isSameAddress(contract_address, nft.contract_address)
  const field = isOther
    ? 'contract_address'
    : typeof token_id === 'string' && nft.token_id != null && token_id !== nft.token_id
      ? 'token_id'
      : null
  if (field === null) return
  const flag = field === 'token_id' ? '--token-id' : '--contract'
  const place: Place = file === null || fromFlags.includes(field) ? { flag } : { file, field }
  const is = `${nftGdnId} is token ${nft.token_id} of ${nft.contract_address}`
  throw new GdnError('invalid_input', is, {
    place,
    hint: 'Nothing was sent. Correct the token ID and the contract, or omit both.',
  })
}

function refuseUndeployed(nft: NftRecord, server: Server): void {
  const { nft_gdn_id, status, token_id, burned } = nft
  if (hasFailed(status)) throw neverMintedError(nft)
  if (burned === true) throw new GdnError('refused', `${nft_gdn_id} is burned, so it can't be transferred`)
  if (status === 'deployed' && token_id) return
  throw new GdnError('pending', `${nft_gdn_id} is not deployed yet, so it can't be transferred`, {
    hint: `Run \`gdn nft wait ${safe(nft_gdn_id)}${serverFlag(server)}\` first.`,
  })
}

/**
 * Rejects blockchains without transfers (API reference v1.1, Blockchain identifiers). `checkRequest` rejects unknown
 * blockchains.
 */
function refuseWithoutTransfer(name: string): void {
  if (!isBlockchain(name) || isEvm(name)) return
  throw new GdnError('usage', `the API does not transfer NFTs on ${name}`, {
    place: { flag: '--blockchain' },
    hint: 'Transfer the NFT with the wallet of its owner.',
  })
}
