import { type Blockchain, isEvm } from '../../../api/blockchains.ts'
import { shellWord } from '../../../core/shell-word.ts'
import { safe } from '../../io/io.ts'

export interface Setup {
  profile: string
  /** The base URL; null for the local backend, whose address may change. */
  baseUrl: string | null
  /** A sentence that names what overrides the saved profile; null if nothing does. */
  override: string | null
  /** The location of the key; null if it was saved earlier. */
  keptIn: 'keyring' | 'file' | 'environment' | 'local backend' | null
  blockchain: Blockchain | undefined
  wallet: string | undefined
  isChecked: boolean
  isRunning: boolean
}

/**
 * Returns lines with the next steps: first what is missing, and then three commands to paste. If something overrides
 * the profile, each command has a flag that selects the profile.
 */
export function nextSteps(setup: Setup): string[] {
  const { profile, baseUrl, override, keptIn, blockchain, wallet, isChecked, isRunning } = setup
  const server = baseUrl ?? 'the local backend'
  // Without --offline, `gdn wallet generate` generates only EVM wallets.
  const isSolana = blockchain !== undefined && !isEvm(blockchain)
  const receiver = shellWord(wallet ?? '@alice')
  const chosen = [
    ...(blockchain === undefined ? ['-b polygon'] : []),
    ...(wallet === undefined ? ['--wallet @alice'] : []),
    ...(isSolana ? ["--description 'The first of ten' --image https://example.com/first-light.png"] : []),
  ]
  const on = override === null ? '' : baseUrl === null ? ' --local' : ` --profile ${profile}`
  const create = [`gdn collection create${on} --name 'First light'`, ...chosen].join(' ')
  return [
    `The profile ${safe(profile)} is ${override === null ? 'in use' : 'saved'}: ${safe(server)}.${isChecked ? ' The server and the key work.' : ''}`,
    ...(keptIn === 'environment' ? ['The key stays in GDN_API_KEY and was not saved.'] : []),
    ...(isRunning ? [] : ['Start the backend: gdn local start']),
    ...(wallet !== undefined
      ? []
      : [
          isSolana
            ? 'Name your wallet: gdn wallet add alice <address>'
            : baseUrl === null
              ? `Generate a wallet: gdn wallet generate${on} --name alice`
              : `Generate a wallet (needs the permission wallet:create): gdn wallet generate${on} --name alice --email <address>`,
        ]),
    `Create a collection: ${create}`,
    `Mint an NFT in the collection: gdn nft mint${on} --title Dawn --receiver ${safe(receiver)}`,
    `List the NFTs of the collection: gdn nft list${on}`,
  ]
}
