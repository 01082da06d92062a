// Mints the first rows of a manifest with the packed client, and prints their NFTs.
import { createClient, GdnError, readManifest } from 'gdn'

const WALLET = '0x105BA2A3D820926739b9443a81fb7ab5C531e823'
const gdn = createClient()

/** Asks until `find` returns something. */
async function until(find) {
  for (;;) {
    const found = await find()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

const { response } = await gdn.api.createcollection({
  wallet_address: WALLET,
  name: 'Tidal Hours',
  blockchain: 'polygon',
})
const { contract_address } = await until(async () => {
  const { collections } = await gdn.api.getcollections({ transaction_gdn_ids: [response.transaction_gdn_id] })
  return collections.find(({ status }) => status === 'deployed')
})

const { rows, problems } = await readManifest(process.argv[2], {
  blockchain: 'polygon',
  contractAddress: contract_address,
})
if (problems.length > 0) throw new Error(problems.map(({ text }) => text).join('\n'))
const metadata = await Promise.all(
  rows.slice(0, 3).map(async (row) => {
    const files = await Promise.all(
      row.localFiles.map(async ({ key, path }) => ({ key, url: (await gdn.api.files({ file: path })).url })),
    )
    return { ...row.metadata, file_fields: files }
  }),
)
const { nfts } = await gdn.api.createnft({
  ...{ contract_address, blockchain: 'polygon', receiver_wallet_address: WALLET, metadata },
})
const deployed = await until(async () => {
  const shown = await gdn.api.getnfts({ nft_gdn_ids: nfts.map(({ nft_gdn_ids }) => nft_gdn_ids) })
  return shown.nfts.every(({ status }) => status === 'deployed') ? shown.nfts : undefined
})

const refused = await gdn.api.createnft({ blockchain: 'polygon' }).catch((error) => error)
if (!(refused instanceof GdnError)) throw refused
const titles = deployed.map(({ request_metadata }) => request_metadata.title)
const { code, message, place } = refused
process.stdout.write(JSON.stringify({ titles, refused: { code, message, field: place.field } }))
