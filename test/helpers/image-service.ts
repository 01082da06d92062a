import { createServer } from 'node:http'
import { onTestFinished } from 'vitest'
import { listenLocally } from './http-server.ts'

/** Strings that look like CIDs. Their content doesn't matter here. */
export const METADATA_CID = `bafybei${'a'.repeat(52)}`
export const IMAGE_CID = `bafkrei${'b'.repeat(52)}`

interface ServedImage {
  /** The file of the image, or null if it is missing. */
  image: Uint8Array | null
  /** The metadata besides a name. */
  metadata?: object | null
  /** The request of the NFT. */
  request?: object
  /** Whether it is a backend of gdn. */
  isOurs?: boolean
}

/** A service with one NFT, whose metadata and image are below /ipfs. It records requests. */
export async function serveImage({ image, metadata = {}, request, isOurs = true }: ServedImage) {
  const requests: string[] = []
  const nft = {
    nft_gdn_id: 'a',
    token_id: '1',
    status: 'deployed',
    contract_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    receiver_wallet_address: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    metadata_url: metadata === null ? null : `ipfs://${METADATA_CID}/0.json`,
    request_metadata: request ?? { title: 'Dawn', description: '', file_fields: [] },
  }
  const files: Readonly<Record<string, Uint8Array | null>> = {
    [`/ipfs/${METADATA_CID}/0.json`]: Buffer.from(JSON.stringify({ image: `ipfs://${IMAGE_CID}`, ...metadata })),
    [`/ipfs/${IMAGE_CID}`]: image,
  }
  const server = createServer((incoming, response) => {
    const url = incoming.url ?? ''
    requests.push(`${incoming.method} ${url}`)
    incoming.resume()
    if (isOurs) response.setHeader('idempotency-supported', 'yes')
    if (url.endsWith('/getnfts')) {
      response.setHeader('content-type', 'application/json')
      return response.end(JSON.stringify({ requests: { nft_gdn_ids: ['a'] }, nfts: [nft] }))
    }
    const file = files[url] ?? null
    if (file === null) response.statusCode = 404
    return response.end(file)
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return { url, asked: requests }
}
