/** @module-tag slow */
import { expect, it } from 'vitest'
import type * as z from 'zod'
import type { EndpointName } from '../../src/api/endpoints.ts'
import { freshDataDir, until, WALLETS } from '../helpers/backend.ts'
import { ENDPOINTS } from '../helpers/endpoints.ts'
import { seededRandom } from '../helpers/seed.ts'
import { type ServedBackend, serve } from '../helpers/served-backend.ts'

const ROWS = 120
const KILLS = 6
const CLIENTS = 8

/** The response of an endpoint, or null without a complete response. */
async function post<Name extends EndpointName>(backend: ServedBackend, name: Name, body: object) {
  let status: number
  let json: unknown
  try {
    const response = await fetch(`${backend.url}/api/v1/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': backend.apiKey },
      body: JSON.stringify(body),
    })
    status = response.status
    json = await response.json()
  } catch {
    return null
  }
  expect([status, status === 200 ? null : json]).toEqual([200, null])
  return ENDPOINTS[name].response.parse(json) as z.output<(typeof ENDPOINTS)[Name]['response']>
}

/** Same as `post`, for a backend that is not killed in the meantime. */
async function ask<Name extends EndpointName>(backend: ServedBackend, name: Name, body: object) {
  const answer = await post(backend, name, body)
  if (answer === null) throw new Error(`${name} was not answered`)
  return answer
}

it('each reference ID creates once, in any grouping of requests, while the backend is killed repeatedly', async () => {
  const { random } = seededRandom('references under kills')
  const folder = await freshDataDir()
  const start = () => serve(folder.path, ['--rate-limits', 'off']).ready
  let backend = await start()
  try {
    const { response } = await ask(backend, 'createcollection', {
      ...{ wallet_address: WALLETS[0], name: 'Once', blockchain: 'polygon', reference_id: 'the-collection' },
    })
    const transaction_gdn_ids = [response.transaction_gdn_id]
    const { collections } = await ask(backend, 'getcollections', { transaction_gdn_ids })
    const where = { contract_address: collections[0]?.contract_address, blockchain: 'polygon' }
    const all = Array.from({ length: ROWS }, (_, row) => `row-${row}`)
    /** The IDs of each reference ID in all responses. */
    const ids = new Map<string, Set<string>>()
    const send = async (references: readonly string[]) => {
      const metadata = references.map((title) => ({ title, description: '', file_fields: [] }))
      const body = { ...where, receiver_wallet_address: WALLETS[1], metadata, reference_ids: references }
      const answer = await post(backend, 'createnft', body)
      for (const { reference_id = '', nft_gdn_ids } of answer?.nfts ?? []) {
        ids.set(reference_id, (ids.get(reference_id) ?? new Set()).add(nft_gdn_ids))
      }
      return answer
    }
    for (let kill = 0; kill < KILLS; kill++) {
      let answers = 0
      const last = Math.floor(random() * 30)
      let killed: Promise<unknown> | undefined
      const client = async () => {
        while (killed === undefined) {
          const some = all.filter(() => random() < 0.15).sort(() => random() - 0.5)
          if (some.length > 0 && (await send(some)) !== null) answers++
          if (answers >= last) killed ??= backend.end('SIGKILL')
        }
      }
      await Promise.all(Array.from({ length: CLIENTS }, client))
      await killed
      backend = await start()
    }
    const known = ((await send(all))?.nfts ?? []).map((nft) => nft.nft_gdn_ids)
    expect(new Set(known).size).toBe(ROWS)
    for (const [row, reference] of all.entries()) expect([...(ids.get(reference) ?? [])]).toEqual([known[row]])
    const { contract_address: contract_addresses, blockchain } = where
    const listed = await ask(backend, 'getnftgdnids', { contract_addresses, blockchain })
    expect([...listed.nft_gdn_ids].sort()).toEqual([...known].sort())
    const show = async () => (await ask(backend, 'getnfts', { nft_gdn_ids: known })).nfts
    const isDeployed = ({ status }: { status: string }) => status === 'deployed'
    const nfts = await until(show, (shown) => shown.every(isDeployed), 60_000)
    expect(nfts.filter(isDeployed)).toHaveLength(ROWS)
    const tokens = nfts.map(({ token_id }) => Number(token_id)).sort((a, b) => a - b)
    expect(tokens).toEqual(Array.from({ length: ROWS }, (_, token) => token + 1))
  } finally {
    await backend.end('SIGTERM')
    await folder.remove()
  }
})
