import { addressProblem } from '../../../api/address.ts'
import { type Blockchain, isBlockchain, isEvm } from '../../../api/blockchains.ts'
import { isEnsName } from '../../../api/ens-name.ts'
import { listSome } from '../../../core/list-some.ts'
import { formatServerFlags } from '../../batch/options/format-flags.ts'
import { wrongAddressError } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import type { ServerFlags } from '../../flags/common.ts'
import { safe } from '../../io/io.ts'
import { askAddress, askBlockchain, askLine, askYesNo, mayPrompt } from '../../prompt/ask-missing.ts'

/** The request fields that gdn prompts for, and `is_locked`, which makes one of these prompts unnecessary. */
interface CollectionFields {
  name: unknown
  blockchain: unknown
  wallet_address: unknown
  description: unknown
  image: unknown
  enable_transfer: unknown
  is_locked: unknown
  dynamic: unknown
  enable_burn: unknown
}

/** Prompts for missing fields of a collection request. Without a terminal, returns the request unchanged. */
export async function promptForMissingFields(
  { io, addresses }: Pick<Deps, 'io' | 'addresses'>,
  { yes = false }: { yes?: boolean },
  fields: CollectionFields,
): Promise<CollectionFields> {
  if (!mayPrompt(io)) return fields
  const name = fields.name ?? (await askLine(io, { message: 'Name of the collection', flag: '--name' }))
  const blockchain = fields.blockchain ?? (await askBlockchain(io))
  const knownBlockchain = typeof blockchain === 'string' && isBlockchain(blockchain) ? blockchain : undefined
  const wallet_address =
    fields.wallet_address ??
    (await askAddress(io, {
      message: `Wallet that owns the collection${await describeSavedNames(addresses)}`,
      flag: '--wallet',
      blockchain: knownBlockchain,
      addresses,
    }))
  refuseWrongAddress(wallet_address, knownBlockchain)
  // Only Solana requires a description and an image (API reference v1.1, createcollection).
  const wantsMore = knownBlockchain !== undefined && !isEvm(knownBlockchain)
  const ask = async (value: unknown, message: string, flag: string) =>
    value ?? (wantsMore ? await askLine(io, { message, flag }) : undefined)
  const description = await ask(fields.description, 'Description', '--description')
  const image = await ask(fields.image, 'URL of the image', '--image')
  // If the output is captured or --yes is set, don't prompt for these fields, because the API has defaults.
  const mayAskMore = !yes && io.stdoutTty && knownBlockchain !== undefined && isEvm(knownBlockchain)
  const whether = async (value: unknown, message: string, flag: string) =>
    value ?? (mayAskMore ? await askYesNo(io, { message, flag, default: false }) : undefined)
  // `dynamic` and `enable_burn` are included only if they are true, because the hosted service doesn't support these
  // fields.
  const dynamic =
    (await whether(fields.dynamic, `Let the API update the metadata of NFTs? ${PERMANENT_NOTE}`, '--dynamic')) ||
    undefined
  const enable_burn =
    (await whether(fields.enable_burn, `Let the API burn NFTs? ${PERMANENT_NOTE}`, '--enable-burn')) || undefined
  const enable_transfer =
    fields.is_locked === true
      ? fields.enable_transfer
      : await whether(fields.enable_transfer, `Let the API transfer NFTs? ${CHANGEABLE_NOTE}`, '--enable-transfer')
  return { ...fields, name, blockchain, wallet_address, description, image, dynamic, enable_burn, enable_transfer }
}

const MAX_LISTED_NAMES = 5

/** Returns the first names of wallets and addresses on this machine, such as ` (@alice, @bob)`, for a prompt. */
async function describeSavedNames(addresses: Deps['addresses']): Promise<string> {
  const names = (await addresses()).list().map(({ name }) => `@${name}`)
  return names.length === 0 ? '' : ` (${safe(listSome(names.slice(0, MAX_LISTED_NAMES), names.length))})`
}

/** Returns the hint for a collection request without a wallet. */
export async function missingWalletHint({ addresses }: Pick<Deps, 'addresses'>, flags: ServerFlags): Promise<string> {
  const names = await describeSavedNames(addresses)
  return names === ''
    ? `Add --wallet <address>. To create a wallet, run \`gdn wallet generate --name alice${formatServerFlags(flags)}\`, and use --wallet @alice.`
    : `Add --wallet with an address or a saved name${names}.`
}

/**
 * Rejects an invalid address before further prompts.
 *
 * @throws GdnError `usage`
 */
function refuseWrongAddress(address: unknown, blockchain: Blockchain | undefined): void {
  if (typeof address !== 'string' || blockchain === undefined || isEnsName(address)) return
  const problem = addressProblem(address, blockchain)
  if (problem !== null) throw wrongAddressError(address, problem, '--wallet')
}

const PERMANENT_NOTE = "This can't be changed later."
const CHANGEABLE_NOTE = 'The owner can change this later.'
