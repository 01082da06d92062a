import { isBlockchain, isEvm } from '../../../api/blockchains.ts'
import type { Deps } from '../../deps.ts'
import { askWhether } from '../../prompt/ask-for.ts'
import { askAddress, askBlockchain, askLine, mayAsk } from '../../prompt/ask-missing.ts'

/** Request fields that gdn prompts for. */
interface Asked {
  name: unknown
  blockchain: unknown
  wallet_address: unknown
  description: unknown
  image: unknown
  enable_transfer: unknown
  is_locked: unknown
}

/** Prompts for missing fields of a collection request, on a terminal. */
export async function askForMissing(
  { io, addresses }: Pick<Deps, 'io' | 'addresses'>,
  { yes = false }: { yes?: boolean },
  given: Asked,
): Promise<Asked> {
  if (!mayAsk(io)) return given
  const name = given.name ?? (await askLine(io, { message: 'Name of the collection', flag: '--name' }))
  const blockchain = given.blockchain ?? (await askBlockchain(io))
  const known = typeof blockchain === 'string' && isBlockchain(blockchain) ? blockchain : undefined
  const wallet_address =
    given.wallet_address ??
    (await askAddress(io, {
      message: 'Wallet that owns the collection',
      flag: '--wallet',
      blockchain: known,
      addresses,
    }))
  // api-v1.1.md, createcollection: only Solana requires these.
  const wantsMore = known !== undefined && !isEvm(known)
  const ask = async (value: unknown, message: string, flag: string) =>
    value ?? (wantsMore ? await askLine(io, { message, flag }) : undefined)
  const description = await ask(given.description, 'Description', '--description')
  const image = await ask(given.image, 'URL of the image', '--image')
  // No prompt if the output is captured or --yes is given: the API's default applies.
  const mayTransfer = !yes && io.stdoutTty && given.is_locked !== true && known !== undefined && isEvm(known)
  const enable_transfer =
    given.enable_transfer ??
    (mayTransfer
      ? await askWhether(io, {
          message: 'Let the API transfer its NFTs? The owner can change this later.',
          flag: '--enable-transfer',
          default: false,
        })
      : undefined)
  return { ...given, name, blockchain, wallet_address, description, image, enable_transfer }
}
