import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { operationDigest } from '../../src/api/operation-digest.ts'
import { referenceScope, rowReferenceId } from '../../src/batch/rows/row-key.ts'
import { WALLETS } from '../helpers/backend.ts'
import { GDN_BIN } from '../helpers/gdn-bin.ts'
import { listenLocally } from '../helpers/http-server.ts'
import { report } from '../helpers/seed.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const [OWNER, , CONTRACT] = WALLETS
/** Growth of the peak for 10 times the rows, and for 50 times. */
const MAX_GROWTH_MB = 80

const metadataOf = (row: number) => ({ title: `Title ${row}`, description: 'x', file_fields: [] })

/** A server that has minted every row, which all need an update. */
async function mintedService(rows: number): Promise<string> {
  const scope = referenceScope({ runName: null, manifest: 'drop.csv', order: null })
  const rowOf = new Map(Array.from({ length: rows }, (_, row) => [rowReferenceId(scope, `id:r${row}`), row]))
  const answers: Record<string, (body: never) => object> = {
    getisgdnnft: () => ({ requests: {}, results: [] }),
    getreferences: ({ operation, reference_ids }: { operation: string; reference_ids: string[] }) => ({
      requests: { operation, reference_ids },
      references: reference_ids.map((reference_id) => {
        const row = rowOf.get(reference_id) ?? -1
        const digest = operationDigest('createnft', { metadata: metadataOf(row), receiver_wallet_address: OWNER })
        const more = { status: 'deployed', digest, accepted_date: '2026-01-31 12:00:00', is_free: false }
        return { reference_id, nft_gdn_id: `nft-${row}`, ...more }
      }),
    }),
    getnfts: ({ nft_gdn_ids }: { nft_gdn_ids: string[] }) => ({
      requests: { nft_gdn_ids },
      nfts: nft_gdn_ids.map((nft_gdn_id) => {
        const request_metadata = metadataOf(Number(nft_gdn_id.slice('nft-'.length)))
        const more = {
          revision: 0,
          is_dynamic: true,
          token_id: '1',
          contract_address: CONTRACT,
          status: 'deployed',
          metadata_url: 'ipfs://x/1.json',
        }
        return { nft_gdn_id, receiver_wallet_address: OWNER, request_metadata, ...more }
      }),
    }),
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const answer = answers[request.url?.split('/').at(-1) ?? '']
    const headers = {
      'content-type': 'application/json',
      'reference-ids-supported': 'yes',
      'updates-supported': 'yes',
      'idempotency-supported': 'yes',
      'ratelimit-policy': '"default";q=1000;w=1',
    }
    response.writeHead(answer === undefined ? 404 : 200, headers)
    response.end(JSON.stringify(answer?.(JSON.parse(Buffer.concat(chunks).toString()) as never) ?? { error: {} }))
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return url
}

/** Returns the lines that `gdn plan` prints for this many rows, and its peak memory in MB. */
async function plan(rows: number): Promise<{ lines: number; peakMb: number }> {
  const home = await temporaryFolder('gdn-plan-')
  const url = await mintedService(rows)
  const path = join(home, 'drop.csv')
  const lines = Array.from({ length: rows }, (_, row) => `r${row},Title ${row}!,x,${OWNER}`)
  await writeFile(path, `id,title,description,receiver\n${lines.join('\n')}\n`)
  const argv = ['plan', path, '-c', CONTRACT ?? '', '-b', 'polygon', '--base-url', url, '-o', 'ndjson', '--quiet']
  const env = { PATH: process.env.PATH, HOME: home, GDN_API_KEY: 'key', GDN_PACE_DIR: join(home, 'pace') }
  const child = spawn(process.execPath, [GDN_BIN, ...argv], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  let count = 0
  child.stdout.on('data', (chunk: Buffer) => {
    for (const byte of chunk) if (byte === 10) count++
  })
  let peakMb = 0
  const watch = setInterval(async () => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '')
    peakMb = Math.max(peakMb, Number(status.match(/VmHWM:\s+(\d+)/)?.[1] ?? 0) / 1024)
  }, 50)
  const [code] = await once(child, 'close')
  clearInterval(watch)
  expect(code).toBe(0)
  return { lines: count, peakMb: Math.round(peakMb) }
}

/** A million in the long form. */
const ROWS = process.env.GDN_SOAK === '1' ? 1_000_000 : 200_000

test.skipIf(process.platform !== 'linux')(`gdn plan compares ${ROWS} rows without keeping them`, async () => {
  const small = await plan(20_000)
  const large = await plan(ROWS)
  report({ small, large })
  expect([small.lines, large.lines]).toEqual([20_000, ROWS])
  expect(large.peakMb - small.peakMb).toBeLessThan(MAX_GROWTH_MB)
})
