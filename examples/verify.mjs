// Verifies a drop directly on the chain and in the storage, without gdn: the owner of each token, the location of its
// metadata, and whether its files match the local ones.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const OWNER_OF = '0x6352211e'
const TOKEN_URI = '0xc87b56dd'

/**
 * Compares every NFT with its row of the manifest.
 *
 * @param nfts records as `gdn nft list --json` prints them
 * @returns a sentence for each problem
 */
export async function verifyDrop({ url, blockchain, contract, nfts, rows, folder }) {
  const backend = { url, rpc: `${url}/rpc/${blockchain}`, contract, folder }
  const rowOf = new Map(rows.map((row) => [row.title, row]))
  const faults =
    nfts.length === rows.length ? [] : [`the manifest has ${rows.length} rows, but there are ${nfts.length} NFTs`]
  for (const nft of nfts) {
    const row = rowOf.get(nft.request_metadata?.title)
    if (row === undefined) faults.push(`token ${nft.token_id} is in no row of the manifest`)
    else faults.push(...(await verifyNft(backend, nft, row)))
    rowOf.delete(row?.title)
  }
  return [...faults, ...[...rowOf.keys()].map((title) => `"${title}" was not minted`)]
}

async function verifyNft({ url, rpc, contract, folder }, nft, row) {
  const argument = BigInt(nft.token_id).toString(16).padStart(64, '0')
  const owner = `0x${(await ethCall(rpc, contract, OWNER_OF + argument)).slice(-40)}`
  const uri = decodeString(await ethCall(rpc, contract, TOKEN_URI + argument))
  const metadata = await (await fetchIpfs(url, uri)).json()
  const faults = []
  if (owner.toLowerCase() !== row.receiver.toLowerCase()) faults.push(`"${row.title}" belongs to ${owner}`)
  if (uri !== nft.metadata_url)
    faults.push(`"${row.title}" has the token URI ${uri}, but the API returned ${nft.metadata_url}`)
  if (metadata.name !== row.title) faults.push(`"${row.title}" is called "${metadata.name}" in its metadata`)
  for (const [key, path] of filesOf(row)) {
    const stored = Buffer.from(await (await fetchIpfs(url, metadata[key])).arrayBuffer())
    if (!stored.equals(await readFile(join(folder, path))))
      faults.push(`the ${key} of "${row.title}" differs from ${path}`)
  }
  return faults
}

function filesOf(row) {
  const columns = Object.entries(row).filter(([column]) => column === 'image' || column.startsWith('file:'))
  return columns.map(([column, path]) => [column.replace('file:', ''), path])
}

async function ethCall(rpc, to, data) {
  const body = { jsonrpc: '2.0', id: 1, method: 'eth_call', params: [{ to, data }, 'latest'] }
  const headers = { 'content-type': 'application/json' }
  const answer = await (await fetch(rpc, { method: 'POST', headers, body: JSON.stringify(body) })).json()
  if (answer.error !== undefined) throw new Error(`the chain rejected a call: ${answer.error.message}`)
  return answer.result
}

/** Decodes a string as returned by a contract: offset, length, bytes. */
function decodeString(hex) {
  const bytes = Buffer.from(hex.slice(2), 'hex')
  const start = bytes.readUInt32BE(28)
  const length = bytes.readUInt32BE(start + 28)
  return bytes.toString('utf8', start + 32, start + 32 + length)
}

async function fetchIpfs(url, uri) {
  const answer = await fetch(`${url}/ipfs/${String(uri).replace('ipfs://', '')}`)
  if (!answer.ok) throw new Error(`${uri} could not be fetched from the backend: HTTP ${answer.status}`)
  return answer
}
