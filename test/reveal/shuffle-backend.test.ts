/** @module-tag slow */
import { createHash } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { derivePublicKey } from '../../src/api/beacon.ts'
import { permuteRows, shuffleSeed } from '../../src/reveal/shuffle/permutation.ts'
import {
  backendForFile,
  call,
  createTestCollection,
  mint,
  plainMetadata,
  settled,
  showNfts,
  type TestBackend,
  until,
  WALLETS,
} from '../helpers/backend.ts'
import { holdSettling } from '../helpers/hold.ts'
import { startHttpServer } from '../helpers/http-server.ts'
import { forward } from '../helpers/killing-relay.ts'
import { nftsOf, refusingRelay, rowsOf, type ShownNft, shuffledMachine } from '../helpers/shuffled-machine.ts'
import { ended } from '../helpers/updates.ts'

let backend: TestBackend
beforeAll(async () => {
  backend = await backendForFile()
})

const collectionOf = () => createTestCollection(backend)

/** Returns the titles in the order of the tokens. */
const titlesOf = (nfts: readonly ShownNft[]) => nfts.map(({ request_metadata: { title } }) => title)

const SIZE = 7

test('gives each slot the row that the round draws, and keeps its receiver', { tags: ['promise'] }, async () => {
  const collection = await collectionOf()
  const one = await shuffledMachine(backend, collection)
  const rows = rowsOf(SIZE)
  const minted = await one.shuffle(rows)
  expect(minted.code, minted.stderr).toBe(0)
  const before = await nftsOf(backend, collection)
  const slots = new Map(before.map((nft) => [nft.nft_gdn_id, Number(nft.request_metadata.provenance_row)]))
  const dry = await one.reveal(rows, '--dry-run')
  expect(JSON.parse(dry.stdout)).toMatchObject({ to_reveal: SIZE, revealed: 0, seal: null, round: null })
  expect((await call(backend, 'getprovenances', { contract_address: collection.address })).provenances).toHaveLength(1)
  const revealed = await one.reveal(rows)
  expect(revealed.code, revealed.stderr).toBe(0)
  const revealResult = JSON.parse(revealed.stdout)
  expect(revealResult).toMatchObject({ rows: SIZE, revealed: SIZE, to_reveal: 0, not_minted: 0, left: 0 })
  const { provenances } = await call(backend, 'getprovenances', { contract_address: collection.address })
  expect(provenances).toMatchObject([
    { provenance: revealResult.provenance, shuffle_margin: 1 },
    { provenance: revealResult.seal, seal_of: revealResult.provenance },
  ])
  const after = await nftsOf(backend, collection)
  const signature = after[0]?.request_metadata.provenance_signature ?? ''
  const randomness = createHash('sha256').update(Buffer.from(signature, 'hex')).digest()
  const drawn = permuteRows(shuffleSeed(revealResult.provenance, randomness), SIZE)
  for (const [at, nft] of after.entries()) {
    const slot = slots.get(nft.nft_gdn_id) ?? 0
    expect(nft.request_metadata).toMatchObject({ title: `Row ${drawn[slot - 1]}`, provenance_signature: signature })
    expect(nft.receiver_wallet_address).toBe(before[at]?.receiver_wallet_address)
  }
  expect(titlesOf(after).sort()).toEqual(
    rows
      .split('\n')
      .slice(1)
      .map((row) => row.split(',')[1]),
  )
  // Another machine gets the same result.
  const other = await shuffledMachine(backend, collection)
  const again = await other.reveal(rows)
  expect([again.code, JSON.parse(again.stdout).revealed]).toEqual([0, SIZE])
  expect(await nftsOf(backend, collection)).toEqual(after)
})

test('an NFT that was minted beside a shuffled drop is not verified as a part of it', async () => {
  const collection = await collectionOf()
  const one = await shuffledMachine(backend, collection)
  expect(await one.shuffle(rowsOf(3))).toMatchObject({ code: 0, error: null })
  const [drawn] = await nftsOf(backend, collection)
  const [beside] = await mint(backend, collection, plainMetadata(1))
  await settled(backend, [String(beside)])
  const [, nft] = await showNfts(backend, [String(drawn?.nft_gdn_id), String(beside)])
  const verify = (what: string) =>
    one.cli('nft', 'verify', what, '-b', collection.blockchain, '--on-chain', '--beacon', one.path('beacon.json'))
  const NOTE = 'The collection has a shuffled drop, but this NFT is not part of one'
  const verified = await verify(String(beside))
  expect([verified.code, verified.stderr]).toEqual([0, expect.stringContaining(NOTE)])
  const { stderr } = await verify(String(drawn?.nft_gdn_id))
  expect(stderr).not.toContain(NOTE)
  const token = await verify(`${collection.address}/${nft?.token_id}`)
  expect([token.code, token.stderr]).toEqual([
    0,
    expect.stringContaining('The collection has no commitment to the metadata'),
  ])
})

