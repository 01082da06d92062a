/** @module-tag slow */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { OWNER } from '../helpers/addresses.ts'
import { gate } from '../helpers/gate.ts'
import { makeHome } from '../helpers/gdn.ts'
import { GDN_BIN } from '../helpers/gdn-bin.ts'
import { listenLocally } from '../helpers/http-server.ts'
import { atTerminal, CTRL_C, HAS_PTY, HIDE_CURSOR, SHOW_CURSOR } from '../helpers/terminal.ts'

const CONTRACT = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'

interface Nft {
  nft_gdn_id: string
  [field: string]: unknown
}

/** A service that mints at once. It responds to a mint request once `until` resolves for its number, from 1. */
async function service(until: (request: number) => Promise<unknown> | undefined) {
  let requests = 0
  const minted = new Map<string, Nft>()
  const answers: Record<string, (body: never) => unknown> = {
    createnft: ({ metadata }: { metadata: unknown[] }) => ({
      message: 'ok',
      requests: {},
      nfts: metadata.map((request_metadata) => {
        const id = `nft-${minted.size + 1}`
        const where = { contract_address: CONTRACT, receiver_wallet_address: OWNER, metadata_url: null }
        minted.set(id, { nft_gdn_id: id, token_id: '1', status: 'deployed', request_metadata, ...where })
        return { nft_gdn_ids: id, accepted_date: '2026-01-31 12:00:00' }
      }),
    }),
    getnfts: ({ nft_gdn_ids }: { nft_gdn_ids: string[] }) => ({
      requests: { nft_gdn_ids },
      nfts: nft_gdn_ids.flatMap((id) => minted.get(id) ?? []),
    }),
    getnftgdnids: () => ({
      requests: { contract_address: CONTRACT, blockchain: 'polygon' },
      nft_gdn_ids: [...minted.keys()],
    }),
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const name = (request.url ?? '').replace(/^\/api\/v1\//, '').replace(/\/$/, '')
    const answer = answers[name]?.(JSON.parse(Buffer.concat(chunks).toString()) as never)
    if (name === 'createnft') await until(++requests)
    response.writeHead(answer === undefined ? 404 : 200, {
      'content-type': 'application/json',
      'blockchains-without-value': '*',
    })
    response.end(JSON.stringify(answer ?? { error: { title: 'Not Found', message: name } }))
  })
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return { url, minted }
}

async function drop(rows: number, until: Parameters<typeof service>[0] = () => undefined) {
  const home = await makeHome()
  onTestFinished(() => home.remove())
  const lines = Array.from({ length: rows }, (_, i) => `Row ${i},${'x'.repeat(100)},${OWNER}`)
  const manifest = join(home.dir, 'drop.csv')
  await writeFile(manifest, `title,description,receiver\n${lines.join('\n')}\n`)
  const { url, minted } = await service(until)
  const target = ['-c', CONTRACT, '-b', 'polygon', '--base-url', url, '--rate', '100']
  return { home, manifest, target, minted, url, env: { ...home.env, GDN_API_KEY: 'k' } }
}

