/** @module-tag slow */
import { readFile, writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { CONTRACT, fakeApi, nft, OWNER } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'
import { folder, TARGET } from './drop.ts'

const ROWS = ['a,A,Cap,Red,5', 'b,B,Cap,Red,6', 'c,C,Crown,,7', 'd,D,Cap,Blue,8']
const CSV = `id,title,attr:Hat,attr:Eyes,attr(number):Power,description,receiver\n${ROWS.map((row) => `${row},x,${OWNER}\n`).join('')}`
/** The shares are 3/4 and 1/4 for hats, and 1/2, 1/4 and 1/4 for eyes. */
const ENTROPY = -(0.75 * Math.log2(0.75) + 0.25 * Math.log2(0.25) + 0.5 * Math.log2(0.5) + 2 * 0.25 * Math.log2(0.25))
const score = (...shares: number[]) => shares.reduce((sum, share) => sum - Math.log2(share), 0) / ENTROPY

async function drop(text = CSV) {
  const { path, options } = await folder({ 'drop.csv': text })
  const gdn = (...argv: string[]) => cli(['batch', ...argv], options)
  return { path, gdn, options, manifest: path('drop.csv') }
}

describe('batch rarity', () => {
  test('ranks the rows of a manifest, and names the method', async () => {
    const { gdn, manifest } = await drop()
    const { code, stdout, stderr } = await gdn('rarity', manifest, ...TARGET, '--json')
    expect(code, stderr).toBe(0)
    const records = JSON.parse(stdout) as {
      rank: number
      id: string
      score: number
      method: string
      rarest: object[]
    }[]
    expect(records.map(({ rank, id }) => [rank, id])).toEqual([
      [1, 'c'],
      [2, 'd'],
      [3, 'a'],
      [3, 'b'],
    ])
    const scores = [score(0.25, 0.25), score(0.75, 0.25), score(0.75, 0.5), score(0.75, 0.5)]
    for (const [at, expected] of scores.entries()) expect(records[at]?.score).toBeCloseTo(expected, 12)
    expect(records[0]).toMatchObject({
      ...{ line: 4, title: 'C', method: 'information-content' },
      rarest: [
        { trait: 'Eyes', value: null, count: 1, share: 0.25 },
        { trait: 'Hat', value: 'Crown', count: 1, share: 0.25 },
      ],
    })
    const anywhere = await gdn('rarity', manifest, '--json')
    expect([anywhere.code, anywhere.stdout]).toEqual([0, stdout])
    const rarityResult = await gdn('rarity', manifest, ...TARGET)
    expect(rarityResult.stderr).toContain('Method: information content, as OpenRarity defines it.')
    expect(rarityResult.stderr).toContain('Typed traits are not scored: Power')
    expect(rarityResult.stdout).toContain('Eyes: (missing) (25.0%), Hat: Crown (25.0%)')
    const limited = await gdn('rarity', manifest, ...TARGET, '--limit', '1', '-o', 'csv')
    expect(limited.stdout.trim().split('\n')).toHaveLength(2)
  })

  test('lists the number and share of each value', async () => {
    const { gdn, manifest } = await drop()
    const { stdout } = await gdn(
      'rarity',
      manifest,
      ...TARGET,
      '--traits',
      '-o',
      'csv',
      '--fields',
      'trait,value,count,share,scored',
    )
    expect(stdout.split('\r\n').slice(0, 6)).toEqual([
      'trait,value,count,share,scored',
      'Hat,Crown,1,0.25,true',
      'Hat,Cap,3,0.75,true',
      'Eyes,Blue,1,0.25,true',
      'Eyes,,1,0.25,true',
      'Eyes,Red,2,0.5,true',
    ])
  })

  test('reads the NFTs of a collection from the server, without burned and failed ones', async () => {
    const { options } = await drop()
    const metadata = (hat: string) => ({
      title: hat,
      description: '',
      file_fields: [],
      attribute: [{ tag: 'Hat', value: hat }],
    })
    const nfts = [
      ...['Cap', 'Cap', 'Crown'].map((hat, at) =>
        nft(`id-${at}`, { token_id: String(at), request_metadata: metadata(hat) }),
      ),
      nft('id-3', { burned: true, request_metadata: metadata('Halo') }),
      nft('id-4', { status: 'failed', request_metadata: metadata('Halo') }),
      nft('id-5', { token_id: '5', request_metadata: 'hostile' }),
      nft('id-6', { token_id: '6', request_metadata: { attribute: [null, { tag: {}, value: 7 }] } }),
    ]
    const api = await fakeApi({
      getnftgdnids: () => ({
        body: {
          requests: { contract_address: CONTRACT, blockchain: 'polygon' },
          nft_gdn_ids: nfts.map(({ nft_gdn_id }) => nft_gdn_id),
        },
      }),
      getnfts: ({ nft_gdn_ids }) => ({ body: { requests: { nft_gdn_ids }, nfts } }),
    })
    const at = ['batch', 'rarity', '-c', CONTRACT, '-b', 'polygon', '--base-url', api.url]
    const { code, stdout, stderr } = await cli([...at, '--json'], options)
    expect(code, stderr).toBe(0)
    const ids = (JSON.parse(stdout) as { nft_gdn_id: string }[]).map(({ nft_gdn_id }) => nft_gdn_id)
    expect(ids).toEqual(['id-6', 'id-2', 'id-0', 'id-1', 'id-5'])
    const typed = [{ tag: 'hat', value: '7', display_type: 'number' }]
    nfts.push(nft('id-7', { token_id: '7', request_metadata: { title: 'Seven', attribute: typed } }))
    expect((await cli(at, options)).stderr).toContain(
      'warning: these traits are typed in some NFTs and text in others, so their typed values count as missing: hat',
    )
  })

  test('reports the errors of the manifest, and a manifest without rows', async () => {
    const { gdn, manifest } = await drop(CSV.replace(',8,', ',strong,'))
    const result = await gdn('rarity', manifest, ...TARGET, '--json')
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({
      code: 'invalid_manifest',
      message: expect.stringContaining('drop.csv:5:5'),
    })
    await writeFile(manifest, CSV.split('\n')[0] ?? '')
    expect((await gdn('rarity', manifest, ...TARGET)).code).toBe(2)
  })

  test('ranks a manifest of 1,000 columns', async () => {
    const names = Array.from({ length: 1000 }, (_, at) => `attr:t${at}`)
    const rows = Array.from(
      { length: 20 },
      (_, row) => `A,x,${OWNER},${names.map((_, at) => `v${(row * at) % 7}`).join()}`,
    )
    const { gdn, manifest } = await drop(`title,description,receiver,${names.join()}\n${rows.join('\n')}\n`)
    const { code, stdout } = await gdn('rarity', manifest, ...TARGET, '--json')
    expect([code, JSON.parse(stdout).length]).toEqual([0, 20])
  })
})

test('the preview of a manifest shows the rank and the rarest traits of each row', async () => {
  const { gdn, manifest, path } = await drop(CSV.replace('Crown', '<b>Crown'))
  const { code, stderr } = await gdn('preview', manifest, '-b', 'polygon')
  expect(code, stderr).toBe(0)
  const cards = (await readFile(path('drop-preview.html'), 'utf8')).match(/<article [\s\S]*?<\/article>/g) ?? []
  expect(cards.map((card) => /rank \d of \d/.exec(card)?.[0])).toEqual([
    'rank 3 of 4',
    'rank 3 of 4',
    'rank 1 of 4',
    'rank 2 of 4',
  ])
  expect(cards[2]).toContain('Eyes: (missing) (25.0%), Hat: &lt;b&gt;Crown (25.0%)')
  const plain = await drop(`title,description,receiver\nA,x,${OWNER}\n`)
  await plain.gdn('preview', plain.manifest, '-b', 'polygon')
  expect(await readFile(plain.path('drop-preview.html'), 'utf8')).not.toContain('rank 1')
})

test('batch rarity --traits prints dates as marketplaces do, and a missing trait differs from the text none', async () => {
  const { path, options } = await folder({
    'drop.csv': `title,description,receiver,attr:Hat,attr(date):Born\nA,x,${OWNER},none,2026-02-17\nB,x,${OWNER},,\n`,
  })
  const { code, stdout, stderr } = await cli(['batch', 'rarity', path('drop.csv'), ...TARGET, '--traits'], options)
  expect(code, stderr).toBe(0)
  expect(stdout).toMatch(/Hat\s+none\s.*\nHat\s+\(missing\)\s.*\nBorn\s+2026-02-17\s/)
})