test('resumes a shuffled mint without the flag, and refuses another rule', async () => {
  const one = await shuffledMachine(backend, await collectionOf())
  expect(await one.shuffle(rowsOf(3))).toMatchObject({ code: 0, error: null })
  const resumed = await one.mint(rowsOf(3))
  expect(resumed.code, resumed.stderr).toBe(0)
  const { error } = await one.mint(rowsOf(3), '--shuffle', '--shuffle-margin', '2s')
  expect(error).toMatchObject({
    code: 'edited_rows',
    message: expect.stringContaining('committed to its rows with --shuffle --shuffle-margin 1s, and the shuffle flags'),
  })
})

test('plans and applies the drawn rows on each machine, and keeps receivers and IDs', {
  tags: ['promise'],
}, async () => {
  const collection = await collectionOf()
  const one = await shuffledMachine(backend, collection)
  const rows = rowsOf(SIZE)
  expect(await one.shuffle(rows)).toMatchObject({ code: 0, error: null })
  expect((await one.apply(rows)).error).toMatchObject({
    code: 'refused',
    message: expect.stringContaining('use gdn reveal'),
  })
  expect(await one.reveal(rows)).toMatchObject({ code: 0, error: null })
  const other = await shuffledMachine(backend, collection)
  const before = await nftsOf(backend, collection)
  for (const machine of [one, other]) {
    const { stdout } = await machine.plan(rows, '--detailed-exit-code')
    expect(JSON.parse(stdout)).toEqual([])
    const applied = await machine.apply(rows)
    expect(applied.code, applied.stderr).toBe(0)
    expect(JSON.parse(applied.stdout)).toMatchObject({ updated: 0, transferred: 0, minted: 0 })
    expect(await nftsOf(backend, collection)).toEqual(before)
  }
  const results = await one.cli('batch', 'results', one.path('drop.csv'), '--verify', '--json')
  expect(JSON.parse(results.stdout).map(({ verified }: { verified: boolean }) => verified)).toEqual(
    Array(SIZE).fill(true),
  )
  expect(results.stderr).not.toContain('has changed')
  // An edit of row 3 changes the NFT of the slot that got row 3.
  for (const [machine, title] of [
    [one, 'Edited'],
    [other, 'Edited again'],
  ] as const) {
    const edited = await machine.apply(rowsOf(SIZE, (row) => (row === 3 ? title : `Row ${row}`)))
    expect(edited.code, edited.stderr).toBe(0)
    expect(JSON.parse(edited.stdout), title).toMatchObject({ updated: 1, transferred: 0, minted: 0 })
    const after = await nftsOf(backend, collection)
    for (const [at, nft] of after.entries()) {
      const was = before[at]?.request_metadata.title ?? ''
      expect(nft.request_metadata.title).toBe(was === 'Row 3' ? title : was)
      expect(nft.request_metadata.provenance_salt).toBe(before[at]?.request_metadata.provenance_salt)
      expect(nft.request_metadata.provenance_signature).toBe(before[at]?.request_metadata.provenance_signature)
      expect(nft.receiver_wallet_address).toBe(before[at]?.receiver_wallet_address)
    }
  }
})

test('mints no row of a shuffled drop twice, under any name', { tags: ['promise'] }, async () => {
  const collection = await collectionOf()
  const one = await shuffledMachine(backend, collection)
  const rows = rowsOf(3)
  expect(await one.shuffle(rows)).toMatchObject({ code: 0, error: null })
  expect((await one.shuffle(rows, '--again')).error).toMatchObject({
    code: 'refused',
    message: expect.stringContaining('can be minted only once'),
  })
  for (const more of [[], ['--adopt'], ['--no-lookup']]) {
    const { error } = await one.shuffle(rows, '--run', 'other', ...more)
    expect(error, more.join()).not.toBeNull()
  }
  const other = await shuffledMachine(backend, collection)
  expect((await other.shuffle(rows, '--run', 'other', '--adopt')).error).not.toBeNull()
  // Without the lookup, gdn wouldn't find the NFT of a row whose ID was changed.
  expect((await other.shuffle(rows.replace('r2,', 'x2,'), '--no-lookup')).error).toMatchObject({
    code: 'usage',
    message: expect.stringContaining("can't be used for a shuffled drop"),
  })
  expect(await other.shuffle(rows)).toMatchObject({ code: 0, error: null })
  expect(await nftsOf(backend, collection)).toHaveLength(3)
})

