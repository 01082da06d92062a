import { GdnError } from '../../src/core/errors.ts'
import { createClient } from '../../src/lib/create-client.ts'

/** A process that mints one order: `node … <state directory> <url> <key>`. It ends by itself, with an idle client. */
const [stateDir, baseUrl, idempotencyKey = ''] = process.argv.slice(2)
const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const gdn = createClient({ baseUrl, stateDir, apiKey: 'the-key-of-a-test' })
try {
  const { nfts } = await gdn.mint(
    {
      contract_address: address,
      blockchain: 'polygon',
      receiver_wallet_address: address,
      metadata: [{ title: idempotencyKey, description: '', file_fields: [] }],
    },
    { idempotencyKey },
  )
  process.stdout.write(nfts.map(({ nft_gdn_id, status }) => `${nft_gdn_id} ${status}`).join())
} catch (error) {
  process.stdout.write(error instanceof GdnError ? error.code : String(error))
}