describe('batch mint on a terminal', () => {
  beforeEach(({ skip }) => skip(!HAS_PTY, 'needs a pseudo-terminal: script of util-linux is not installed'))

  test('redraws a progress block, and leaves only the summary at the end', async () => {
    const [first, fifth] = [gate(), gate()]
    const { home, manifest, target, env } = await drop(6, (n) =>
      (n === 1 ? first : n === 5 ? fifth : undefined)?.pass(),
    )
    const out = join(home.dir, 'out')
    const argv = ['batch', 'mint', manifest, ...target, '--chunk-size', '1', '--in-order']
    const terminal = atTerminal(argv.join(' '), env, out)
    await terminal.shows('6 pending')
    first.open()
    await terminal.shows('2 pending')
    fifth.open()
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(0)
    expect(screen).toMatch(/drop-[0-9a-f]{4}: \d of 6 rows deployed/)
    // The cursor is hidden only while the block is drawn, and the whole block is erased at the end.
    expect(screen.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(screen.lastIndexOf(HIDE_CURSOR))
    expect(screen.slice(screen.lastIndexOf(HIDE_CURSOR))).toMatch(/^\u001b\[\?25l\r\u001b\[\d+A\u001b\[J/)
    expect(screen.slice(screen.lastIndexOf(SHOW_CURSOR))).toMatch(
      /6 rows: 6 deployed\S*\s+Results: gdn batch results drop-/,
    )
  })

  test('stops with 130 at Ctrl-C and shows how to resume; the resumed run mints every row once', async () => {
    const second = gate()
    const { home, manifest, target, env, minted } = await drop(8, (n) => (n === 2 ? second.pass() : undefined))
    const terminal = atTerminal(`batch mint ${manifest} ${target.join(' ')} --chunk-size 1 --in-order`, env)
    await terminal.shows('accepted')
    terminal.type(CTRL_C)
    await terminal.shows('Stopping')
    second.open()
    const { code, screen } = await terminal.end()
    expect(code, screen).toBe(130)
    expect(screen).toContain('Stopping')
    expect(screen.replace(/\s+/g, ' ')).toContain(`Run \`gdn batch mint ${manifest}`)
    expect(screen.lastIndexOf(SHOW_CURSOR)).toBeGreaterThan(screen.lastIndexOf(HIDE_CURSOR))
    const rows = await readFile(manifest, 'utf8')
    await writeFile(manifest, rows.replace('Row 7', 'Row seven'))
    const resume = atTerminal(`batch resume drop ${target.slice(4).join(' ')}`, env)
    await resume.shows('Mint the rows as the run stored them?')
    resume.type('n\r')
    const refused = await resume.end()
    expect(refused.code, refused.screen).toBe(3)
    expect(refused.screen).toMatch(/added: Row seven .*removed: Row 7 /s)
    expect(minted.size).toBe(2)
    const resumed = await home.json<{ deployed: number }>(['batch', 'resume', 'drop', ...target.slice(4), '--yes'], {
      env,
    })
    expect(resumed.deployed).toBe(8)
    expect(minted.size).toBe(8)
    const retry = await atTerminal(`batch retry drop ${target.slice(4).join(' ')}`, env).end()
    expect(retry.code, retry.screen).toBe(0)
    expect(retry.screen).toContain('No row has failed')
    expect(retry.screen).not.toContain('as the run stored them?')
  })
})

test('prints plain lines without a terminal, and events as they happen with -o ndjson', async () => {
  const { home, manifest, target, env } = await drop(3)
  const minted = await home.run(['batch', 'mint', manifest, ...target], { env: { ...env, FORCE_COLOR: '' } })
  expect(minted.code).toBe(0)
  expect(minted.stderr).not.toMatch(/[\u001b\r]/)
  expect(minted.stderr).toMatch(/^Run drop-[0-9a-f]{4} in .*0x[0-9a-fA-F]{40}\)? on polygon\n {2}3 rows to send/)
  const secondResult = await home.run(['batch', 'mint', manifest, ...target, '--again', '-o', 'ndjson'], { env })
  const events = secondResult.stdout.trimEnd().split('\n')
  expect(JSON.parse(events[0] ?? '')).toMatchObject({ event: 'planned', total: 3 })
  expect(JSON.parse(events.at(-1) ?? '')).toMatchObject({ event: 'summary', deployed: 3 })
})

test('ignores a reader that closes the results early', async () => {
  const { home, manifest, target, env } = await drop(3000)
  await home.json(['batch', 'mint', manifest, ...target, '--chunk-size', '1000', '--no-wait'], { env })
  const argv = [GDN_BIN, 'batch', 'results', 'drop', '-o', 'csv']
  const child = spawn(process.env.GDN_TEST_NODE || process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  const [first] = await once(child.stdout, 'data')
  child.stdout.destroy()
  const [code] = await once(child, 'close')
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(String(first)).toMatch(/^title,description,receiver,key,line,status,/)
})
