import { isBlockchain } from '../../../api/blockchains.ts'
import { createnfttrans, createTransRequestV12Schema } from '../../../api/endpoints/createnfttrans.ts'
import { GdnError } from '../../../core/errors.ts'
import { GdnCommand } from '../../command.ts'
import { withPaid } from '../../cost/paid.ts'
import type { Deps } from '../../deps.ts'
import {
  addOutputFlags,
  addressOrName,
  addServerFlags,
  addWaitFlags,
  blockchainName,
  notEmpty,
} from '../../flags/common.ts'
import { addEnsFlags } from '../../flags/ens.ts'
import { askAddress, promptIfMissing } from '../../prompt/ask-missing.ts'
import { createOutput } from '../../render/output.ts'
import { GRANTED_VIEW } from '../../render/views.ts'
import { isV12 } from '../../request/api-version.ts'
import { checkRequest } from '../../request/check-request.ts'
import { resolveEnsFields } from '../../request/ens-names.ts'
import { resolveConfiguredWallet, toWalletPlace } from '../../request/named-addresses.ts'
import { addOperationFlags } from '../../request/operate-once.ts'
import { createNfts } from './create-nfts.ts'
import { addMetadataFlags, type GrantFlags, NFT_ALIASES } from './mint-flags.ts'
import { readMintInput } from './mint-request.ts'

export function command(deps: Deps, run = grant): GdnCommand {
  return new GdnCommand({
    about:
      "The server mints the NFT to the sender and then transfers it to the receiver. With api_version 1.2, the default sender is the owner of the collection instead of your profile's wallet. The collection must let the API transfer NFTs (--enable-transfer). The command uploads local files before it sends the request.",
    examples: [
      [
        'Mint an NFT to an artist and transfer it to a collector',
        'gdn nft grant --sender @alice --receiver @bob --title Dawn --image dawn.png',
      ],
      ['Send a JSON request from standard input', 'gdn nft grant -f - --json < grant.json'],
    ],
    aliases: { ...NFT_ALIASES, '--sender-wallet-address': '--sender' },
  })
    .valueFlag('-c, --contract <address>', 'Address or name of the collection to mint into', notEmpty)
    .valueFlag('-b, --blockchain <name>', 'Blockchain of the collection', blockchainName)
    .valueFlag(
      '--sender <address>',
      "Address, @name or ENS name of the first owner (your profile's wallet)",
      addressOrName,
    )
    .valueFlag('--receiver <address>', 'Receiver: an address, @name or ENS name', addressOrName)
    .valueFlag('-f, --file <file>', 'JSON request, or - for standard input; flags override its fields', notEmpty)
    .with(addEnsFlags, addMetadataFlags, addWaitFlags, addOperationFlags, addServerFlags, addOutputFlags)
    .action(async (flags: GrantFlags) => await run(deps, flags))
}

export async function grant(deps: Deps, flags: GrantFlags): Promise<void> {
  const output = createOutput(deps.io, flags, withPaid(GRANTED_VIEW))
  const settings = await deps.settings(flags)
  const prepared = await readMintInput(deps, flags, settings, 'grant')
  if (prepared.kind === 'manifest') {
    throw new GdnError('usage', `${prepared.manifest} is a manifest, but \`gdn nft grant\` accepts one request`, {
      place: { flag: '--file' },
      hint: 'Add a sender column to the manifest, then run `gdn batch mint`.',
    })
  }
  const { blockchain, sender_wallet_address } = prepared.request
  const specified = flags.sender ?? sender_wallet_address
  const ask = async () =>
    await promptIfMissing<unknown>(deps.io, await resolveConfiguredWallet(settings, deps.addresses), () =>
      askAddress(deps.io, {
        message: 'First owner',
        flag: '--sender',
        addresses: deps.addresses,
        blockchain: typeof blockchain === 'string' && isBlockchain(blockchain) ? blockchain : undefined,
      }),
    )
  const sender = specified ?? (isV12(settings) ? undefined : await ask())
  const context = { settings, flags, blockchain: blockchain ?? settings.blockchain?.value }
  const { file } = prepared
  const resolvedSender = await resolveEnsFields(deps, context, { sender_wallet_address: sender }, (field) => {
    if (flags.sender !== undefined) return { flag: '--sender' }
    if (file !== null && sender_wallet_address !== undefined) return { file, field }
    return settings.wallet?.value === sender ? toWalletPlace(settings.wallet) : { flag: '--sender' }
  })
  const fields = { ...prepared.request, ...resolvedSender }
  const schema = isV12(settings) ? createTransRequestV12Schema : createnfttrans.request
  const request = checkRequest(schema, fields, prepared.file)
  await createNfts(deps, {
    endpoint: 'createnfttrans',
    request,
    localFiles: prepared.localFiles,
    flags,
    settings,
    output,
  })
}