test('seals nothing while an NFT of the drop is pending', async () => {
  const collection = await collectionOf()
  const one = await shuffledMachine(backend, collection)
  const rows = rowsOf(2)
  const letGo = await holdSettling(backend.dataDir, 'mint')
  onTestFinished(async () => await letGo().catch(() => {}))
  const minting = await one.shuffle(rows, '--no-wait')
  expect(minting.code, minting.stderr).toBe(0)
  const { error } = await one.reveal(rows)
  expect(error).toMatchObject({ code: 'pending', message: '2 NFTs of the drop are not deployed yet' })
  await letGo()
  await settled(
    backend,
    (await nftsOf(backend, collection)).map(({ nft_gdn_id }) => nft_gdn_id),
  )
  expect((await one.reveal(rows, '--abandon-rows', '1')).error).toMatchObject({
    message: expect.stringContaining("every row is minted, so the number can't be 1"),
  })
  expect((await call(backend, 'getprovenances', { contract_address: collection.address })).provenances).toHaveLength(1)
})

test('reveals a drop with a given-up, a burned and a transferred NFT', { tags: ['promise'] }, async () => {
  const collection = await createTestCollection(backend, { enable_burn: true, enable_transfer: true })
  const relay = await refusingRelay(backend)
  onTestFinished(() => relay.close())
  const one = await shuffledMachine({ ...backend, url: relay.url }, collection)
  const rows = rowsOf(5)
  expect((await one.shuffle(rows)).error).toMatchObject({ code: 'batch_failed_rows' })
  expect((await one.reveal(rows)).error).toMatchObject({
    code: 'refused',
    message: '1 row is not minted, and the reveal would abandon it permanently',
    hint: expect.stringContaining('--abandon-rows 1'),
  })
  expect((await one.reveal(rows, '--abandon-rows', '2')).error).toMatchObject({
    message: expect.stringContaining("1 row is not minted, so the number can't be 2"),
  })
  const { address: contract_address, blockchain } = collection
  const [burned, moved] = await nftsOf(backend, collection)
  const burn = {
    contract_address,
    nft_gdn_id: burned?.nft_gdn_id,
    holder_wallet_address: burned?.receiver_wallet_address,
  }
  await ended(backend, (await call(backend, 'burnnft', burn)).response.transaction_gdn_id)
  await call(backend, 'transfernft', {
    ...{ contract_address, blockchain, nft_gdn_id: moved?.nft_gdn_id, token_id: moved?.token_id },
    receiver_wallet_address: WALLETS[2],
    sender_wallet_address: moved?.receiver_wallet_address,
  })
  await until(
    () => nftsOf(backend, collection),
    ([, nft]) => nft?.receiver_wallet_address === WALLETS[2],
  )
  const { code, stderr, stdout } = await one.reveal(rows, '--abandon-rows', '1')
  expect(code, stderr).toBe(0)
  expect(JSON.parse(stdout)).toMatchObject({ rows: 5, revealed: 3, not_minted: 1, left: 1 })
  const other = await shuffledMachine(backend, collection)
  for (const machine of [one, other]) {
    // The given-up row can't be minted anymore, on any machine.
    const minted = await machine.shuffle(rows, '--adopt')
    expect(minted.code, minted.stderr).not.toBe(0)
    expect(await nftsOf(backend, collection)).toHaveLength(4)
    const applied = await machine.apply(rows)
    expect(applied.code, applied.stderr).toBe(0)
    expect(JSON.parse(applied.stdout)).toMatchObject({ updated: 0, minted: 0, transferred: 0 })
    expect(applied.stdout).toContain(
      '1 row of the shuffled drop was abandoned when it was sealed, and can no longer be minted',
    )
  }
})

