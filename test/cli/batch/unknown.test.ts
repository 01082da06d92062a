/** @module-tag slow */
import { writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { CONTRACT, fakeApi, type Reply } from '../fake-api.ts'
import { cli, errorOf } from '../harness.ts'
import { CSV, folder, service, TARGET } from './drop.ts'

/** A service that lists what it minted, and returns 500 to "Dusk" once, before or after minting it. */
async function losesAnswer(when: 'after' | 'before') {
  const { createnft, getnfts } = service()
  const ids: string[] = []
  let isLost = false
  let lost = ''
  const api = await fakeApi({
    createnft: (body: Parameters<typeof createnft>[0]): Reply => {
      const isDusk = body.metadata.some(({ title }) => title === 'Dusk')
      const loses = isDusk && !isLost
      isLost ||= isDusk
      if (loses && when === 'before') return { status: 500, body: {} }
      const reply = createnft(body)
      const { nfts } = reply.body as { nfts: { nft_gdn_ids: string }[] }
      ids.push(...nfts.map(({ nft_gdn_ids }) => nft_gdn_ids))
      if (loses) lost = nfts[0]?.nft_gdn_ids ?? ''
      return loses ? { status: 500, body: {} } : reply
    },
    getnfts,
    getnftgdnids: (): Reply => ({
      body: { requests: { contract_address: CONTRACT, blockchain: 'polygon' }, nft_gdn_ids: ids },
    }),
  })
  const { path, options } = await folder()
  const gdn = (verb: string, ...more: string[]) =>
    cli(['batch', verb, 'drop', '--base-url', api.url, '--json', ...more], options)
  const mint = (...more: string[]) =>
    cli(
      [
        ...['batch', 'mint', path('drop.csv'), ...TARGET, '--chunk-size', '1', '--timeout', '10s', '--rate', '100'],
        ...['--base-url', api.url, '--json', ...more],
      ],
      options,
    )
  const keyOf = async (line: number): Promise<string> =>
    JSON.parse((await gdn('results')).stdout).find((row: { line: number }) => row.line === line).key
  return { api, gdn, mint, keyOf, options, path, lostId: () => lost }
}

describe('a row with an unknown outcome', () => {
  test('makes the run exit with 9, and is listed with every command that resolves it', {
    tags: ['promise'],
  }, async () => {
    const { mint } = await losesAnswer('after')
    const result = await mint()
    expect(result.code).toBe(9)
    const { message, hint, details } = errorOf(result)
    expect(message).toMatch(
      /^the outcome of 1 row is unknown:\n {2}line 3: undecided: the server's list of NFTs was still out of date/,
    )
    for (const command of ['gdn batch reconcile drop-', '--row <key>=', 'gdn batch results drop-']) {
      expect(hint).toContain(command)
    }
    expect(details).toMatchObject({ unknown_rows: [{ line: 3 }], undecided_rows: [{ line: 3 }] })
  })

  test('is a finding of doctor, which names the command that resumes the run', async () => {
    const { mint, options, path } = await losesAnswer('after')
    await mint()
    const { stdout } = await cli(['doctor', '--json'], options)
    const findings: { check: string; fix: string }[] = JSON.parse(stdout)
    expect(findings.filter(({ check }) => check === 'runs')).toMatchObject([
      { fix: expect.stringMatching(/^Run `gdn batch resume [0-9a-f]+`\.$/) },
    ])
    await writeFile(path('drop.csv'), CSV.replace('Dusk', 'Dusk II'))
    const edited = JSON.parse((await cli(['doctor', '--json'], options)).stdout)
    expect(edited.find(({ check }: { check: string }) => check === 'runs').fix).toMatch(
      /^To mint the manifest as it is now, run `gdn batch mint \S+drop\.csv .*To mint the rows as the run stored them, run `gdn batch resume \w+`\.$/,
    )
  })

  test('is resolved with batch reconcile --row key=id', async () => {
    const { mint, gdn, keyOf, api, lostId } = await losesAnswer('after')
    await mint()
    const { code, stdout } = await gdn(
      'reconcile',
      '--row',
      `${await keyOf(3)}=${lostId()}`,
      '--timeout',
      '5s',
      '--rate',
      '100',
    )
    expect({ code, summary: JSON.parse(stdout) }).toMatchObject({ code: 0, summary: { deployed: 2, unknown: 0 } })
    expect(api.bodies('createnft')).toHaveLength(2)
  })

  test('keeps exit code 9 after --row key=absent, until batch retry --absent sends it again', {
    tags: ['promise'],
  }, async () => {
    const { mint, gdn, keyOf, api } = await losesAnswer('before')
    await mint()
    const settled = await gdn('reconcile', '--row', `${await keyOf(3)}=absent`, '--timeout', '5s', '--rate', '100')
    expect(settled.code).toBe(9)
    expect(errorOf(settled)).toMatchObject({
      message: expect.stringContaining('line 3: absent: you marked'),
      hint: expect.stringMatching(/gdn batch retry drop-[0-9a-f]{4} --absent/),
    })
    expect(api.bodies('createnft')).toHaveLength(2)
    const retried = await gdn('retry', '--absent', '--rate', '100')
    expect({ code: retried.code, summary: JSON.parse(retried.stdout) }).toMatchObject({
      code: 0,
      summary: { deployed: 2, unknown: 0, requests: 1 },
    })
    expect(api.bodies('createnft')).toHaveLength(3)
  })

  test('batch reconcile -o ndjson prints what it found, and the summary last', async () => {
    const { mint, keyOf, api, options, lostId } = await losesAnswer('after')
    await mint()
    const settle = ['--row', `${await keyOf(3)}=${lostId()}`, '--timeout', '5s', '--rate', '100']
    const argv = ['batch', 'reconcile', 'drop', ...settle, '--base-url', api.url, '-o', 'ndjson']
    const { stdout, stderr } = await cli(argv, options)
    expect(stderr).toBe('')
    const lines = stdout.trimEnd().split('\n')
    expect(lines.map((line) => JSON.parse(line).event)).toEqual(['rows', 'waiting', 'rows', 'summary'])
  })
})

describe('rows that could be minted twice', () => {
  test('stop a new run if another run has them, and are listed by line', { tags: ['promise'] }, async () => {
    const { mint, options } = await losesAnswer('after')
    await mint()
    const result = await mint('--run', 'other')
    expect(result.code).toBe(2)
    expect(errorOf(result)).toMatchObject({
      code: 'already_accepted',
      message: expect.stringMatching(/belong to another run.*: drop-[0-9a-f]{4}\nlines 2-3$/),
      hint: expect.stringMatching(
        /gdn batch status (drop-[0-9a-f]{4})` .*gdn batch resume \1` to finish it\.\n.*--again/s,
      ),
    })
    expect(JSON.parse((await cli(['batch', 'list', '--json'], options)).stdout)).toHaveLength(1)
  })

  test('stop a new run if the collection has them; --adopt adopts them, --no-lookup skips the check', async () => {
    const { mint, api, path } = await losesAnswer('before')
    await mint()
    // Another machine: the same manifest, no state.
    const elsewhere = ['--state-dir', path('elsewhere')]
    const result = await mint(...elsewhere)
    expect(result.code).toBe(9)
    expect(errorOf(result)).toMatchObject({
      code: 'seems_minted',
      message: expect.stringMatching(/1 row of the manifest seem.*\nline 2$/),
      hint: expect.stringMatching(/no run was created\.\n.* --adopt\. Line 3 would be minted .*\n.* --again\.$/),
    })
    expect(api.bodies('createnft')).toHaveLength(2)
    expect((await mint(...elsewhere, '--no-lookup')).code).toBe(0)
    expect(api.bodies('createnft')).toHaveLength(4)
  })
})

test('--marker-key stores a unique value per row under that key', async () => {
  const { path, options } = await folder({ 'drop.csv': CSV })
  const api = await fakeApi(service())
  const argv = ['batch', 'mint', path('drop.csv'), ...TARGET, '--base-url', api.url, '--json', '--marker-key', 'serial']
  expect((await cli(argv, options)).code).toBe(0)
  const [{ metadata }] = api.bodies('createnft') as [{ metadata: { serial?: string }[] }]
  const markers = metadata.map(({ serial }) => serial)
  expect(new Set(markers).size).toBe(2)
  expect(markers).not.toContain(undefined)
})
