import { addressProblem, evmAddressProblem } from '../../../api/address.ts'
import { type Blockchain, isEvm } from '../../../api/blockchains.ts'
import { isEnsName } from '../../../api/ens-name.ts'
import type { ProfileSettings } from '../../../config/schema.ts'
import { readUserConfig } from '../../../config/user-file.ts'
import { writeUserConfig } from '../../../config/write-user-file.ts'
import { wrongAddressError } from '../../command.ts'
import type { Deps } from '../../deps.ts'
import type { Choice } from '../../io/questions.ts'
import { askAddress, blockchainChoices, choose, mayPrompt } from '../../prompt/ask-missing.ts'
import type { InitFlags } from './init-flags.ts'

export interface Defaults {
  blockchain: Blockchain | undefined
  wallet: string | undefined
}

/** Checks the wallet in the flag before any prompt, request or write. */
export function checkWallet({ wallet, blockchain }: InitFlags): void {
  if (wallet === undefined || (isEnsName(wallet) && (blockchain === undefined || isEvm(blockchain)))) return
  const problem =
    blockchain === undefined
      ? wallet.startsWith('0x')
        ? evmAddressProblem(wallet)
        : null
      : addressProblem(wallet, blockchain)
  if (problem !== null) throw wrongAddressError(wallet, problem, '--wallet')
}

/** Prompts for the default blockchain and wallet. Both are optional. */
export async function promptForDefaults({ io, addresses }: Deps, flags: InitFlags): Promise<Defaults> {
  if (!mayPrompt(io)) return { blockchain: flags.blockchain, wallet: flags.wallet }
  const none: Choice<Blockchain | null> = { name: 'none', value: null, description: 'specify it in each command' }
  const blockchain =
    flags.blockchain ??
    (await choose<Blockchain | null>(io, {
      message: 'Default blockchain',
      flag: '--blockchain',
      choices: [...blockchainChoices(), none],
    }))
  const wallet =
    flags.wallet ??
    (await askAddress(io, {
      message: 'Default wallet (optional)',
      flag: '--wallet',
      addresses,
      blockchain: blockchain ?? undefined,
      optional: true,
    }))
  return { blockchain: blockchain ?? undefined, wallet: wallet === '' ? undefined : wallet }
}

/** Writes the profile and selects it. If the server changes, removes the former blockchain, contract and rate. */
export async function writeProfile(
  { env }: Deps,
  name: string,
  { blockchain, wallet, base_url }: Pick<ProfileSettings, 'base_url'> & Defaults,
): Promise<void> {
  const config = await readUserConfig(env)
  const before = config.profiles?.[name]
  const { blockchain: _b, contract: _c, rate: _r, ...otherSettings } = before ?? {}
  const isSameServer = before?.base_url === base_url
  const profile: ProfileSettings = {
    ...(isSameServer ? before : otherSettings),
    ...(base_url === undefined ? {} : { base_url }),
    ...(blockchain === undefined ? {} : { blockchain }),
    ...(wallet === undefined ? {} : { wallet }),
  }
  await writeUserConfig(env, { ...config, profile: name, profiles: { ...config.profiles, [name]: profile } })
}