test('keeps the draw that revealed NFTs show, and reads no round again', async () => {
  const collection = await collectionOf()
  const one = await shuffledMachine(backend, collection)
  const rows = rowsOf(SIZE)
  expect(await one.shuffle(rows)).toMatchObject({ code: 0, error: null })
  expect(await one.reveal(rows)).toMatchObject({ code: 0, error: null })
  const before = await nftsOf(backend, collection)
  const beacon = JSON.parse(await readFile(one.path('beacon.json'), 'utf8'))
  const secret = Buffer.alloc(32, 8)
  const other = {
    public_key: Buffer.from(derivePublicKey(secret) ?? []).toString('hex'),
    secret_key: secret.toString('hex'),
  }
  // A machine that did not reveal the drop.
  const two = await shuffledMachine(backend, collection)
  for (const machine of [one, two]) {
    await writeFile(machine.path('other.json'), JSON.stringify({ ...beacon, ...other }))
    const byOther = await machine.run(['reveal', '--yes'], rows, '--beacon', machine.path('other.json'))
    expect([byOther.code, byOther.stdout]).toEqual([5, ''])
    expect(byOther.error?.message).toContain('the NFTs were revealed with a round of another beacon')
    const byDrand = await machine.run(['reveal', '--yes'], rows)
    expect(byDrand.error).toMatchObject({ code: 'refused', hint: expect.stringContaining('with --beacon <file>') })
    await writeFile(machine.path('key.json'), JSON.stringify({ ...beacon, secret_key: undefined }))
    const secondResult = await machine.run(['reveal', '--yes'], rows, '--beacon', machine.path('key.json'))
    expect(secondResult.code, secondResult.stderr).toBe(0)
    expect(JSON.parse(secondResult.stdout)).toMatchObject({ revealed: SIZE, to_reveal: 0 })
  }
  // The refused commands stored nothing of the other beacons.
  expect(JSON.parse((await one.run(['plan'], rows)).stdout)).toEqual([])
  expect(await nftsOf(backend, collection)).toEqual(before)
})

test('refuses to draw a drop of a public network by a beacon file, before it seals the drop', async () => {
  const collection = await collectionOf()
  const one = await shuffledMachine(backend, collection)
  expect(await one.shuffle(rowsOf(2))).toMatchObject({ code: 0, error: null })
  // A node that isn't known to simulate a chain.
  const node = await startHttpServer(async (request) => {
    const body = String(request.body)
    if (body.includes('web3_clientVersion')) {
      const { id } = JSON.parse(body)
      return { json: { jsonrpc: '2.0', id, result: 'Geth/v1.14.0' } }
    }
    return await forward(backend.url, { ...request, path: '/rpc/polygon' })
  })
  onTestFinished(() => node.close())
  const refused = await one.reveal(rowsOf(2), '--rpc-url', node.url)
  expect([refused.code, refused.error?.message]).toEqual([
    5,
    expect.stringContaining('polygon is a public network, and a beacon file is only for rehearsals'),
  ])
  expect((await call(backend, 'getprovenances', { contract_address: collection.address })).provenances).toHaveLength(1)
})

test('refuses flags and beacons that are of no use', async () => {
  const collection = await collectionOf()
  const one = await shuffledMachine(backend, collection)
  const rows = rowsOf(2)
  const refused = async (asking: ReturnType<typeof one.run>, message: string) =>
    expect((await asking).error).toMatchObject({ message: expect.stringContaining(message) })
  await refused(one.run(['batch', 'mint'], rows, '--shuffle'), 'requires --unrevealed')
  await refused(one.mint(rows, '--shuffle-margin', '1s'), 'requires --shuffle')
  await refused(one.mint(rows, '--shuffle', '--shuffle-margin', '1500ms'), 'must be a whole number of seconds')
  const solana = await one.mint(rows, '--shuffle', '-b', 'solana')
  expect(solana.error).not.toBeNull()
  expect(await one.shuffle(rows)).toMatchObject({ code: 0, error: null })
  await refused(
    one.run(
      ['reveal', '--yes'],
      rowsOf(2, (row) => `Edited ${row}`),
    ),
    'were edited after the run',
  )
  const unread = ['--beacon-url', backend.url]
  const sealed = await one.run(['reveal', '--yes'], rows, ...unread)
  // The drop is sealed, and the round of quicknet is read from no relay of drand.
  expect(sealed.error?.code, sealed.stderr).toMatch(/^(unreachable|bad_answer|pending)$/)
  const other = JSON.parse(await readFile(one.path('beacon.json'), 'utf8'))
  await writeFile(one.path('other.json'), JSON.stringify({ ...other, secret_key: undefined, rounds: [] }))
  await refused(one.run(['reveal', '--yes'], rows, '--beacon', one.path('other.json')), 'has no round')
  expect((await nftsOf(backend, collection)).every(({ revision }) => revision === 0)).toBe(true)
  expect(await one.reveal(rows)).toMatchObject({ code: 0, error: null })
  // Without the beacon of the reveal, its signature proves nothing to a machine that did not reveal the drop.
  const machine = await shuffledMachine(backend, collection)
  await refused(machine.run(['plan'], rows), 'is not from drand, or belongs to another round')
})
